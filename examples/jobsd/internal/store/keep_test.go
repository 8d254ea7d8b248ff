package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// hold keeps a worker's lease until the returned function is called.
func hold(t *testing.T, s *store.Store, worker string, lapsed func()) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	begun := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		s.Hold(ctx, &jobsdpb.Worker{Id: worker}, store.Holder{
			Running: func() int { return 1 }, Begun: func() { close(begun) }, Lapsed: lapsed,
		})
	})
	<-begun
	end = func() { cancel(); wg.Wait() }
	t.Cleanup(end)
	return end
}

func awaitStatus(t *testing.T, s *store.Store, id, status string) *jobsdpb.Record {
	t.Helper()
	ctx, cancel := context.WithCancel(testContext(t))
	var found *jobsdpb.Record
	look := func() {
		if r, _ := get(t, s, id); r.GetStatus() == status {
			found = r
			cancel()
		}
	}
	err := s.Changes(ctx, look, func(_, _ string, _ *jobsdpb.Record, _ uint64) {
		if found == nil {
			look()
		}
	})
	if err != nil || found == nil {
		t.Fatalf("%s is not %s: %v", id, status, err)
	}
	return found
}

func TestAWorkersLeaseIsSeenAndGoesWithIt(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	ctx := testContext(t)
	end := hold(t, s, "w", nil)
	if alive, err := s.Alive(ctx, "w"); err != nil || !alive {
		t.Errorf("while it is held: %v, %v", alive, err)
	}
	workers, err := s.Workers(ctx)
	if err != nil || len(workers) != 1 || workers[0].GetId() != "w" || workers[0].GetRunning() != 1 {
		t.Errorf("workers: %v, %v", workers, err)
	}
	end()
	if alive, err := s.Alive(ctx, "w"); err != nil || alive {
		t.Errorf("afterwards: %v, %v", alive, err)
	}
	if workers, err := s.Workers(ctx); err != nil || len(workers) != 0 {
		t.Errorf("workers afterwards: %v, %v", workers, err)
	}
}

func TestJobsOfADeadWorkerAreOrphanedAndThoseOfALivingOneAreNot(t *testing.T) {
	nc := connect(t)
	s := open(t, nc, store.Config{LeaseTTL: time.Second})
	hold(t, s, "living", nil)
	// A lease that nobody renews lapses.
	dead, err := s.HoldOnce(testContext(t), "dead")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, worker := range []string{"living", dead, "never-there"} {
		submit(t, s, job(), "")
		d := next(t, s)
		claim(t, s, d, worker)
		ids[worker] = d.Record.GetId()
	}
	ctx, stop := context.WithCancel(testContext(t))
	var wg sync.WaitGroup
	for range 3 { // fronts
		wg.Go(func() { s.Keep(ctx) })
	}
	for _, worker := range []string{dead, "never-there"} {
		r := awaitStatus(t, s, ids[worker], store.Orphaned)
		if r.GetFinished() == 0 || r.GetError() == "" {
			t.Errorf("the orphaned job: %v", r)
		}
	}
	if r, _ := get(t, s, ids["living"]); r.GetStatus() != store.Running {
		t.Errorf("the job of the living worker is %s", r.GetStatus())
	}
	stop()
	wg.Wait()
}

func TestAWorkerWhoseLeaseLapsedIsTold(t *testing.T) {
	s := open(t, connect(t), store.Config{LeaseTTL: 3 * time.Second})
	lapsed := make(chan struct{}, 1)
	hold(t, s, "w", func() { lapsed <- struct{}{} })
	if err := s.ForgetWorkers(testContext(t)); err != nil {
		t.Fatal(err)
	}
	<-lapsed
	if alive, err := s.Alive(testContext(t), "w"); err != nil || !alive {
		t.Errorf("it is not alive again: %v, %v", alive, err)
	}
}

