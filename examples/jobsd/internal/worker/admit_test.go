//go:build unix

package worker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// idle returns a worker that takes nothing by itself: the test hands it
// deliveries.
func (b *bench) idle() *worker {
	b.Helper()
	w, err := newWorker(Config{Store: b.store, Agents: b.agents, Logger: zaptest.NewLogger(b)})
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// change replaces a job's record by what edit makes of it.
func (b *bench) change(id string, edit func(*jobsdpb.Record)) {
	b.Helper()
	r, rev, err := b.store.Get(b.ctx, "me", id)
	if err != nil {
		b.Fatal(err)
	}
	edit(r)
	if _, err := b.store.Update(b.ctx, r, rev); err != nil {
		b.Fatal(err)
	}
}

func runningBy(worker string) func(*jobsdpb.Record) {
	return func(r *jobsdpb.Record) {
		r.Status, r.Worker, r.Started = store.Running, worker, time.Now().UnixNano()
	}
}

// lease gives a worker that does not exist a lease, until the test ends.
func (b *bench) lease(id string) {
	b.Helper()
	begun, ended := make(chan struct{}), make(chan struct{})
	ctx, cancel := contextOf(b)
	go func() {
		defer close(ended)
		b.store.Hold(ctx, &jobsdpb.Worker{Id: id}, store.Holder{Running: func() int { return 0 }, Begun: func() { close(begun) }, Lapsed: func() {}})
	}()
	<-begun
	b.Cleanup(func() { cancel(); <-ended })
}

func TestADeliveryMeetsARecordThatHasChanged(t *testing.T) {
	terminal := func(r *jobsdpb.Record) { r.Status = store.Cancelled }
	for _, tc := range []struct {
		name   string
		edit   func(*jobsdpb.Record) // nil: the job is withdrawn
		runs   bool
		status string // after that
		stays  bool   // in the queue
	}{
		{"one that has not changed runs", func(*jobsdpb.Record) {}, true, store.Running, true},
		{"one with another revision that is still pending runs", func(r *jobsdpb.Record) { r.Labels = map[string]string{"a": "b"} }, true, store.Running, true},
		{"one that has ended leaves the queue", terminal, false, store.Cancelled, false},
		{"one that is running by a living worker stays with that", runningBy("living"), false, store.Running, true},
		{"one whose worker seems dead is asked for again", runningBy("dead"), false, store.Running, true},
		{"one that was withdrawn leaves the queue", nil, false, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, store.Config{})
			b.lease("living")
			w := b.idle()
			id := b.submit("sh", "true")
			d := b.next()
			if tc.edit != nil {
				b.change(id, tc.edit)
			} else {
				b.withdraw(id)
			}
			j := w.admit(b.ctx, d)
			if (j != nil) != tc.runs || w.find(id) != j {
				t.Errorf("to run: %v", j)
			}
			r, rev, err := b.store.Get(b.ctx, "me", id)
			if tc.status == "" {
				if !errors.Is(err, store.ErrNotFound) {
					t.Errorf("got %v, %v", r, err)
				}
			} else if err != nil || r.GetStatus() != tc.status {
				t.Errorf("the record is %v, %v", r, err)
			}
			if tc.runs && (j.revision != rev || r.GetWorker() != w.id || r.GetStarted() == 0 || !proto.Equal(r, j.record)) {
				t.Errorf("claimed %v at %d, the record is %v at %d", j.record, j.revision, r, rev)
			}
			if !tc.stays {
				b.emptyQueue()
			} else if n, err := b.store.Queued(b.ctx); n != 1 || err != nil {
				t.Errorf("%d in the queue, %v", n, err)
			}
		})
	}
}

