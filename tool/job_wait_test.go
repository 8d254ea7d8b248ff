package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func TestAWaitThatReachesTheTurnsDeadlineSaysThatTheJobGoesOn(t *testing.T) {
	for _, name := range []string{"job_wait", "job_watch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSet(t, nil)
			job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			got := s.ok(ctx, name, id(job))
			if ctx.Err() != nil {
				t.Error("it answered after the deadline")
			}
			if note := fmt.Sprint(got["note"]); got["job_id"] != job || !strings.Contains(note, "still running") || !strings.Contains(note, name) {
				t.Errorf("got %v", got)
			}
			if j, _ := s.d.Job(job); j.Status != jobsclient.Running || len(s.d.CallsOf(jobstest.MethodCancel)) != 0 {
				t.Errorf("the job is %s", j.Status)
			}
		})
	}
}

func TestAWaitThatEndsWhileTheDaemonIsDownDoesNotSayThatTheJobRuns(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.WarnLevel)
	s := newSet(t, func(cfg *jobsclient.Config) { cfg.Logger = zap.New(core) })
	s.jobs.maxWait = 5 * time.Second
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{Stdout: "so far"})
	s.d.Inject(jobstest.Fault{Method: jobstest.MethodWatch, CutAfter: 1})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for logs.Len() == 0 { // the loss of a watch that had brought a state
			time.Sleep(time.Millisecond)
		}
		s.d.Kill()
	}()
	got := s.ok(context.Background(), "job_wait", id(job))
	<-ended
	if note := fmt.Sprint(got["note"]); strings.Contains(note, "still running") || !strings.Contains(note, "could not be reached") || got["job_id"] != job || got["stdout"] != "so far" {
		t.Errorf("got %v", got)
	}
}

func TestAWaitEndsAfterMaxWait(t *testing.T) {
	t.Parallel()
	s := newSet(t, nil)
	s.jobs.maxWait = 4 * time.Second
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
	if got := s.ok(context.Background(), "job_wait", id(job)); !strings.Contains(fmt.Sprint(got["note"]), "still running") {
		t.Errorf("got %v", got)
	}
}

func TestATurnThatIsCancelledDuringJobWaitCancelsTheJobAndDuringJobWatchDoesNot(t *testing.T) {
	for name, want := range map[string]jobsclient.Status{"job_wait": jobsclient.Cancelled, "job_watch": jobsclient.Running} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, nil)
			job := s.ok(context.Background(), "job_submit", `{"bin":"sleep"}`)["job_id"].(string)
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				for len(s.d.CallsOf(jobstest.MethodWatch)) == 0 {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			if _, err := s.run(ctx, name, id(job)); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			settled, stop := context.WithTimeout(context.Background(), 10*time.Second)
			defer stop()
			if j, err := s.d.AwaitJob(settled, job, func(j jobsclient.Job) bool { return j.Status == want }); err != nil {
				t.Errorf("the job is %s", j.Status)
			}
			if n := len(s.d.CallsOf(jobstest.MethodCancel)); n != map[string]int{"job_wait": 1}[name] {
				t.Errorf("cancelled %d times", n)
			}
		})
	}
}

func TestACancelledJobWaitReturnsSoonAlsoFromADaemonThatDoesNotAnswer(t *testing.T) {
	s := newSet(t, nil)
	s.d.Inject(jobstest.Fault{Method: jobstest.MethodCancel, Hang: true})
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
	ctx, cancel := context.WithCancel(context.Background())
	var cancelled time.Time
	go func() {
		for len(s.d.CallsOf(jobstest.MethodWatch)) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancelled = time.Now()
		cancel()
	}()
	if _, err := s.run(ctx, "job_wait", id(job)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(cancelled); took > 5*cancelLimit {
		t.Errorf("it took %v", took)
	}
}

func TestAWaitOutlivesTheDaemonsDeath(t *testing.T) {
	tests := map[string]struct {
		change func(*jobstest.Daemon, string)
		want   string
	}{
		"back with the job done":     {func(d *jobstest.Daemon, job string) { d.Finish(job, "ok", 0) }, `"stdout":"ok"`},
		"back with the job orphaned": {func(*jobstest.Daemon, string) {}, `"status":"orphaned"`},
		"back without the job":       {(*jobstest.Daemon).Forget, "no such job"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, nil)
			job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
			s.d.Inject(jobstest.Fault{Method: jobstest.MethodWatch, Times: 1, CutAfter: 1})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for len(s.d.CallsOf(jobstest.MethodWatch)) < 2 {
					time.Sleep(time.Millisecond)
				}
				s.d.Kill()
				test.change(s.d, job)
				if err := s.d.Restart(); err != nil {
					t.Error(err)
				}
			}()
			answer, err := s.run(context.Background(), "job_wait", id(job))
			<-ended
			if err != nil || !strings.Contains(answer.Content, test.want) || !strings.Contains(answer.Content, job) {
				t.Errorf("got %q, %v", answer.Content, err)
			}
		})
	}
}
