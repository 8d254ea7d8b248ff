package jobstest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

var shell = map[string]jobstest.Bin{"sh": {Path: "/bin/sh", Env: []string{"PATH=" + os.Getenv("PATH")}}}

func TestTheFakeConformsOverEachTransport(t *testing.T) {
	for name, transport := range map[string]jobstest.Transport{"unix": jobstest.Unix, "tcp": jobstest.TCP, "memory": jobstest.Memory} {
		t.Run(name, func(t *testing.T) {
			d := jobstest.New(t, jobstest.Options{Transport: transport, Bins: shell})
			n := 0
			jobstest.Conformance(t, jobstest.Target{
				URL: d.URL(), DialOptions: d.DialOptions(), Shell: "sh",
				NewAgent: func(_ testing.TB, capabilities ...jobstest.Capability) string {
					n++
					return d.AddAgent(fmt.Sprint("agent ", n), capabilities...).Token()
				},
			})
		})
	}
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func newClient(t *testing.T, d *jobstest.Daemon, token string) *jobsclient.Client {
	t.Helper()
	cfg := d.Config()
	cfg.Token = token
	c := jobsclient.New(cfg)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestTenJobsOfAllAgentsRunAtOnceAndTheOthersArePending(t *testing.T) {
	end := make(chan struct{})
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"sleep": jobstest.Blocks(end, "")}})
	ctx := testContext(t)
	c, other := newClient(t, d, d.Token()), newClient(t, d, d.AddAgent("other", jobstest.AllCapabilities()...).Token())
	var ids []string
	for i := range 13 {
		by := c
		if i == 12 {
			by = other
		}
		id, err := by.Submit(ctx, jobsclient.SubmitRequest{Bin: "sleep"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	counts := map[jobsclient.Status]int{}
	for _, j := range d.Jobs() {
		counts[j.Status]++
	}
	if counts[jobsclient.Running] != 10 || counts[jobsclient.Pending] != 3 {
		t.Errorf("got %v", counts)
	}
	if err := c.Cancel(ctx, ids[11]); !errors.Is(err, jobsclient.ErrNotRunning) {
		t.Errorf("Cancel of a pending job: %v", err)
	}
	close(end)
	for _, id := range ids {
		if _, err := d.AwaitJob(ctx, id, func(j jobsclient.Job) bool { return j.Status == jobsclient.Done }); err != nil {
			t.Error(err)
		}
	}
}

func TestAJobThatCannotBeStartedEndsAsError(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"none": {Path: "/no/such/program"}}})
	c := newClient(t, d, d.Token())
	id, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "none"})
	if err != nil {
		t.Fatal(err)
	}
	job, err := c.Wait(testContext(t), id)
	if err != nil || job.Status != jobsclient.Failed || !strings.Contains(job.Error, "no such file") {
		t.Errorf("got %+v, %v", job, err)
	}
}

func TestAListWithoutStatusIsGroupedWithinASecond(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{})
	now := time.Now()
	add := func(s jobsclient.Status, ago time.Duration) string {
		return d.AddJob(d.Agent(), jobsclient.Job{Status: s, Created: now.Add(-ago)})
	}
	older := add(jobsclient.Done, time.Minute)
	running, done1, done2 := add(jobsclient.Running, 0), add(jobsclient.Done, 0), add(jobsclient.Done, 0)
	c := newClient(t, d, d.Token())
	ids := func(o jobsclient.ListOptions) []string {
		jobs, err := c.List(testContext(t), o)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
		return ids
	}
	if got, want := ids(jobsclient.ListOptions{}), []string{done1, done2, running, older}; !slices.Equal(got, want) {
		t.Errorf("all: %v, want %v", got, want)
	}
	if got, want := ids(jobsclient.ListOptions{Status: jobsclient.Done}), []string{done2, done1, older}; !slices.Equal(got, want) {
		t.Errorf("done: %v, want %v", got, want)
	}
}