func TestAWorkerThatIsTwiceSeenDeadLosesItsJob(t *testing.T) {
	t.Parallel()
	b := newBench(t, store.Config{LeaseTTL: 300 * time.Millisecond})
	id := b.submit("sh", "touch ran")
	d := b.next()
	b.change(id, runningBy("dead"))
	if err := d.Back(0); err != nil {
		t.Fatal(err)
	}
	w := b.run(Config{})
	r := b.end(id)
	if r.GetStatus() != store.Orphaned || r.GetWorker() != "dead" || !strings.Contains(r.GetError(), "was not run again") || r.GetFinished() == 0 {
		t.Errorf("the job ended as %v", r)
	}
	b.emptyQueue()
	if err := w.end(); err != nil || w.seen.started != 0 {
		t.Errorf("%v; seen %+v", err, w.seen)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

func TestASuspicionEndsWhenTheWorkerIsSeen(t *testing.T) {
	b := newBench(t, store.Config{})
	w := b.idle()
	id := b.submit("sh", "true")
	b.change(id, runningBy("flaky"))
	get := func() (fate, error) {
		r, rev, err := b.store.Get(b.ctx, "me", id)
		if err != nil {
			t.Fatal(err)
		}
		return w.try(b.ctx, &job{id: id, agent: "me"}, r, rev)
	}
	if f, err := get(); f != ask || err != nil {
		t.Errorf("first: %v, %v", f, err)
	}
	if f, err := get(); f != ask || err != nil {
		t.Errorf("too soon after that: %v, %v", f, err)
	}
	b.lease("flaky")
	if f, err := get(); f != wait || err != nil || len(w.suspects) != 0 {
		t.Errorf("when it is back: %v, %v, %v", f, err, w.suspects)
	}
}

func TestSuspicionsAreBounded(t *testing.T) {
	w := &worker{Config: Config{Store: &store.Store{}}, suspects: map[string]time.Time{}}
	for i := range 3 * maxSuspects {
		w.suspect(itoa(i))
	}
	if len(w.suspects) > maxSuspects {
		t.Errorf("%d are remembered", len(w.suspects))
	}
}

func TestANewerDeliveryIsTakenOverByTheSlotThatRunsTheJob(t *testing.T) {
	b := newBench(t, store.Config{})
	w := b.idle()
	id := b.submit("sh", "true")
	first := b.next()
	j := w.admit(b.ctx, first)
	if err := first.Back(0); err != nil { // as if the signs of life had been lost
		t.Fatal(err)
	}
	second := b.next()
	if again := w.admit(b.ctx, second); again != nil {
		t.Fatal("it would run twice")
	}
	if w.deliveries()[id] != second {
		t.Error("the newer delivery was not taken over")
	}
	w.work(b.ctx, j)
	if r := b.end(id); r.GetStatus() != store.Done {
		t.Errorf("the job ended as %v", r)
	}
	b.emptyQueue()
	if w.find(id) != nil || w.running() != 0 {
		t.Error("the job is not forgotten")
	}
}

// Whether its process was ever started is not known any more.
func TestAJobInTheWorkersNameThatNoSlotRunsIsOrphaned(t *testing.T) {
	b := newBench(t, store.Config{})
	w := b.idle()
	id := b.submit("sh", "touch ran")
	d := b.next()
	b.change(id, runningBy(w.id))
	if j := w.admit(b.ctx, d); j != nil {
		t.Error("it would run")
	}
	if r := b.end(id); r.GetStatus() != store.Orphaned {
		t.Errorf("the job ended as %v", r)
	}
	b.emptyQueue()
}

func TestOfTwoWorkersThatClaimOneRunsTheJob(t *testing.T) {
	b := newBench(t, store.Config{})
	one, other := b.idle(), b.idle()
	b.lease(one.id)
	b.submit("sh", "true")
	d := b.next()
	copied := *d
	if one.admit(b.ctx, d) == nil {
		t.Error("the first does not run it")
	}
	if other.admit(b.ctx, &copied) != nil {
		t.Error("the second runs it too")
	}
}

func TestAClaimWithoutJetStreamIsGivenBack(t *testing.T) {
	b := newBench(t, store.Config{})
	w := b.idle()
	id := b.submit("sh", "true")
	d := b.next()
	ended, cancel := contextOf(b)
	cancel()
	if j := w.admit(ended, d); j != nil || w.find(id) != nil {
		t.Errorf("to run: %v", j)
	}
	if r, _, err := b.store.Get(b.ctx, "me", id); err != nil || r.GetStatus() != store.Pending {
		t.Errorf("the record is %v, %v", r, err)
	}
}

func TestAJobThatIsCancelledWhileItIsClaimedDoesNotStart(t *testing.T) {
	b := newBench(t, store.Config{})
	w := b.idle()
	id := b.submit("sh", "touch ran")
	j := w.admit(b.ctx, b.next())
	w.obey(id, store.OrderCancel)
	w.work(b.ctx, j)
	if r := b.end(id); r.GetStatus() != store.Cancelled || r.GetError() != "" || r.GetHandle() != "" {
		t.Errorf("the job ended as %v", r)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("the program ran")
	}
}
