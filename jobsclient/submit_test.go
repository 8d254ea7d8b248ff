package jobsclient_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func TestAJobWhoseSubmitLostItsAnswerIsFoundAndNotSubmittedTwice(t *testing.T) {
	d := jobstest.New(t, echo)
	d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, LoseAnswer: true})
	c := newClient(t, d.Config())
	id, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "echo", Labels: map[string]string{"mine": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	jobs := d.Jobs()
	if len(jobs) != 1 || jobs[0].ID != id {
		t.Errorf("got %s, the daemon has %+v", id, jobs)
	}
	if n := len(d.CallsOf(jobstest.MethodSubmit)); n != 1 {
		t.Errorf("submitted %d times", n)
	}
	job, err := c.Get(testContext(t), id)
	if err != nil || len(job.Labels) != 1 {
		t.Errorf("the job shows the client's own label: %v %v", job, err)
	}
}

// slowSubmit carries a submission out and keeps its answer back.
func slowSubmit(t *testing.T, d *jobstest.Daemon) *jobsclient.Client {
	t.Helper()
	cfg := d.Config()
	cfg.CallTimeout = 4 * time.Second
	d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, HoldAnswer: true})
	c := newClient(t, cfg)
	if err := list(testContext(t))(c); err != nil { // the time is for the answer, not for connecting
		t.Fatal(err)
	}
	return c
}

func TestAJobIsFoundWhenTheCallersTimeRanOutAfterTheDaemonAcceptedIt(t *testing.T) {
	t.Parallel()
	d := jobstest.New(t, echo)
	c := slowSubmit(t, d)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	id, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "echo"})
	if err != nil || len(d.Jobs()) != 1 || d.Jobs()[0].ID != id {
		t.Errorf("got %q, %v; the daemon has %v", id, err, d.Jobs())
	}
}

func TestAJobIsFoundWhenTheCallerGaveUpAfterTheDaemonAcceptedIt(t *testing.T) {
	d := jobstest.New(t, echo)
	c := slowSubmit(t, d)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for len(d.Jobs()) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	id, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "echo"})
	if err != nil || d.Jobs()[0].ID != id {
		t.Errorf("got %q, %v", id, err)
	}
}

func TestAJobIsFoundWhenTheDaemonHungAfterAcceptingIt(t *testing.T) {
	t.Parallel()
	d := jobstest.New(t, echo)
	c := slowSubmit(t, d)
	id, err := c.Submit(context.Background(), jobsclient.SubmitRequest{Bin: "echo"})
	if err != nil || d.Jobs()[0].ID != id {
		t.Errorf("got %q, %v", id, err)
	}
}

func TestALostSubmitThatCannotBeLookedUpSaysThatTheJobMayExistAndHowToLook(t *testing.T) {
	d := jobstest.New(t, echo)
	a := d.AddAgent("no list", jobstest.CanSubmit)
	cfg := d.Config()
	cfg.Token = a.Token()
	d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, LoseAnswer: true})
	_, err := newClient(t, cfg).Submit(testContext(t), jobsclient.SubmitRequest{Bin: "echo"})
	if !errors.Is(err, jobsclient.ErrAnswerLost) || !errors.Is(err, jobsclient.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	job := d.Jobs()[0]
	for _, text := range []string{"may exist", "list the jobs", jobsclient.SubmitLabel, job.Labels[jobsclient.SubmitLabel]} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
	plain(t, err)
}

func TestASubmitThatDidNotArriveSaysSoAfterLooking(t *testing.T) {
	d := jobstest.New(t, echo)
	d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, Err: status.Error(codes.Unavailable, "going away")})
	_, err := newClient(t, d.Config()).Submit(testContext(t), jobsclient.SubmitRequest{Bin: "echo"})
	if !errors.Is(err, jobsclient.ErrAnswerLost) || !strings.Contains(err.Error(), "most likely it was not created") {
		t.Errorf("got %v", err)
	}
	if n := len(d.CallsOf(jobstest.MethodSubmit)); n != 1 {
		t.Errorf("submitted %d times", n)
	}
}

