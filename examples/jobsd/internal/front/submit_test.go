package front_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
	"github.com/fantasytools/fantasytools/jobsclient"
)

func TestSubmittedJobsAreStoredAndQueued(t *testing.T) {
	r := start(t, setup{})
	in := &jobsdpb.SubmitRequest{AgentRef: "somebody", Bin: "sh", Args: []string{"-c", "", "ü"}, Stdin: "in\x00put", Labels: map[string]string{"": "", "a.b": "c"}}
	id, err := r.submit(r.as("me"), in)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^job_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("the id is %q", id)
	}
	d, err := r.store.Next(r.ctx())
	if err != nil || d.Record.GetId() != id {
		t.Fatal(d, err)
	}
	job, err := r.get(r.as("me"), id)
	if err != nil {
		t.Fatal(err)
	}
	want := &jobsdpb.Job{Id: id, AgentId: "me", Bin: "sh", Args: in.GetArgs(), Stdin: in.GetStdin(), Labels: in.GetLabels(), Status: store.Pending, CreatedAt: job.GetCreatedAt()}
	if diff := cmp.Diff(want, job, protocmp.Transform()); diff != "" || job.GetCreatedAt() == 0 {
		t.Error(diff)
	}
}

func TestSubmissionsThatAreRefused(t *testing.T) {
	r := start(t, setup{front: front.Config{MaxStdin: 1000, MaxArgs: 500}})
	labels := map[string]string{}
	for i := range front.MaxLabels + 1 {
		labels[strings.Repeat("x", i)] = ""
	}
	tests := []struct {
		name, agent string
		in          *jobsdpb.SubmitRequest
		code        codes.Code
		text        string
	}{
		{"no BIN", "me", &jobsdpb.SubmitRequest{}, codes.InvalidArgument, "bin is required"},
		{"a BIN that is not declared", "me", &jobsdpb.SubmitRequest{Bin: "x"}, codes.InvalidArgument,
			`BIN "x" is not declared in agent me — add it to the agent or pick one of: cat, sh`},
		{"a BIN in other letters", "me", &jobsdpb.SubmitRequest{Bin: "SH"}, codes.InvalidArgument,
			`BIN "SH" is not declared in agent me — add it to the agent or pick one of: cat, sh`},
		{"an agent without any", "poor", &jobsdpb.SubmitRequest{Bin: "/bin/sh"}, codes.InvalidArgument,
			`BIN "/bin/sh" is not declared in agent poor — add it to the agent or pick one of: (none)`},
		{"a name of any length", "me", &jobsdpb.SubmitRequest{Bin: strings.Repeat("ü", 400)}, codes.InvalidArgument,
			`BIN "` + strings.Repeat("ü", 50) + `…" is not declared in agent me — add it to the agent or pick one of: cat, sh`},
		{"the operator for nobody", "", &jobsdpb.SubmitRequest{Bin: "sh"}, codes.InvalidArgument, "agent_ref is required"},
		{"the operator for somebody unknown", "", &jobsdpb.SubmitRequest{AgentRef: "x", Bin: "sh"}, codes.NotFound, `agent "x" not found`},
		{"the operator without a BIN", "", &jobsdpb.SubmitRequest{AgentRef: "me"}, codes.InvalidArgument, "bin is required"},
		{"a NUL in an argument", "me", &jobsdpb.SubmitRequest{Bin: "sh", Args: []string{"a", "b\x00"}}, codes.InvalidArgument,
			"argument 2 of sh holds a NUL, which no process can be given: pass it on stdin"},
		{"a long stdin", "me", &jobsdpb.SubmitRequest{Bin: "sh", Stdin: strings.Repeat("x", 1001)}, codes.InvalidArgument,
			"stdin has 1001 bytes, at most 1000 are accepted: put the data into a file that the BIN can read"},
		{"long args", "me", &jobsdpb.SubmitRequest{Bin: "sh", Args: []string{strings.Repeat("x", 500)}}, codes.InvalidArgument,
			"args and labels have 501 bytes together, at most 500 are accepted: pass what is long on stdin"},
		{"many empty args", "me", &jobsdpb.SubmitRequest{Bin: "sh", Args: make([]string, 501)}, codes.InvalidArgument,
			"args and labels have 501 bytes together, at most 500 are accepted: pass what is long on stdin"},
		{"long labels", "me", &jobsdpb.SubmitRequest{Bin: "sh", Labels: map[string]string{"k": strings.Repeat("x", 500)}}, codes.InvalidArgument,
			"args and labels have 501 bytes together, at most 500 are accepted: pass what is long on stdin"},
		{"many labels", "me", &jobsdpb.SubmitRequest{Bin: "sh", Labels: labels}, codes.InvalidArgument, "the job has 65 labels, at most 64 are accepted"},
		{"a request of any length", "me", &jobsdpb.SubmitRequest{Bin: "sh", Stdin: strings.Repeat("x", 1<<20)}, codes.InvalidArgument,
			"the request has 1048584 bytes, of which the daemon reads at most 68536: stdin may have 1000 bytes, args and labels together 500"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r.TB = t
			_, err := r.submit(r.as(test.agent), test.in)
			r.refused(err, test.code, test.text)
		})
	}
	r.TB = t
	if n, err := r.store.Queued(r.ctx()); err != nil || n != 0 {
		t.Errorf("%d jobs are in the queue, %v", n, err)
	}
}

