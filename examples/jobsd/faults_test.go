//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fantasytools/fantasytools/jobsclient"
)

func TestAWorkerThatIsKilledRunsNoJobTwiceAndLosesNone(t *testing.T) {
	s := newSite(t)
	_, urls := s.cluster(1)
	s.daemon("front", "front", "-nats", urls)
	first := s.daemon("w1", "worker", "-nats", urls, "-slots", "10")
	c := s.client("front")
	var ids []string
	submit := func(from, to int) {
		for n := from; n < to; n++ {
			ids = append(ids, s.submit(c, n, s.untilGate()))
		}
	}
	submit(0, 10)
	s.awaitRuns(10) // all of them at the first worker
	s.daemon("w2", "worker", "-nats", urls, "-slots", "10")
	submit(10, 30)
	s.awaitRuns(20) // and ten at the second; ten are pending
	first.kill()
	s.openGate()
	for n, j := range waitAll(t, c, ids) {
		want := jobsclient.Done
		if n < 10 {
			want = jobsclient.Orphaned
		}
		if j.Status != want {
			t.Errorf("job %d is %s (%s), want %s", n, j.Status, j.Error, want)
		}
	}
	for n := range 30 {
		if got := s.runs()[n]; got != 1 {
			t.Errorf("job %d ran %d times", n, got)
		}
	}
}

func TestAWorkerThatStoodStillKillsWhatWasOrphanedMeanwhile(t *testing.T) {
	s := newSite(t)
	_, urls := s.cluster(1)
	s.daemon("front", "front", "-nats", urls)
	worker := s.daemon("worker", "worker", "-nats", urls)
	c := s.client("front")
	id := s.submit(c, 0, fmt.Sprintf("echo $$ >%s/pid; exec sleep 300", s.dir))
	s.awaitRuns(1)
	if err := worker.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	orphan := waitAll(t, c, []string{id})[0]
	if orphan.Status != jobsclient.Orphaned {
		t.Fatalf("the job is %s (%s)", orphan.Status, orphan.Error)
	}
	if err := worker.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for ctx := testContext(t); syscall.Kill(pid, 0) == nil; {
		select {
		case <-ctx.Done():
			t.Fatal("the process lives on")
		case <-time.After(20 * time.Millisecond): // nobody is told of a grandchild's end
		}
	}
	// It goes on, and what it has learnt too late changes nothing.
	if j := waitAll(t, c, []string{s.submit(c, 1, "true")})[0]; j.Status != jobsclient.Done {
		t.Errorf("the next job is %s", j.Status)
	}
	again, err := c.Get(testContext(t), id)
	if err != nil || again.Status != jobsclient.Orphaned || !again.Finished.Equal(orphan.Finished) {
		t.Errorf("the job is %+v, %v; it was %+v", again, err, orphan)
	}
	if runs := s.runs(); runs[0] != 1 || runs[1] != 1 {
		t.Errorf("runs: %v", runs)
	}
}

func TestAFrontThatIsKilledLosesNoWatch(t *testing.T) {
	s := newSite(t)
	_, urls := s.cluster(1)
	front := s.daemon("front", "front", "-nats", urls)
	s.daemon("worker", "worker", "-nats", urls, "-slots", "50")
	c := s.client("front")
	var ids []string
	for n := range 50 {
		ids = append(ids, s.submit(c, n, s.untilGate()+fmt.Sprintf("; echo end of %d", n)))
	}
	s.awaitRuns(50)
	watching := sync.WaitGroup{}
	done := make(chan struct{})
	jobs := make([]*jobsclient.Job, len(ids))
	for i, id := range ids {
		watching.Add(1)
		go func() {
			first := sync.OnceFunc(watching.Done)
			defer func() { first(); done <- struct{}{} }()
			for j, err := range c.Watch(testContext(t), id) {
				first()
				if err != nil {
					t.Errorf("job %d: %v", i, err)
					return
				}
				jobs[i] = j
			}
		}()
	}
	watching.Wait()
	front.kill()
	s.daemon("front", "front", "-nats", urls)
	s.openGate()
	for range ids {
		<-done
	}
	for n, j := range jobs {
		if j == nil || j.Status != jobsclient.Done || j.Stdout != fmt.Sprintf("end of %d\n", n) {
			t.Errorf("the watch of job %d ended with %+v", n, j)
		}
	}
	if runs := s.runs(); len(runs) != 50 {
		t.Errorf("%d jobs ran", len(runs))
	}
}

