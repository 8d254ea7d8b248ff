//go:build unix

package worker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestAJobRunsToItsEnd(t *testing.T) {
	b := newBench(t, store.Config{})
	w := b.run(Config{})
	before := time.Now().UnixNano()
	id := b.submit("sh", `echo "$FOR_JOBS $0 $1 in $PWD"; echo oops >&2; exit 3`, "a", "b c")
	r := b.end(id)
	if r.GetStatus() != store.Done || r.GetExitCode() != 3 || r.GetError() != "" {
		t.Errorf("the job ended as %v", r)
	}
	if got, want := b.stdout(r), "yes a b c in "+b.dir+"\n"; got != want {
		t.Errorf("stdout is %q, want %q", got, want)
	}
	if got := string(r.GetStderr().GetInline()); got != "oops\n" || r.GetStderr().GetSize() != 5 || r.GetStderr().GetHead() != 5 {
		t.Errorf("stderr is %v", r.GetStderr())
	}
	if r.GetWorker() != w.id || r.GetHandle() == "" {
		t.Errorf("worker %q, handle %q", r.GetWorker(), r.GetHandle())
	}
	if r.GetCreated() < before || r.GetStarted() < r.GetCreated() || r.GetFinished() <= r.GetStarted() {
		t.Errorf("created %d, started %d, finished %d", r.GetCreated(), r.GetStarted(), r.GetFinished())
	}
	b.emptyQueue()
	if err := w.end(); err != nil || w.seen.started != 1 || w.seen.count(store.Done) != 1 || w.seen.bytes != r.GetStdout().GetSize()+5 {
		t.Errorf("%v; seen %+v", err, w.seen)
	}
	if alive, err := b.store.Alive(b.ctx, w.id); alive || err != nil {
		t.Errorf("the ended worker holds its lease: %v, %v", alive, err)
	}
}

func TestHowAJobEnds(t *testing.T) {
	b := newBench(t, store.Config{})
	b.run(Config{MaxRunTime: time.Minute})
	for _, tc := range []struct {
		name, bin string
		args      []string
		status    string
		code      int32
		err       string // in the error; "": there is none
	}{
		{"an exit", "sh", []string{"exit 0"}, store.Done, 0, ""},
		{"an exit code", "sh", []string{"exit 44"}, store.Done, 44, ""},
		{"the largest exit code", "sh", []string{"exit 255"}, store.Done, 255, ""},
		{"SIGKILL", "sh", []string{"kill -9 $$"}, store.Failed, 0, "killed by SIGKILL"},
		{"SIGSEGV", "sh", []string{"kill -SEGV $$"}, store.Failed, 0, "killed by SIGSEGV"},
		{"the limit of its BIN", "slow", []string{"exec sleep 300"}, store.Failed, 0, "stopped after the run time limit of 300ms"},
		{"a missing program", "missing", nil, store.Failed, 0, "missing does not exist any more; it has to be installed again"},
		{"an argument that is too long", "echo", []string{strings.Repeat("a", 131072)}, store.Failed, 0, "one argument is 131072 bytes long, over the system's limit of 131071; pass long text in stdin"},
		{"NUL in an argument", "echo", []string{"a", "b\x00"}, store.Failed, 0, "nothing was run: args[1] holds a NUL character"},
		{"a BIN that is not there", "python", nil, store.Failed, 0, `nothing was run: BIN "python" is not declared for agent "me" where the job was taken; add it there, or submit one of: echo, missing, sh, slow`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := b.end(b.submit(tc.bin, tc.args...))
			if r.GetStatus() != tc.status || r.GetExitCode() != tc.code {
				t.Errorf("the job ended as %v", r)
			}
			if (tc.err == "") != (r.GetError() == "") || !strings.Contains(r.GetError(), tc.err) {
				t.Errorf("its error is %q, want %q", r.GetError(), tc.err)
			}
			if r.GetFinished() == 0 {
				t.Error("it has no end")
			}
		})
	}
	b.emptyQueue()
}

func TestAnAgentThatIsNotKnownIsAnError(t *testing.T) {
	b := newBench(t, store.Config{})
	b.run(Config{})
	if err := b.store.Submit(b.ctx, &jobsdpb.Record{Id: "job_1", Agent: "stranger", Bin: "sh"}, nil); err != nil {
		t.Fatal(err)
	}
	r := b.end("job_1")
	if want := `knows no agent "stranger"; add it`; r.GetStatus() != store.Failed || !strings.Contains(r.GetError(), want) {
		t.Errorf("the job ended as %v", r)
	}
}

func TestStdinArrives(t *testing.T) {
	b := newBench(t, store.Config{})
	b.run(Config{})
	for _, size := range []int{0, 1, store.MaxInline, store.MaxInline + 1, 3<<20 + 7} {
		stdin := bytes.Repeat([]byte("x\x00\xff\n"), size/4+1)[:size]
		r := b.end(b.submitStdin(stdin, "sh", "wc -c; exit 5"))
		if got := strings.TrimSpace(b.stdout(r)); got != itoa(size) || r.GetExitCode() != 5 {
			t.Errorf("of %d bytes arrived %s: %v", size, got, r)
		}
		if again, err := b.store.Stdin(b.ctx, r); err != nil || !bytes.Equal(again, stdin) {
			t.Errorf("%d bytes of stdin are left of %d: %v", len(again), size, err)
		}
	}
}