func TestWhatIsWithinTheBoundsIsTaken(t *testing.T) {
	r := start(t, setup{front: front.Config{MaxStdin: 100_000, MaxArgs: 500}})
	stdin := strings.Repeat("ü", 50_000)
	id, err := r.submit(r.as("me"), &jobsdpb.SubmitRequest{Bin: "sh", Args: []string{strings.Repeat("x", 497)}, Labels: map[string]string{"a": "b"}, Stdin: stdin})
	if err != nil {
		t.Fatal(err)
	}
	if job, err := r.get(r.as("me"), id); err != nil || job.GetStdin() != stdin {
		t.Errorf("stdin has %d bytes, %v", len(job.GetStdin()), err)
	}
}

func TestTheOperatorSubmitsForAnAgent(t *testing.T) {
	r := start(t, setup{})
	id, err := r.submit(r.as(""), &jobsdpb.SubmitRequest{AgentRef: "other", Bin: "sh"})
	if err != nil {
		t.Fatal(err)
	}
	job, err := r.get(r.as(""), id)
	if err != nil || job.GetAgentId() != "other" || job.GetLabels()[front.AgentLabel] != "other" {
		t.Errorf("the job is of %q, labelled %v, %v", job.GetAgentId(), job.GetLabels(), err)
	}
	if job, err = r.get(r.as("other"), id); err != nil || len(job.GetLabels()) != 0 {
		t.Errorf("its agent sees the labels %v, %v", job.GetLabels(), err)
	}
}

func TestAFullQueueSaysItsBound(t *testing.T) {
	r := start(t, setup{store: store.Config{MaxQueue: 2}})
	var err error
	for range 3 {
		if _, err = r.submit(r.as("me"), &jobsdpb.SubmitRequest{Bin: "sh"}); err != nil {
			break
		}
	}
	r.refused(err, codes.ResourceExhausted, "the queue is full: at most 2 jobs may be pending or running at once; submit the job again when some have ended")
	jobs, err := r.list(r.as("me"), &jobsdpb.ListRequest{})
	if err != nil || len(jobs) != 2 {
		t.Errorf("there are %d jobs, %v", len(jobs), err)
	}
	_, err = r.client().Submit(t.Context(), submitRequest)
	if err == nil || !strings.Contains(err.Error(), "at most 2 jobs") {
		t.Errorf("the client says: %v", err)
	}
}

func TestAFullStoreIsSaid(t *testing.T) {
	r := start(t, setup{store: store.Config{MaxRecordBytes: 20_000}})
	var err error
	for range 100 {
		if _, err = r.submit(r.as("me"), &jobsdpb.SubmitRequest{Bin: "sh", Args: []string{strings.Repeat("x", 1000)}}); err != nil {
			break
		}
	}
	r.refused(err, codes.ResourceExhausted, "the daemon's store of jobs is full: ended jobs leave it with time; try again later, or ask its operator for more room")
}

func TestAJobTooLargeForTheStoreIsRefused(t *testing.T) {
	r := start(t, setup{front: front.Config{MaxArgs: 4 << 20}})
	_, err := r.submit(r.as("me"), &jobsdpb.SubmitRequest{Bin: "sh", Args: []string{strings.Repeat("x", 2<<20)}})
	r.refused(err, codes.InvalidArgument, "the job is too large for the daemon's store: shorten its args, or pass what is long on stdin")
}

func TestADrainingFrontTakesNoJobs(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs()
	w := r.watch(r.as("me"), job.Id)
	w.must()
	r.front.Drain()
	_, err := r.submit(r.as("me"), &jobsdpb.SubmitRequest{Bin: "sh"})
	r.refused(err, codes.FailedPrecondition, "the jobs daemon is shutting down: nothing was submitted")
	job.ends(store.Done)
	if got := w.must(); got.GetStatus() != store.Done {
		t.Errorf("the watch shows %s", got.GetStatus())
	}
	w.ends()
}

