package jobsclient_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

// patience bounds what should take milliseconds.
const patience = 20 * time.Second

func newClient(t *testing.T, cfg jobsclient.Config) *jobsclient.Client {
	t.Helper()
	c := jobsclient.New(cfg)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

var echo = jobstest.Options{Bins: map[string]jobstest.Bin{"echo": jobstest.Echo(), "true": jobstest.Prints("", 0)}}

func on(transport jobstest.Transport, o jobstest.Options) jobstest.Options {
	o.Transport = transport
	return o
}

func TestAJobIsSubmittedWaitedForAndReadOverEachTransport(t *testing.T) {
	for name, transport := range map[string]jobstest.Transport{"unix socket": jobstest.Unix, "loopback TCP": jobstest.TCP, "memory": jobstest.Memory} {
		t.Run(name, func(t *testing.T) {
			d := jobstest.New(t, on(transport, echo))
			c := newClient(t, d.Config())
			ctx := testContext(t)
			id, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "echo", Args: []string{"a b", "ü"}, Stdin: "in", Labels: map[string]string{"k": "v"}})
			if err != nil {
				t.Fatal(err)
			}
			want := &jobsclient.Job{ID: id, Bin: "echo", Args: []string{"a b", "ü"}, Status: jobsclient.Done, Stdout: "a b ü\nin", Labels: map[string]string{"k": "v"}}
			times := cmpopts.IgnoreFields(jobsclient.Job{}, "Created", "Started", "Finished")
			waited, err := c.Wait(ctx, id)
			if diff := cmp.Diff(want, waited, times); err != nil || diff != "" {
				t.Errorf("Wait: %v\n%s", err, diff)
			}
			got, err := c.Get(ctx, id)
			if diff := cmp.Diff(want, got, times); err != nil || diff != "" {
				t.Errorf("Get: %v\n%s", err, diff)
			}
			listed, err := c.List(ctx, jobsclient.ListOptions{Status: jobsclient.Done, Labels: map[string]string{"k": "v"}})
			if diff := cmp.Diff([]*jobsclient.Job{want}, listed, times); err != nil || diff != "" {
				t.Errorf("List: %v\n%s", err, diff)
			}
			if got.Created.IsZero() || got.Started.IsZero() || got.Finished.IsZero() {
				t.Errorf("times are missing: %+v", got)
			}
		})
	}
}