func TestWithoutATokenTCPServesTheOperatorAndASocketNobody(t *testing.T) {
	for transport, want := range map[jobstest.Transport]codes.Code{jobstest.TCP: codes.OK, jobstest.Unix: codes.Unauthenticated} {
		d := jobstest.New(t, jobstest.Options{Transport: transport, Bins: shell})
		d.AddJob(d.Agent(), jobsclient.Job{})
		cc, err := grpc.NewClient(strings.TrimPrefix(d.URL(), "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		jobs := &jobspb.ListResponse{}
		err = cc.Invoke(testContext(t), jobspb.ListPath, &jobspb.ListRequest{}, jobs)
		if status.Code(err) != want || err == nil && len(jobs.GetJobs()) != 1 {
			t.Errorf("List: %v, %v", jobs, err)
		}
		if transport == jobstest.TCP {
			err = cc.Invoke(testContext(t), jobspb.SubmitPath, &jobspb.SubmitRequest{Bin: "sh"}, &jobspb.SubmitResponse{})
			if status.Convert(err).Message() != "agent_ref is required" {
				t.Errorf("Submit: %v", err)
			}
			operator := metadata.AppendToOutgoingContext(testContext(t), "authorization", "Bearer "+d.OperatorToken())
			if err := cc.Invoke(operator, jobspb.SubmitPath, &jobspb.SubmitRequest{AgentRef: "agent", Bin: "sh"}, &jobspb.SubmitResponse{}); err != nil {
				t.Errorf("Submit for an agent by name: %v", err)
			}
		}
		_ = cc.Close()
	}
}

func TestTokensExpireAndSurviveARestart(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{})
	list := func(token string) error {
		_, err := newClient(t, d, token).List(testContext(t), jobsclient.ListOptions{})
		return err
	}
	token := d.Token()
	if err := d.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := list(token); err != nil {
		t.Error(err)
	}
	narrowed := d.Agent().Grant(jobstest.CanGet)
	if err := list(token); !errors.Is(err, jobsclient.ErrUnauthenticated) {
		t.Errorf("the token before a change of capabilities: %v", err)
	}
	if err := list(narrowed); !errors.Is(err, jobsclient.ErrPermissionDenied) {
		t.Errorf("the token after it: %v", err)
	}
	if err := list(d.Agent().RotateFor(-time.Second)); !errors.Is(err, jobsclient.ErrUnauthenticated) {
		t.Errorf("an expired token: %v", err)
	}
}

func TestAfterADeathRunningJobsAreOrphanedAndPendingOnesRun(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{MaxRunning: 1, Bins: map[string]jobstest.Bin{"sleep": jobstest.Blocks(nil, ""), "true": jobstest.Prints("", 0)}})
	c := newClient(t, d, d.Token())
	ctx := testContext(t)
	running, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "sleep"})
	if err != nil {
		t.Fatal(err)
	}
	pending, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "true"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Restart(); err != nil {
		t.Fatal(err)
	}
	if j, _ := d.Job(running); j.Status != jobsclient.Orphaned || j.Finished.IsZero() {
		t.Errorf("the running job is %+v", j)
	}
	if _, err := d.AwaitJob(ctx, pending, func(j jobsclient.Job) bool { return j.Status == jobsclient.Done }); err != nil {
		t.Error(err)
	}
}

func TestAfterADeathPendingJobsOfAnAgentThatIsNotReadyEndAsErrorsAndForgottenOnesDoNotRun(t *testing.T) {
	ran := make(chan string, 10)
	d := jobstest.New(t, jobstest.Options{MaxRunning: 1, Bins: map[string]jobstest.Bin{
		"sleep": jobstest.Blocks(nil, ""),
		"tell":  {Run: func(_ context.Context, p *jobstest.Process) int { ran <- p.JobID; return 0 }},
	}})
	ctx := testContext(t)
	a := d.AddAgent("other", jobstest.AllCapabilities()...)
	c, other := newClient(t, d, d.Token()), newClient(t, d, a.Token())
	var ids []string
	for i, bin := range []string{"sleep", "tell", "tell", "tell"} {
		by := c
		if i == 1 {
			by = other
		}
		id, err := by.Submit(ctx, jobsclient.SubmitRequest{Bin: bin})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	a.SetState(jobstest.AgentPreparing)
	d.Forget(ids[2])
	if err := d.Restart(); err != nil {
		t.Fatal(err)
	}
	job, err := other.Wait(ctx, ids[1])
	if err != nil || job.Status != jobsclient.Failed || !strings.Contains(job.Error, "not initialized") || job.Finished.IsZero() {
		t.Errorf("the job of the agent that is not ready: %+v, %v", job, err)
	}
	if job, err = c.Wait(ctx, ids[3]); err != nil || job.Status != jobsclient.Done {
		t.Errorf("the last job: %+v, %v", job, err)
	}
	if got := <-ran; got != ids[3] || len(ran) != 0 {
		t.Errorf("%s ran, and %d others", got, len(ran))
	}
}

func TestAKilledDaemonLeavesItsSocketAndAStoppedOneDoesNot(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{})
	d.Kill()
	if _, err := os.Stat(d.Address()); err != nil {
		t.Error(err)
	}
	if err := d.Restart(); err != nil {
		t.Fatal(err)
	}
	d.Stop()
	if _, err := os.Stat(d.Address()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Stop: %v", err)
	}
	d.Close()
	d.Close()
}

func TestCallsTellWhatWasAsked(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"true": jobstest.Prints("", 0)}})
	d.Setenv(t)
	cfg, ok := jobsclient.FromEnv()
	if !ok {
		t.Fatal("the environment describes no daemon")
	}
	c := newClient(t, d, cfg.Token)
	id, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "true", Args: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(testContext(t), id); err != nil {
		t.Fatal(err)
	}
	_, _ = newClient(t, d, "wrong").List(testContext(t), jobsclient.ListOptions{Status: jobsclient.Done})
	calls := d.Calls()
	if len(calls) != 3 || calls[0].Submit.Args[0] != "x" || calls[1].JobID != id || !calls[2].Refused || calls[2].Authorization[0] != "Bearer wrong" {
		t.Errorf("got %+v", calls)
	}
	if calls[0].Conn != 1 || calls[2].Conn != 2 || d.Accepts() != 2 {
		t.Errorf("connections: %d, %d of %d", calls[0].Conn, calls[2].Conn, d.Accepts())
	}
}