func TestAStoreThatIsAwayIsSaidWithoutItsNames(t *testing.T) {
	r := start(t, setup{patience: 200 * time.Millisecond})
	job := r.pending()
	w := r.watch(r.as("me"), job.Id)
	w.must()
	r.nats.Stop()
	_, err := r.submit(r.as("me"), &jobsdpb.SubmitRequest{Bin: "sh"})
	r.refused(err, codes.FailedPrecondition, "the daemon's store of jobs cannot be reached at the moment: nothing was submitted; try again later")
	const away = "the daemon's store of jobs cannot be reached at the moment; try again"
	_, err = r.get(r.as("me"), job.Id)
	r.refused(err, codes.Unavailable, away)
	r.refused(r.cancel(r.as("me"), job.Id), codes.Unavailable, away)
	_, err = r.watch(r.as("me"), job.Id).next()
	r.refused(err, codes.Unavailable, away)
	_, err = r.list(r.as("me"), &jobsdpb.ListRequest{})
	r.refused(err, codes.Unavailable, away)
}

// A client that goes away in the middle leaves no job that is stored but in no
// queue.
func TestASubmissionOutlivesItsClient(t *testing.T) {
	r := start(t, setup{})
	token := "Bearer " + r.token("me")
	for i := range 200 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*20*time.Microsecond)
		_, _ = r.submit(authorized(ctx, token), &jobsdpb.SubmitRequest{Bin: "sh", Args: []string{strconv.Itoa(i)}})
		cancel()
	}
	r.shutdown() // waits for those that had begun
	jobs := 0
	if err := r.store.List(r.ctx(), "me", func(*jobsdpb.Record, uint64) bool { jobs++; return true }); err != nil {
		t.Fatal(err)
	}
	if queued, err := r.store.Queued(r.ctx()); err != nil || int(queued) != jobs || jobs == 0 {
		t.Errorf("%d jobs are stored, %d in the queue, %v", jobs, queued, err)
	}
}

func TestEachCallNeedsItsCapability(t *testing.T) {
	r := start(t, setup{})
	calls := map[string]func(agent string) error{
		agents.Submit: func(a string) error { _, err := r.submit(r.as(a), &jobsdpb.SubmitRequest{}); return err },
		agents.Status: func(a string) error { _, err := r.get(r.as(a), ""); return err },
		agents.List:   func(a string) error { _, err := r.list(r.as(a), &jobsdpb.ListRequest{}); return err },
		agents.Cancel: func(a string) error { return r.cancel(r.as(a), "") },
		agents.Watch:  func(a string) error { _, err := r.watch(r.as(a), "").next(); return err },
	}
	for needed, call := range calls {
		all := agents.Agent{Name: "without-" + needed, Capabilities: []string{}}
		for _, c := range agents.Capabilities() {
			if c != needed {
				all.Capabilities = append(all.Capabilities, c)
			}
		}
		if err := r.agents.Add(all); err != nil {
			t.Fatal(err)
		}
		r.refused(call(all.Name), codes.PermissionDenied,
			`agent "`+all.Name+`" does not have the "`+needed+`" capability — operator must grant it via the agent's capabilities`)
		for other, call := range calls {
			if other != needed {
				if err := call(all.Name); strings.Contains(errText(err), "capability") {
					t.Errorf("%s without %s: %v", other, needed, err)
				}
			}
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestJobsOfOthersAreNotFound(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs()
	for _, id := range []string{job.Id, "job_x", "*", ">", "a.b", "\x00", " ", strings.Repeat("a", 5_000), strings.Repeat("a", 500_000)} {
		_, err := r.get(r.as("other"), id)
		r.refused(err, codes.NotFound, "async job not found")
		r.refused(r.cancel(r.as("other"), id), codes.NotFound, "async job not found")
		_, err = r.watch(r.as("other"), id).next()
		r.refused(err, codes.NotFound, "async job not found")
	}
	_, err := r.get(r.as("me"), "")
	r.refused(err, codes.NotFound, "async job not found")
	r.refused(r.cancel(r.as("me"), ""), codes.InvalidArgument, "job_id is required")
	_, err = r.watch(r.as("me"), "").next()
	r.refused(err, codes.InvalidArgument, "job_id is required")
	_, err = r.watch(r.as(""), "job_x").next()
	r.refused(err, codes.NotFound, "async job not found")
	if jobs, err := r.list(r.as("other"), &jobsdpb.ListRequest{AgentId: "me"}); err != nil || len(jobs) != 0 {
		t.Errorf("the list has %d jobs, %v", len(jobs), err)
	}
	if _, err := r.get(r.as(""), job.Id); err != nil {
		t.Errorf("the operator: %v", err)
	}
	eventually(t, "the end of all feeds", func() bool { return r.front.Feeds() == 0 })
}

var submitRequest = jobsclient.SubmitRequest{Bin: "sh", Args: []string{"-c", "true"}}