func TestAJobWhoseFrontDiedBeforeItWasQueuedRuns(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	r := job()
	r.Status, r.Created = store.Pending, time.Now().Add(-time.Hour).UnixNano()
	if _, err := s.Update(testContext(t), r, 0); err != nil {
		t.Fatal(err)
	}
	queued := submit(t, s, job(), "")
	for range 2 { // the second finds it queued
		if err := s.Sweep(testContext(t), 0); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{next(t, s).Record.GetId(): 1}
	d := next(t, s)
	got[d.Record.GetId()]++
	if got[r.GetId()] != 1 || got[queued.GetId()] != 1 {
		t.Errorf("the queue had %v", got)
	}
	if n, err := s.Queued(testContext(t)); err != nil || n != 2 {
		t.Errorf("%d queued, %v", n, err)
	}
}

func TestWhoTakesOverQueuesAtOnceWhatTheDeadLeftInNoQueue(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	r := job()
	r.Status, r.Created = store.Pending, time.Now().UnixNano()
	if _, err := s.Update(testContext(t), r, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.HoldOnce(testContext(t), "dead"); err != nil {
		t.Fatal(err)
	}
	running := submit(t, s, job(), "")
	claim(t, s, next(t, s), "dead")
	if err := s.TakeOver(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if got, _ := get(t, s, running.GetId()); got.GetStatus() != store.Orphaned {
		t.Errorf("the job that ran is %s", got.GetStatus())
	}
	queued := map[string]bool{next(t, s).Record.GetId(): true, next(t, s).Record.GetId(): true}
	if !queued[r.GetId()] || !queued[running.GetId()] { // the latter is dropped by who gets it
		t.Errorf("the queue had %v", queued)
	}
}

func TestAJobThatLeftTheQueueUnclaimedIsQueuedAgain(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	r := submit(t, s, job(), "")
	if err := next(t, s).Done(); err != nil {
		t.Fatal(err)
	}
	for queued := uint64(1); queued > 0; { // it takes effect in a moment
		var err error
		if queued, err = s.Queued(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.TakeOver(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Queued(testContext(t)); err != nil || n != 1 {
		t.Fatalf("%d jobs are queued, %v", n, err)
	}
	if got := next(t, s).Record.GetId(); got != r.GetId() {
		t.Errorf("the queue had %s", got)
	}
}

func TestAFullQueueKeepsNobodyFromLookingAfterTheJobs(t *testing.T) {
	s := open(t, connect(t), store.Config{MaxQueue: 1})
	submit(t, s, job(), "")
	r := job()
	r.Status, r.Created = store.Pending, time.Now().Add(-time.Hour).UnixNano()
	if _, err := s.Update(testContext(t), r, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(testContext(t), 0); err != nil {
		t.Error(err)
	}
	if err := next(t, s).Done(); err != nil {
		t.Fatal(err)
	}
	for queued := uint64(1); queued > 0; { // the end of the first takes effect in a moment
		var err error
		if queued, err = s.Queued(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sweep(testContext(t), 0); err != nil {
		t.Error(err)
	}
	if got := next(t, s).Record.GetId(); got != r.GetId() {
		t.Errorf("the queue had %s", got)
	}
}

func TestALeaseThatCannotBeRenewedIsToldOnce(t *testing.T) {
	nc, hang := hanging(t)
	core, logged := observer.New(zap.WarnLevel)
	s, err := store.Open(testContext(t), nc, store.Config{LeaseTTL: time.Second, Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	tries := 0
	s.Hold(ctx, &jobsdpb.Worker{Id: "w"}, store.Holder{
		Begun: hang,
		Running: func() int { // is asked before each try
			if tries++; tries == 5 {
				cancel()
			}
			return 0
		},
	})
	if n := logged.FilterMessageSnippet("could not be renewed").Len(); n != 1 {
		t.Errorf("it was told %d times", n)
	}
}

func TestAnOrphanThatEndedMeanwhileIsLeftAlone(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	submit(t, s, job(), "")
	d := next(t, s)
	rev := claim(t, s, d, "w")
	old, oldRev := get(t, s, d.Record.GetId())
	d.Record.Status = store.Done
	if _, err := s.Update(testContext(t), d.Record, rev); err != nil {
		t.Fatal(err)
	}
	if err := s.Orphan(testContext(t), old, oldRev); !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if r, _ := get(t, s, d.Record.GetId()); r.GetStatus() != store.Done {
		t.Errorf("it is %s", r.GetStatus())
	}
}

func TestWhatADeadDaemonHadTakenAndNotBegunIsDeliveredAtOnce(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	r := submit(t, s, job(), "")
	next(t, s) // by a worker that dies now
	if err := s.TakeOver(testContext(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(testContext(t), store.AckWait*2/3)
	defer cancel()
	if d, err := s.Next(ctx); err != nil || d.Record.GetId() != r.GetId() {
		t.Errorf("got %v, %v", d, err)
	}
}
