package store_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

func submit(t *testing.T, s *store.Store, r *jobsdpb.Record, stdin string) *jobsdpb.Record {
	t.Helper()
	if err := s.Submit(testContext(t), r, []byte(stdin)); err != nil {
		t.Fatal(err)
	}
	return r
}

func next(t *testing.T, s *store.Store) *store.Delivery {
	t.Helper()
	d, err := s.Next(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func get(t *testing.T, s *store.Store, id string) (*jobsdpb.Record, uint64) {
	t.Helper()
	r, rev, err := s.Get(testContext(t), "me", id)
	if err != nil {
		t.Fatal(err)
	}
	return r, rev
}

func claim(t *testing.T, s *store.Store, d *store.Delivery, worker string) uint64 {
	t.Helper()
	d.Record.Status, d.Record.Worker, d.Record.Started = store.Running, worker, time.Now().UnixNano()
	rev, err := s.Update(testContext(t), d.Record, d.Revision)
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func TestAJobIsClaimedOnce(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	submit(t, s, job(), "")
	d := next(t, s)
	var won []string
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, worker := range []string{"a", "b", "c", "d", "e", "f"} {
		wg.Go(func() {
			r := &jobsdpb.Record{Id: d.Record.GetId(), Agent: "me", Bin: "sh", Status: store.Running, Worker: worker}
			switch _, err := s.Update(testContext(t), r, d.Revision); {
			case err == nil:
				mu.Lock()
				won = append(won, worker)
				mu.Unlock()
			case !errors.Is(err, store.ErrConflict):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if r, _ := get(t, s, d.Record.GetId()); len(won) != 1 || r.GetWorker() != won[0] {
		t.Errorf("%v won, and the record names %s", won, r.GetWorker())
	}
}

func TestAgentsAreApart(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	ctx := testContext(t)
	mine := submit(t, s, job(), "")
	theirs := job()
	theirs.Agent = "other"
	submit(t, s, theirs, "")
	for _, test := range []struct {
		agent, id string
		found     bool
	}{
		{"me", mine.GetId(), true}, {"me", theirs.GetId(), false}, {"other", theirs.GetId(), true}, {"", theirs.GetId(), true},
		{"me", "job_none", false}, {"me", "", false}, {"me", "*", false}, {"me", ">", false}, {"*", mine.GetId(), false}, {"", "a.b", false},
		{"me", strings.Repeat("a", 100_000), false}, {strings.Repeat("a", 100_000), mine.GetId(), false},
	} {
		_, _, err := s.Get(ctx, test.agent, test.id)
		if found := err == nil; found != test.found || err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Get(%q, %q): %v", test.agent, test.id, err)
		}
	}
	list := func(agent string) (ids []string) {
		if err := s.List(ctx, agent, func(r *jobsdpb.Record, _ uint64) bool { ids = append(ids, r.GetId()); return true }); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	if got := list("me"); !slices.Equal(got, []string{mine.GetId()}) {
		t.Errorf("the list of one: %v", got)
	}
	if got := list(""); len(got) != 2 {
		t.Errorf("the list of all: %v", got)
	}
	if got := list("nobody"); len(got) != 0 {
		t.Errorf("the list of nobody: %v", got)
	}
}

func TestAFullQueueRefusesAndLeavesNothing(t *testing.T) {
	s := open(t, connect(t), store.Config{MaxQueue: 2})
	ctx := testContext(t)
	submit(t, s, job(), "")
	submit(t, s, job(), "")
	third := job()
	if err := s.Submit(ctx, third, nil); !errors.Is(err, store.ErrQueueFull) {
		t.Fatalf("got %v", err)
	}
	if _, _, err := s.Get(ctx, "me", third.GetId()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the refused job: %v", err)
	}
	if n, err := s.Queued(ctx); err != nil || n != 2 {
		t.Errorf("%d queued, %v", n, err)
	}
	if err := next(t, s).Done(); err != nil {
		t.Fatal(err)
	}
	for { // the queue hears of it in a moment
		if err := s.Submit(ctx, job(), nil); err == nil {
			return
		} else if !errors.Is(err, store.ErrQueueFull) {
			t.Fatal(err)
		}
	}
}

func TestAFullStoreRefusesAndDropsTheOldestEndedJobs(t *testing.T) {
	s := open(t, connect(t), store.Config{MaxRecordBytes: 100_000})
	ctx := testContext(t)
	fill(t, s, 5)
	var kept []string
	for {
		r := job()
		r.Args = []string{strings.Repeat("x", 8_000)}
		if err := s.Submit(ctx, r, nil); errors.Is(err, store.ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, r.GetId())
	}
	first := next(t, s)
	rev := claim(t, s, first, "w")
	first.Record.Status, first.Record.Finished = store.Done, time.Now().UnixNano()
	if _, err := s.Update(ctx, first.Record, rev); err != nil {
		t.Fatal(err)
	}
	keep, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.Keep(keep) })
	for s.Submit(ctx, job(), nil) != nil { // until Keep has made room
		if ctx.Err() != nil {
			t.Fatal("no room was made")
		}
	}
	stop()
	wg.Wait()
	if _, _, err := s.Get(ctx, "me", kept[0]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the ended job is still there: %v", err)
	}
	for _, id := range kept[1:] {
		if r, _ := get(t, s, id); r.GetStatus() != store.Pending {
			t.Errorf("%s is %s", id, r.GetStatus())
		}
	}
}

func TestChangesArePushed(t *testing.T) {
	s := open(t, connect(t), store.Config{Retention: time.Second})
	ctx, cancel := context.WithCancel(testContext(t))
	seen := make(chan string, 100)
	begun := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Changes(ctx, func() { close(begun) }, func(agent, id string, r *jobsdpb.Record, _ uint64) {
			seen <- agent + "." + id + " " + r.GetStatus()
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	r := job()
	live(ctx, t, s)
	submit(t, s, r, "")
	want := []string{"pending", "running", "done", "pending", ""} // the last: it has left the bucket
	for i, status := range want {
		if got := <-seen; !strings.HasSuffix(got, " "+status) || !strings.HasPrefix(got, "me.job_") {
			t.Errorf("change %d: %q, want %s", i, got, status)
		}
	}
	cancel()
	wg.Wait()
}

func TestAnEndedJobLeavesAfterTheRetentionAndNoOtherDoes(t *testing.T) {
	s := open(t, connect(t), store.Config{Retention: time.Second})
	ctx := testContext(t)
	pending := submit(t, s, job(), "")
	running := claimed(t, s)
	gone := make(chan string, 10)
	watch, stop := context.WithCancel(ctx)
	begun := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Changes(watch, func() { close(begun) }, func(_, id string, r *jobsdpb.Record, _ uint64) {
			if r == nil {
				gone <- id
			}
		})
	})
	<-begun
	ended := submit(t, s, job(), "")
	d := next(t, s)
	rev := claim(t, s, d, "w")
	d.Record.Status = store.Done
	if _, err := s.Update(ctx, d.Record, rev); err != nil {
		t.Fatal(err)
	}
	if id := <-gone; id != ended.GetId() {
		t.Errorf("%s is gone", id)
	}
	stop()
	wg.Wait()
	if _, _, err := s.Get(ctx, "me", ended.GetId()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the ended job: %v", err)
	}
	get(t, s, pending.GetId())
	get(t, s, running.GetId())
}

// claimed takes the next job.
func claimed(t *testing.T, s *store.Store) *jobsdpb.Record {
	t.Helper()
	d := next(t, s)
	claim(t, s, d, "w")
	return d.Record
}

func TestStdinOfAnySizeComesBack(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	for _, size := range []int{0, 1, store.MaxInline, store.MaxInline + 1, store.MaxChunk, 3*store.MaxChunk + 7} {
		in := strings.Repeat("0123456789\xff", size/11+1)[:size]
		r := submit(t, s, job(), in)
		stored, _ := get(t, s, r.GetId())
		out, err := s.Stdin(testContext(t), stored)
		if err != nil || string(out) != in {
			t.Errorf("%d bytes: %d came back, %v", size, len(out), err)
		}
	}
}

func TestOutputIsReadAndFollowed(t *testing.T) {
	s := open(t, connect(t), store.Config{HeadBytes: 10, TailBytes: 10})
	ctx := testContext(t)
	submit(t, s, job(), "")
	d := next(t, s)
	rev := claim(t, s, d, "w")
	id := d.Record.GetId()
	put := func(region store.Region, offset int64, data string) uint64 {
		seq, err := s.PutChunk(ctx, id, store.Stdout, region, offset, []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	put(store.Head, 0, "01234")
	put(store.Head, 5, "56789")
	put(store.Tail, 10, "abcde")
	if b, err := s.Output(ctx, d.Record, store.Stdout); err != nil || string(b.Head())+string(b.Tail()) != "0123456789abcde" {
		t.Errorf("while it runs: %v, %v", b, err)
	}
	last := put(store.Tail, 100, "vwxyz")
	if err := s.DropTail(ctx, id, store.Stdout, last); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutChunk(ctx, id, store.Stderr, store.Head, 0, []byte("oops")); err != nil {
		t.Fatal(err)
	}
	d.Record.Status = store.Done
	d.Record.Stdout = &jobsdpb.Output{Size: 105, Head: 10, Tail: 5}
	d.Record.Stderr = &jobsdpb.Output{Size: 4, Head: 4, Inline: []byte("oops")}
	if _, err := s.Update(ctx, d.Record, rev); err != nil {
		t.Fatal(err)
	}
	r, _ := get(t, s, id)
	b, err := s.Output(ctx, r, store.Stdout)
	if err != nil || string(b.Head()) != "0123456789" || string(b.Tail()) != "vwxyz" || b.Missing() != 90 || b.Size() != 105 {
		t.Errorf("after the end: %v, %v", b, err)
	}
	if b, err := s.Output(ctx, r, store.Stderr); err != nil || string(b.Head()) != "oops" || b.Missing() != 0 {
		t.Errorf("stderr: %v, %v", b, err)
	}
	follow, stop := context.WithCancel(ctx)
	var got bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Follow(follow, id, func(stream store.Stream, _ int64, data []byte) {
			got.WriteString(string(stream) + ":" + string(data) + " ")
			if stream == store.Stderr {
				stop()
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if want := "out:01234 out:56789 out:vwxyz err:oops "; got.String() != want {
		t.Errorf("followed %q, want %q", got.String(), want)
	}
	if err := s.DropOutput(ctx, id); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Output(ctx, r, store.Stdout); err != nil || b.Missing() != 105 {
		t.Errorf("dropped: %v, %v", b, err)
	}
}

func TestNextEndsWithItsContextAndLosesNothing(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			d, err := s.Next(ctx)
			if err == nil {
				err = d.Back(0)
			}
			done <- err
		}()
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	want := submit(t, s, job(), "")
	if got := next(t, s); got.Record.GetId() != want.GetId() {
		t.Errorf("got %s", got.Record.GetId())
	}
}

func TestOrdersReachTheirWorkerOnly(t *testing.T) {
	s := open(t, connect(t), store.Config{})
	ctx, stop := context.WithCancel(testContext(t))
	for _, order := range [][2]string{{"a", "job_1"}, {"b", "job_2"}} { // before anyone listens
		if err := s.Order(ctx, order[0], order[1], store.OrderCancel); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan string, 10)
	begun := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Orders(ctx, "a", func() { close(begun) }, func(job, what string) { got <- job + " " + what }); err != nil {
			t.Error(err)
		}
	})
	<-begun
	if err := s.Order(ctx, "b", "job_4", store.OrderCancel); err != nil {
		t.Fatal(err)
	}
	if err := s.Order(ctx, "a", "job_3", store.OrderCancel); err != nil {
		t.Fatal(err)
	}
	if a, b := <-got, <-got; a != "job_1 cancel" || b != "job_3 cancel" {
		t.Errorf("got %q and %q", a, b)
	}
	stop()
	wg.Wait()
}