func TestASubmitThatWasNeverSentIsNotUncertain(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	d.Kill()
	_, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "echo"})
	if !errors.Is(err, jobsclient.ErrUnavailable) || errors.Is(err, jobsclient.ErrAnswerLost) {
		t.Errorf("got %v", err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	_, err = c.Submit(ended, jobsclient.SubmitRequest{Bin: "echo"})
	if !errors.Is(err, context.Canceled) || errors.Is(err, jobsclient.ErrAnswerLost) {
		t.Errorf("with a context that has ended: %v", err)
	}
	restart(t, d)
	if err := list(testContext(t))(c); err != nil {
		t.Fatal(err)
	}
	_, err = c.Submit(ended, jobsclient.SubmitRequest{Bin: "echo"})
	if !errors.Is(err, context.Canceled) || errors.Is(err, jobsclient.ErrAnswerLost) {
		t.Errorf("with a context that has ended, on a connection that stands: %v", err)
	}
	if n := len(d.CallsOf(jobstest.MethodSubmit)); n != 0 {
		t.Errorf("sent %d times", n)
	}
}

func TestASubmitAcrossTheDaemonsDeathFindsItsJobAfterTheRestart(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"sleep": jobstest.Blocks(nil, "")}})
	d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, HoldAnswer: true})
	c := newClient(t, d.Config())
	type result struct {
		id  string
		err error
	}
	got := make(chan result, 1)
	go func() {
		id, err := c.Submit(context.Background(), jobsclient.SubmitRequest{Bin: "sleep"})
		got <- result{id, err}
	}()
	eventually(t, func() bool { return len(d.Jobs()) == 1 })
	if err := d.Restart(); err != nil {
		t.Fatal(err)
	}
	within(t, func() {
		if r := <-got; r.err != nil || r.id != d.Jobs()[0].ID {
			t.Errorf("got %+v", r)
		}
	})
}

func TestARequestThatNoDaemonCanTakeIsRefusedBeforeItIsSent(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	tests := []struct {
		name string
		req  jobsclient.SubmitRequest
		text string
	}{
		{"no BIN", jobsclient.SubmitRequest{}, "BIN is missing"},
		{"an argument with NUL", jobsclient.SubmitRequest{Bin: "echo", Args: []string{"a", "b\x00"}}, "argument 2 holds a NUL at byte 1"},
		{"an argument that is no text", jobsclient.SubmitRequest{Bin: "echo", Args: []string{"ab\xff"}}, "argument 1 is not valid UTF-8 at byte 2"},
		{"stdin that is no text", jobsclient.SubmitRequest{Bin: "echo", Stdin: "\uFFFD\x80"}, "stdin is not valid UTF-8 at byte 3"},
		{"a label that is no text", jobsclient.SubmitRequest{Bin: "echo", Labels: map[string]string{"k": "\xc3"}}, "label is not valid UTF-8"},
		{"a BIN that is no text", jobsclient.SubmitRequest{Bin: "\xf0"}, "BIN is not valid UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := c.Submit(testContext(t), test.req)
			if !errors.Is(err, jobsclient.ErrInvalidArgument) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v", err)
			}
			plain(t, err)
		})
	}
	if n := len(d.Calls()); n != 0 {
		t.Errorf("%d calls arrived", n)
	}
}

func TestStdinMayHoldNULAndTheCallersLabelsAreNotTouched(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	labels := map[string]string{"": "empty key", "a.b": `"`}
	if _, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "echo", Stdin: "a\x00b", Labels: labels}); err != nil {
		t.Fatal(err)
	}
	if len(labels) != 2 {
		t.Errorf("the caller's map is now %v", labels)
	}
	jobs, err := c.List(testContext(t), jobsclient.ListOptions{Labels: labels})
	if err != nil || len(jobs) != 1 {
		t.Errorf("List by those labels: %v, %v", jobs, err)
	}
}