func TestNothingConnectsBeforeTheFirstCallAndAllCallsShareOneConnection(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	if n := d.Accepts(); n != 0 {
		t.Fatalf("%d connections before the first call", n)
	}
	ctx := testContext(t)
	for range 3 {
		id, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "true"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Wait(ctx, id); err != nil {
			t.Error(err)
		}
		if _, err := c.List(ctx, jobsclient.ListOptions{}); err != nil {
			t.Error(err)
		}
		if err := c.Cancel(ctx, id); !errors.Is(err, jobsclient.ErrNotRunning) {
			t.Errorf("Cancel of a finished job: %v", err)
		}
	}
	if n := d.Accepts(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestTheAuthorityOverASocketIsLocalhost(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	if _, err := c.List(testContext(t), jobsclient.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := d.Calls()[0].Authority; got != "localhost" {
		t.Errorf(":authority is %q", got)
	}
}

func TestEachRefusalOfTheDaemonHasItsSentinelItsStatusAndAPlainText(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"jq": jobstest.Echo(), "sh": jobstest.Echo()}})
	bare := d.AddAgent("bare")
	stopped := d.AddAgent("stopped", jobstest.AllCapabilities()...)
	stopped.SetState(jobstest.AgentStopped)
	preparing := d.AddAgent("preparing", jobstest.AllCapabilities()...)
	preparing.SetState(jobstest.AgentPreparing)
	pending := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Pending})
	binary := d.AddJob(d.AddAgent("other", jobstest.AllCapabilities()...), jobsclient.Job{Status: jobsclient.Done, Stdout: "\xff\xfe"})
	foreign := binary

	ctx := testContext(t)
	tests := []struct {
		name  string
		token string
		call  func(*jobsclient.Client) error
		want  error
		code  codes.Code
		text  string
	}{
		{"Get of an unknown job", d.Token(), get(ctx, "job_x"), jobsclient.ErrNotFound, codes.NotFound, "no such job"},
		{"Get of another agent's job", d.Token(), get(ctx, foreign), jobsclient.ErrNotFound, codes.NotFound, "no such job"},
		{"Get without an id", d.Token(), get(ctx, " "), jobsclient.ErrInvalidArgument, codes.InvalidArgument, "job id is missing"},
		{"Wait for an unknown job", d.Token(), wait(ctx, "job_x"), jobsclient.ErrNotFound, codes.NotFound, "no such job"},
		{"Cancel of an unknown job", d.Token(), cancel(ctx, "job_x"), jobsclient.ErrNotFound, codes.NotFound, "no such job"},
		{"Cancel of a queued job", d.Token(), cancel(ctx, pending), jobsclient.ErrNotRunning, codes.FailedPrecondition, "queued"},
		{"Submit of an undeclared BIN", d.Token(), submit(ctx, "nope"), jobsclient.ErrInvalidArgument, codes.InvalidArgument, "jq, sh"},
		{"Submit without a BIN", d.Token(), submit(ctx, ""), jobsclient.ErrInvalidArgument, codes.InvalidArgument, "BIN is missing"},
		{"Submit for a stopped agent", stopped.Token(), submit(ctx, "jq"), jobsclient.ErrNotRunning, codes.FailedPrecondition, "start it before"},
		{"Submit for an agent in preparation", preparing.Token(), submit(ctx, "jq"), jobsclient.ErrNotRunning, codes.FailedPrecondition, "not initialised yet"},
		{"Submit without the capability", bare.Token(), submit(ctx, "jq"), jobsclient.ErrPermissionDenied, codes.PermissionDenied, "job_submit"},
		{"Get without the capability", bare.Token(), get(ctx, "job_x"), jobsclient.ErrPermissionDenied, codes.PermissionDenied, "job_status"},
		{"Watch without the capability", bare.Token(), wait(ctx, "job_x"), jobsclient.ErrPermissionDenied, codes.PermissionDenied, "job_watch"},
		{"List by a status that is no text", d.Token(), func(c *jobsclient.Client) error {
			_, err := c.List(ctx, jobsclient.ListOptions{Status: "\xff"})
			return err
		}, jobsclient.ErrInvalidArgument, codes.InvalidArgument, "status is not valid UTF-8"},
		{"a wrong token", "wrong", get(ctx, "job_x"), jobsclient.ErrUnauthenticated, codes.Unauthenticated, jobsclient.EnvAgentToken},
		{"a wrong token on a watch", "wrong", wait(ctx, "job_x"), jobsclient.ErrUnauthenticated, codes.Unauthenticated, jobsclient.EnvAgentToken},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := d.Config()
			cfg.Token = test.token
			err := test.call(newClient(t, cfg))
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if st, ok := status.FromError(err); !ok || st.Code() != test.code {
				t.Errorf("the status is %v, %v", st, ok)
			}
			if !strings.Contains(err.Error(), test.text) {
				t.Errorf("%q does not say %q", err, test.text)
			}
			plain(t, err)
		})
	}
}

func TestAnAgentThatWasRemovedIsToldSo(t *testing.T) {
	d := jobstest.New(t, echo)
	a := d.AddAgent("gone", jobstest.AllCapabilities()...)
	cfg := d.Config()
	cfg.Token = a.Token()
	id := d.AddJob(a, jobsclient.Job{})
	c := newClient(t, cfg)
	var states []jobsclient.Status
	var last error
	for job, err := range c.Watch(testContext(t), id) {
		if err != nil {
			last = err
			break
		}
		states = append(states, job.Status)
		a.Remove()
	}
	if !errors.Is(last, jobsclient.ErrNotFound) || !strings.Contains(last.Error(), "removed") || len(states) != 1 {
		t.Errorf("watching: %v after %v", last, states)
	}
	if _, err := c.Get(testContext(t), id); !errors.Is(err, jobsclient.ErrUnauthenticated) {
		t.Errorf("Get with a revoked token: %v", err)
	}
}

func TestOutputThatIsNoTextIsExplained(t *testing.T) {
	d := jobstest.New(t, echo)
	id := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: "\x89PNG\xff"})
	c := newClient(t, d.Config())
	for name, call := range map[string]func(*jobsclient.Client) error{"Get": get(testContext(t), id), "Wait": wait(testContext(t), id)} {
		err := call(c)
		if !errors.Is(err, jobsclient.ErrUnreadable) || !strings.Contains(err.Error(), "base64") {
			t.Errorf("%s: %v", name, err)
		}
		plain(t, err)
	}
}

func TestAnAnswerThatCannotBeDecodedIsExplained(t *testing.T) {
	d := jobstest.New(t, echo)
	d.Inject(jobstest.Fault{Method: jobstest.MethodGet, Err: status.Error(codes.Internal, "grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data")})
	err := get(testContext(t), "job_1")(newClient(t, d.Config()))
	if err == nil || !strings.Contains(err.Error(), "cannot be read") || !strings.Contains(err.Error(), d.Address()) {
		t.Errorf("got %v", err)
	}
	plain(t, err)
}