func TestStdinThatIsGoneIsAnError(t *testing.T) {
	b := newBench(t, store.Config{})
	id := b.submitStdin(make([]byte, 100_000), "sh", "touch ran")
	if err := b.store.DropOutput(b.ctx, id); err != nil {
		t.Fatal(err)
	}
	b.run(Config{})
	r := b.end(id)
	if want := "nothing was run: reading stdin: 100000 of the 100000 bytes"; r.GetStatus() != store.Failed || !strings.Contains(r.GetError(), want) {
		t.Errorf("the job ended as %v", r)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("the program ran")
	}
}

func TestACancelledJobDiesThoughItIgnoresSignals(t *testing.T) {
	t.Parallel()
	b := newBench(t, store.Config{})
	w := b.run(Config{})
	open := b.gate("gate")
	id := b.submit("sh", "trap '' TERM INT HUP; echo partial; read x <gate; sleep 300 & wait")
	open()()
	for range 2 {
		if err := b.store.Order(b.ctx, w.id, id, store.OrderCancel); err != nil {
			t.Fatal(err)
		}
	}
	r := b.end(id)
	if r.GetStatus() != store.Cancelled || r.GetError() != "" || r.GetExitCode() != 0 || b.stdout(r) != "partial\n" {
		t.Errorf("the job ended as %v", r)
	}
	if pid, _ := strconv.Atoi(r.GetHandle()); alive(pid) {
		t.Errorf("process %d lives on", pid)
	}
	b.emptyQueue()
	if err := w.end(); err != nil || w.seen.count(store.Cancelled) != 1 {
		t.Errorf("%v; seen %+v", err, w.seen)
	}
}

func TestOrdersThatMeanNothingAreIgnored(t *testing.T) {
	b := newBench(t, store.Config{})
	w := b.run(Config{})
	open := b.gate("gate")
	id := b.submit("sh", "read x <gate")
	release := open()
	for job, what := range map[string]string{"job_unknown": store.OrderCancel, id: "dance"} {
		if err := b.store.Order(b.ctx, w.id, job, what); err != nil {
			t.Fatal(err)
		}
	}
	last := b.submit("sh", "exec sleep 300") // the order to cancel it comes after those
	b.running(last)
	if err := b.store.Order(b.ctx, w.id, last, store.OrderCancel); err != nil {
		t.Fatal(err)
	}
	b.end(last)
	release()
	if r := b.end(id); r.GetStatus() != store.Done {
		t.Errorf("the job ended as %v", r)
	}
}

func TestAJobThatWasCancelledInTheQueueDoesNotRun(t *testing.T) {
	b := newBench(t, store.Config{})
	id := b.submit("sh", "touch ran")
	r, rev, err := b.store.Get(b.ctx, "me", id)
	if err != nil {
		t.Fatal(err)
	}
	r.Status, r.Finished = store.Cancelled, time.Now().UnixNano()
	if _, err := b.store.Update(b.ctx, r, rev); err != nil {
		t.Fatal(err)
	}
	w := b.run(Config{})
	b.emptyQueue()
	if err := w.end(); err != nil || w.seen.started != 0 {
		t.Errorf("%v; seen %+v", err, w.seen)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

func TestEachJobRunsOnceThoughTwoWorkersTakeThem(t *testing.T) {
	t.Parallel()
	b := newBench(t, store.Config{})
	const each, submitters = 100, 4
	ids := make(chan string, each*submitters)
	var wg sync.WaitGroup
	for range submitters {
		wg.Go(func() {
			for range each {
				ids <- b.submit("sh", `echo "$0" >>all`, fmt.Sprintf("n%d", len(ids)))
			}
		})
	}
	first, second := b.run(Config{Slots: 4}), b.run(Config{Slots: 4})
	wg.Wait()
	close(ids)
	for id := range ids {
		if r := b.end(id); r.GetStatus() != store.Done || r.GetExitCode() != 0 {
			t.Fatalf("a job ended as %v", r)
		}
	}
	b.emptyQueue()
	all, err := os.ReadFile(filepath.Join(b.dir, "all"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(all, []byte("\n")); n != each*submitters {
		t.Errorf("%d runs of %d jobs", n, each*submitters)
	}
	if first.seen.count(store.Done) == 0 || second.seen.count(store.Done) == 0 {
		t.Errorf("one worker did nothing: %d and %d jobs", first.seen.count(store.Done), second.seen.count(store.Done))
	}
}

func TestConfigIsChecked(t *testing.T) {
	b := newBench(t, store.Config{})
	for _, c := range []Config{{}, {Store: b.store}, {Store: b.store, Agents: b.agents, Slots: -1}, {Store: b.store, Agents: b.agents, Slots: MaxSlots + 1}} {
		if err := Run(b.ctx, c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

func TestAHostsNameBecomesAToken(t *testing.T) {
	for host, want := range map[string]string{
		"laptop": "laptop", "a.b.example": "a-b-example", "": "worker", "ü* >": "worker", "x_y-1": "x_y-1",
		strings.Repeat("h", 300): strings.Repeat("h", 64),
	} {
		if got := sanitise(host); got != want {
			t.Errorf("sanitise(%q) = %q", host, got)
		}
	}
	if one, other := newID(), newID(); one == other {
		t.Error("two workers have one name")
	}
}
