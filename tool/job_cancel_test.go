package tool

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func TestCancellingTwiceOrAFinishedJobAnswersItsState(t *testing.T) {
	s := newSet(t, nil)
	ctx := context.Background()
	job := s.ok(ctx, "job_submit", `{"bin":"sleep"}`)["job_id"].(string)
	steps := []struct{ job, status, note string }{
		{job, "cancelled", "cancelled"},
		{job, "cancelled", "already"},
		{s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done, ExitCode: 2}), "done", "ended already"},
		{s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Pending}), "pending", "queued"},
	}
	for _, step := range steps {
		got := s.ok(ctx, "job_cancel", id(step.job))
		if got["status"] != step.status || !strings.Contains(fmt.Sprint(got["note"]), step.note) {
			t.Errorf("got %v, want %+v", got, step)
		}
	}
	if text := s.refused(ctx, "job_cancel", id("job_x")); !strings.Contains(text, "no such job") {
		t.Error(text)
	}
}

func TestACancelThatIsNotAnsweredIsNotConfirmed(t *testing.T) {
	s := newSet(t, impatient)
	s.d.Inject(jobstest.Fault{Method: jobstest.MethodCancel, Hang: true})
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
	if got := s.ok(context.Background(), "job_cancel", id(job)); !strings.Contains(fmt.Sprint(got["note"]), "cancel requested, not confirmed") || got["job_id"] != job {
		t.Errorf("got %v", got)
	}
}

func TestACancelThatDidNotReachTheDaemonIsNotSaidToBeRequested(t *testing.T) {
	s := newSet(t, impatient)
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
	s.d.Hang()
	if text := s.refused(context.Background(), "job_cancel", id(job)); strings.Contains(text, "requested") || !strings.Contains(text, "does not answer") {
		t.Error(text)
	}
}
