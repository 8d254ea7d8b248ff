//go:build unix

package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

func contextOf(b *bench) (context.Context, context.CancelFunc) { return context.WithCancel(b.ctx) }

func TestRunningJobsFinishWhileTheWorkerDrains(t *testing.T) {
	b := newBench(t, store.Config{})
	w := b.run(Config{Slots: 1, Drain: soon})
	open := b.gate("gate")
	id, queued := b.submit("sh", "read x <gate; echo finished"), b.submit("sh", "touch ran")
	release := open()
	w.cancel()
	release()
	if err := w.wait(); err != nil {
		t.Error(err)
	}
	if r := b.end(id); r.GetStatus() != store.Done || b.stdout(r) != "finished\n" {
		t.Errorf("the job ended as %v", r)
	}
	if r, _, err := b.store.Get(b.ctx, "me", queued); err != nil || r.GetStatus() != store.Pending {
		t.Errorf("the queued job is %v, %v", r, err)
	}
	ctx, cancel := context.WithTimeout(b.ctx, soon)
	defer cancel()
	if d, err := b.store.Next(ctx); err != nil || d.Record.GetId() != queued {
		t.Errorf("the queued job cannot be had: %v", err)
	}
}

func TestJobsThatDoNotFinishInTimeAreCancelledAndSayWhy(t *testing.T) {
	for _, tc := range []struct {
		name  string
		drain time.Duration
		want  string
	}{
		{"after the grace period", 100 * time.Millisecond, "cancelled: the worker was shut down, after a grace period of 100ms"},
		{"at once where there is none", -1, "cancelled: the worker was shut down, after a grace period of 0s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, store.Config{})
			w := b.run(Config{Drain: tc.drain})
			open := b.gate("gate")
			id := b.submit("sh", "echo partial; read x <gate; exec sleep 300")
			open()()
			if err := w.end(); err != nil {
				t.Error(err)
			}
			r := b.end(id)
			if r.GetStatus() != store.Cancelled || r.GetError() != tc.want || b.stdout(r) != "partial\n" {
				t.Errorf("the job ended as %v", r)
			}
			b.emptyQueue()
		})
	}
}

func TestAbortCancelsJobsAtOnce(t *testing.T) {
	for _, draining := range []bool{false, true} {
		t.Run("while it drains: "+strconv.FormatBool(draining), func(t *testing.T) {
			b := newBench(t, store.Config{})
			abort := make(chan struct{})
			w := b.run(Config{Drain: time.Hour, Abort: abort})
			open := b.gate("gate")
			id := b.submit("sh", "read x <gate; exec sleep 300")
			open()()
			if draining {
				w.cancel()
			}
			close(abort)
			if err := w.wait(); err != nil {
				t.Error(err)
			}
			if r := b.end(id); r.GetStatus() != store.Cancelled || r.GetError() != "cancelled: the worker was shut down at once" {
				t.Errorf("the job ended as %v", r)
			}
		})
	}
}

func TestAWorkerThatIsToEndBeforeItBeganTakesNothing(t *testing.T) {
	b := newBench(t, store.Config{})
	ctx, cancel := contextOf(b)
	cancel()
	id := b.submit("sh", "touch ran")
	if err := Run(ctx, Config{Store: b.store, Agents: b.agents}); err != nil {
		t.Error(err)
	}
	if r, _, err := b.store.Get(b.ctx, "me", id); err != nil || r.GetStatus() != store.Pending {
		t.Errorf("the job is %v, %v", r, err)
	}
}

func TestAWorkerWhoseQueueIsGoneEnds(t *testing.T) {
	b := newBench(t, store.Config{})
	w := b.run(Config{})
	open := b.gate("gate")
	id := b.submit("sh", "read x <gate")
	release := open()
	b.deleteQueue()
	release()
	err := w.wait()
	w.err = nil // expected
	if !errors.Is(err, errNoQueue) {
		t.Errorf("got %v", err)
	}
	if r := b.end(id); r.GetStatus() != store.Done {
		t.Errorf("the job ended as %v", r)
	}
}

func TestAJobWhoseWorkerWasDeclaredDeadIsKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t, store.Config{LeaseTTL: time.Second})
	w := b.run(Config{})
	open := b.gate("gate")
	id := b.submit("sh", "echo $$ >pid; read x <gate; exec sleep 300")
	stay := b.gate("stays")
	stays := b.submit("sh", "read x <stays")
	open()()
	release := stay()
	pid := b.pid()
	b.change(id, func(r *jobsdpb.Record) { r.Status, r.Error = store.Orphaned, "by the test" })
	if err := b.store.ForgetWorkers(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.eventually("the process to be killed", func() bool { return !alive(pid) })
	b.eventually("the job to leave the worker", func() bool { return w.seen.count(store.Orphaned) == 1 })
	if r, _, err := b.store.Get(b.ctx, "me", id); err != nil || r.GetError() != "by the test" {
		t.Errorf("the record is %v, %v", r, err)
	}
	release()
	if r := b.end(stays); r.GetStatus() != store.Done {
		t.Errorf("the job that was not declared dead ended as %v", r)
	}
	b.emptyQueue()
}

func TestAJobThatIsOrphanedWhileItsWorkerIsBackIsKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t, store.Config{})
	w := b.run(Config{})
	open := b.gate("gate")
	id := b.submit("sh", "echo $$ >pid; read x <gate; exec sleep 300")
	open()()
	pid := b.pid()
	r, rev, err := b.store.Get(b.ctx, "me", id)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.store.Orphan(b.ctx, r, rev); err != nil {
		t.Fatal(err)
	}
	b.eventually("the process to be killed", func() bool { return !alive(pid) })
	b.eventually("the job to leave the worker", func() bool { return w.seen.count(store.Orphaned) == 1 })
	if r := b.end(id); r.GetStatus() != store.Orphaned {
		t.Errorf("the job ended as %v", r)
	}
	b.emptyQueue()
}

// pid reads the process id that a job has written.
func (b *bench) pid() (pid int) {
	b.Helper()
	b.eventually("a process id", func() bool {
		text, err := os.ReadFile(filepath.Join(b.dir, "pid"))
		if err != nil || len(text) == 0 || text[len(text)-1] != '\n' {
			return false
		}
		pid, err = strconv.Atoi(string(text[:len(text)-1]))
		return err == nil
	})
	return pid
}

func TestTheResultOfAJobThatWasEndedByOthersIsDropped(t *testing.T) {
	b := newBench(t, store.Config{})
	w := b.run(Config{})
	open := b.gate("gate")
	id := b.submit("sh", "read x <gate; echo result")
	release := open()
	b.change(id, func(r *jobsdpb.Record) { r.Status, r.Error = store.Orphaned, "by the test" })
	release()
	b.eventually("the job to leave the worker", func() bool { return w.seen.count(store.Orphaned) == 1 })
	if r := b.end(id); r.GetError() != "by the test" || r.GetStdout() != nil {
		t.Errorf("the record is %v", r)
	}
	b.emptyQueue()
}