func TestMoreThanTheReceiveLimitIsTooLargeAndSaysWhatToDo(t *testing.T) {
	d := jobstest.New(t, echo)
	id := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: strings.Repeat("x", 5<<20)})
	if job, err := newClient(t, d.Config()).Get(testContext(t), id); err != nil || len(job.Stdout) != 5<<20 {
		t.Errorf("5 MiB of output with the default limit: %v", err)
	}
	cfg := d.Config()
	cfg.MaxReceive = 1 << 20
	c := newClient(t, cfg)
	for name, call := range map[string]func(*jobsclient.Client) error{
		"Get": get(testContext(t), id), "Wait": wait(testContext(t), id),
		"List": func(c *jobsclient.Client) error {
			_, err := c.List(testContext(t), jobsclient.ListOptions{})
			return err
		},
	} {
		err := call(c)
		if !errors.Is(err, jobsclient.ErrTooLarge) || !strings.Contains(err.Error(), "MaxReceive") {
			t.Errorf("%s: %v", name, err)
		}
		plain(t, err)
	}
}

func TestARequestThatIsTooLargeForTheServerSaysTheLimit(t *testing.T) {
	d := jobstest.New(t, echo)
	d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, Err: status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5242900 vs. 4194304)")})
	err := submit(testContext(t), "echo")(newClient(t, d.Config()))
	if !errors.Is(err, jobsclient.ErrTooLarge) || !strings.Contains(err.Error(), "the limit is 4194304") {
		t.Errorf("Submit: %v", err)
	}
	if n := len(d.CallsOf(jobstest.MethodSubmit)); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

func TestFortyMegabytesOfStdinArrive(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	id, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "true", Stdin: strings.Repeat("y", 40<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if calls := d.CallsOf(jobstest.MethodSubmit); len(calls[0].Submit.Stdin) != 40<<20 {
		t.Errorf("%d bytes arrived for %s", len(calls[0].Submit.Stdin), id)
	}
}

func TestACancelledRunningJobEndsCancelledAndKeepsItsOutput(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"sh": {Path: "/bin/sh"}}})
	c := newClient(t, d.Config())
	ctx := testContext(t)
	id, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "sh", Args: []string{"-c", "echo begun; sleep 300 & sleep 300"}})
	if err != nil {
		t.Fatal(err)
	}
	for job, err := range c.Watch(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		if job.Stdout != "" {
			break
		}
	}
	if err := c.Cancel(ctx, id); err != nil {
		t.Fatal(err)
	}
	job, err := c.Wait(ctx, id)
	if err != nil || job.Status != jobsclient.Cancelled || job.Stdout != "begun\n" {
		t.Errorf("after Cancel: %+v, %v", job, err)
	}
	if err := c.Cancel(ctx, id); !errors.Is(err, jobsclient.ErrNotRunning) {
		t.Errorf("the second Cancel: %v", err)
	}
}

func TestElapsedIsTheTimeOfRunning(t *testing.T) {
	start := time.Unix(1000, 0)
	tests := []struct {
		name string
		job  jobsclient.Job
		want time.Duration
	}{
		{"a queued job has not run", jobsclient.Job{Created: start}, 0},
		{"a running job runs until now", jobsclient.Job{Started: start}, 90 * time.Second},
		{"an ended job ran until its end", jobsclient.Job{Started: start, Finished: start.Add(5 * time.Second)}, 5 * time.Second},
		{"clocks that differ give no negative time", jobsclient.Job{Started: start.Add(time.Hour)}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.job.Elapsed(start.Add(90 * time.Second)); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func get(ctx context.Context, id string) func(*jobsclient.Client) error {
	return func(c *jobsclient.Client) error { _, err := c.Get(ctx, id); return err }
}

func wait(ctx context.Context, id string) func(*jobsclient.Client) error {
	return func(c *jobsclient.Client) error { _, err := c.Wait(ctx, id); return err }
}

func cancel(ctx context.Context, id string) func(*jobsclient.Client) error {
	return func(c *jobsclient.Client) error { return c.Cancel(ctx, id) }
}

func submit(ctx context.Context, bin string) func(*jobsclient.Client) error {
	return func(c *jobsclient.Client) error {
		_, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: bin})
		return err
	}
}

// plain fails the test if the error's text shows transport or decoder jargon.
func plain(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	for _, word := range []string{"rpc error", "code =", "desc =", "transport", "grpc:", "jobspb", "proto:", "*", "context deadline", "context canceled", "<nil>", "\n", "\x00"} {
		if strings.Contains(err.Error(), word) {
			t.Errorf("the error shows %q: %s", word, err)
		}
	}
}