func TestAnEmbeddedDaemonThatIsKilledGoesOnWhereItWas(t *testing.T) {
	s := newSite(t)
	daemon := s.daemon("state", "serve", "-slots", "10")
	c := s.client("state")
	var ids []string
	for n := range 20 {
		ids = append(ids, s.submit(c, n, "echo begun; "+s.untilGate()))
	}
	ended := s.submit(c, 100, "true")
	s.awaitRuns(10)
	daemon.kill()
	s.openGate()
	s.daemon("state", "serve", "-slots", "10")
	orphaned := 0
	for n, j := range waitAll(t, c, ids) {
		switch j.Status {
		case jobsclient.Orphaned:
			orphaned++
		case jobsclient.Done:
		default:
			t.Errorf("job %d is %s", n, j.Status)
		}
	}
	if orphaned != 10 {
		t.Errorf("%d jobs are orphaned, and 10 were running", orphaned)
	}
	if j := waitAll(t, c, []string{ended})[0]; j.Status != jobsclient.Done {
		t.Errorf("the job that waited for its turn is %s", j.Status)
	}
	for n, got := range s.runs() {
		if got != 1 {
			t.Errorf("job %d ran %d times", n, got)
		}
	}
}

// leader returns the number of the server through which all changes of jobs go.
func leader(t *testing.T, urls string) int {
	nc, err := nats.Connect(urls)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Error(err)
		return 0
	}
	stream, err := js.Stream(testContext(t), "KV_jobsd-jobs")
	if err != nil {
		t.Error(err)
		return 0
	}
	var n int
	if _, err := fmt.Sscanf(stream.CachedInfo().Cluster.Leader, "nats%d", &n); err != nil {
		t.Error(err)
	}
	return n
}

func TestAClusterThatLosesANodeUnderLoadLosesNoJob(t *testing.T) {
	s := newSite(t)
	nodes, urls := s.cluster(3)
	s.daemon("front", "front", "-nats", urls, "-replicas", "3")
	s.daemon("w1", "worker", "-nats", urls, "-replicas", "3", "-slots", "4")
	s.daemon("w2", "worker", "-nats", urls, "-replicas", "3", "-slots", "4")
	c := s.client("front")
	const jobs, submitters = 400, 8
	var next, accepted atomic.Int64
	ids := make([]string, jobs)
	var wg sync.WaitGroup
	killed := sync.OnceFunc(func() { nodes[leader(t, urls)].kill() })
	for range submitters {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= jobs {
					return
				}
				if n == jobs/3 {
					killed()
				}
				id, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "sh", Args: s.script(n, "true")})
				if err != nil && !errors.Is(err, jobsclient.ErrUnavailable) {
					t.Errorf("job %d: %v", n, err)
				}
				if err == nil {
					ids[n] = id
					accepted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	var all []string
	var numbers []int
	for n, id := range ids {
		if id != "" {
			all, numbers = append(all, id), append(numbers, n)
		}
	}
	for i, j := range waitAll(t, c, all) {
		if j.Status != jobsclient.Done {
			t.Errorf("job %d is %s: %s", numbers[i], j.Status, j.Error)
		}
	}
	runs := s.runs()
	for _, n := range numbers {
		if runs[n] != 1 {
			t.Errorf("job %d was accepted and ran %d times", n, runs[n])
		}
	}
	for n, got := range runs {
		if got > 1 {
			t.Errorf("job %d ran %d times", n, got)
		}
	}
	t.Logf("%d of %d jobs were accepted", accepted.Load(), jobs)
	if accepted.Load() < jobs/2 {
		t.Error("that is not even half of them")
	}
}
