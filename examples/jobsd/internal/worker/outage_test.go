//go:build unix

package worker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// endAfterOutage reads the records, which the test does not watch any more.
func (b *bench) endAfterOutage(id string) (r *jobsdpb.Record) {
	b.Helper()
	b.eventually("the job to end", func() bool {
		r = b.now(id)
		return store.Terminal(r.GetStatus())
	})
	return r
}

func (b *bench) exists(name string) bool {
	_, err := os.Stat(filepath.Join(b.dir, name))
	return err == nil
}

// The job ends while JetStream is away.
func TestAJobSurvivesARestartOfJetStream(t *testing.T) {
	j := newJetStream(t, 0)
	b := benchOn(t, j, store.Config{})
	w := b.run(Config{})
	open := b.gate("gate")
	id := b.submit("sh", "trap 'touch ended' EXIT; echo before; read x <gate; head -c 100000 /dev/zero; exit 7")
	release := open()
	b.eventually("the output of a running job", func() bool { return b.stdout(b.running(id)) == "before\n" })
	j.stop()
	release()
	b.eventually("the program to end", func() bool { return b.exists("ended") })
	j.start()
	r := b.endAfterOutage(id)
	if r.GetStatus() != store.Done || r.GetExitCode() != 7 || len(b.stdout(r)) != 100_007 {
		t.Errorf("the job ended as %v, %q with %d bytes", r.GetStatus(), r.GetError(), len(b.stdout(r)))
	}
	id = b.submit("sh", "exec sleep 300")
	b.eventually("a job after that", func() bool { return b.now(id).GetStatus() == store.Running })
	if err := b.store.Order(b.ctx, w.id, id, store.OrderCancel); err != nil {
		t.Fatal(err)
	}
	if r := b.endAfterOutage(id); r.GetStatus() != store.Cancelled || r.GetWorker() != w.id {
		t.Errorf("a job after that ended as %v", r)
	}
	b.emptyQueue()
}

// A watch of JetStream's own goes on, and hears nothing for 10 to 20 s.
func TestWatchesAreOpenedAnewWhenJetStreamIsThereAgain(t *testing.T) {
	j := newJetStream(t, 0)
	b := benchOn(t, j, store.Config{})
	begun, ended := make(chan struct{}, 2), make(chan error, 2)
	begin := func() { begun <- struct{}{} }
	go func() { ended <- b.store.Orders(b.ctx, "me", begin, func(string, string) {}) }()
	go func() {
		ended <- b.store.Changes(b.ctx, begin, func(string, string, *jobsdpb.Record, uint64) {})
	}()
	for range 2 {
		<-begun
	}
	j.stop()
	j.start()
	for range 2 {
		select {
		case err := <-ended:
			if !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		case <-time.After(soon):
			t.Fatal("a watch goes on")
		}
	}
}

func TestAWorkerEndsThoughJetStreamIsAway(t *testing.T) {
	t.Parallel()
	j := newJetStream(t, 0)
	b := benchOn(t, j, store.Config{})
	w := b.runWith(Config{Drain: -1}, func(w *worker) { w.lastWrites = 300 * time.Millisecond })
	open := b.gate("gate")
	id := b.submit("sh", "echo $$ >pid; read x <gate; exec sleep 300")
	open()()
	pid := b.pid()
	b.running(id)
	j.stop()
	if err := w.end(); err != nil {
		t.Error(err)
	}
	if alive(pid) {
		t.Error("the process lives on")
	}
	if w.seen.count(store.Orphaned) != 1 {
		t.Errorf("seen %+v", w.seen)
	}
}

func TestTheQueueDoesNotGiveARunningJobToAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t, store.Config{})
	consumer, err := b.js.Consumer(b.ctx, "jobsd-queue", "workers")
	if err != nil {
		t.Fatal(err)
	}
	c := consumer.CachedInfo().Config
	c.AckWait = time.Second
	if _, err := b.js.UpdateConsumer(b.ctx, "jobsd-queue", c); err != nil {
		t.Fatal(err)
	}
	b.runWith(Config{}, func(w *worker) { w.aliveEvery = 50 * time.Millisecond })
	r := b.end(b.submit("sh", "exec sleep 2"))
	info, err := consumer.Info(b.ctx)
	if err != nil || info.Delivered.Consumer != 1 || r.GetStatus() != store.Done {
		t.Errorf("%d deliveries, %v; the job ended as %v", delivered(info), err, r)
	}
}

func delivered(info *jetstream.ConsumerInfo) uint64 {
	if info == nil {
		return 0
	}
	return info.Delivered.Consumer
}
