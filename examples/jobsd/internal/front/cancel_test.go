package front_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

const notRunning = "async job not currently running"

// orders gathers what a worker is told.
func (r *rig) orders(worker string) func() []string {
	r.Helper()
	ctx, stop := context.WithCancel(context.Background())
	begun, ended := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var got []string
	go func() {
		defer close(ended)
		if err := r.store.Orders(ctx, worker, func() { close(begun) }, func(job, what string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, job+" "+what)
		}); err != nil {
			r.Errorf("hearing of orders: %v", err)
		}
	}()
	<-begun
	r.Cleanup(func() {
		stop()
		<-ended
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

func TestAPendingJobIsCancelledAtOnce(t *testing.T) {
	r := start(t, setup{})
	job := r.pending()
	if err := r.cancel(r.as("me"), job.Id); err != nil {
		t.Fatal(err)
	}
	now, err := r.get(r.as("me"), job.Id)
	if err != nil || now.GetStatus() != store.Cancelled || now.GetFinishedAt() == 0 || now.GetStartedAt() != 0 || now.GetError() != "" {
		t.Errorf("the job is %v, %v", now, err)
	}
	if n, err := r.store.Queued(r.ctx()); err != nil || n != 0 {
		t.Errorf("%d jobs are in the queue, %v", n, err)
	}
	r.refused(r.cancel(r.as("me"), job.Id), codes.FailedPrecondition, notRunning)
}

func TestTheWorkerOfARunningJobIsToldOnce(t *testing.T) {
	r := start(t, setup{})
	told := r.orders("w1")
	job := r.pending().runs()
	if err := r.cancel(r.as("me"), job.Id); err != nil {
		t.Fatal(err)
	}
	r.refused(r.cancel(r.as("me"), job.Id), codes.FailedPrecondition, notRunning)
	eventually(t, "the order", func() bool { return slices.Equal(told(), []string{job.Id + " " + store.OrderCancel}) })
	job.ends(store.Cancelled)
	r.refused(r.cancel(r.as("me"), job.Id), codes.FailedPrecondition, notRunning)
}

func TestOfManyCancelsAtOnceOneIsTaken(t *testing.T) {
	r := start(t, setup{})
	for _, job := range []*live{r.pending(), r.pending().runs()} {
		var wg sync.WaitGroup
		results := make(chan error, 20)
		ctx := r.as("me")
		for range cap(results) {
			wg.Go(func() { results <- r.cancel(ctx, job.Id) })
		}
		wg.Wait()
		close(results)
		taken := 0
		for err := range results {
			switch {
			case err == nil:
				taken++
			case status.Code(err) != codes.FailedPrecondition:
				t.Error(err)
			}
		}
		if taken != 1 {
			t.Errorf("of a job that was %s %d cancels were taken", job.Status, taken)
		}
	}
}

func TestEndedJobsAreNotCancelled(t *testing.T) {
	r := start(t, setup{})
	for _, state := range []string{store.Done, store.Failed, store.Cancelled, store.Orphaned} {
		job := r.pending().runs().ends(state)
		r.refused(r.cancel(r.as("me"), job.Id), codes.FailedPrecondition, notRunning)
		r.refused(r.cancel(r.as(""), job.Id), codes.FailedPrecondition, notRunning)
	}
}

// A worker that claims a job while it is being cancelled either gets it, and is
// told, or does not get it.
func TestACancelMeetsAClaim(t *testing.T) {
	r := start(t, setup{})
	told := r.orders("w1")
	want := 0
	for range 50 {
		job := r.pending()
		claimed := make(chan error, 1)
		go func() {
			running := &jobsdpb.Record{Id: job.Id, Agent: job.Agent, Bin: job.Bin, Status: store.Running, Worker: "w1"}
			_, err := r.store.Update(context.Background(), running, job.rev)
			claimed <- err
		}()
		if err := r.cancel(r.as("me"), job.Id); err != nil {
			t.Error(err)
		}
		switch err := <-claimed; {
		case err == nil:
			want++
		case !errors.Is(err, store.ErrConflict):
			t.Error(err)
		default:
			if now := r.find("me", job.Id); now.Status != store.Cancelled {
				t.Errorf("the job is %s", now.Status)
			}
		}
	}
	eventually(t, "all orders", func() bool { return len(told()) == want })
}

func TestASignalCountsForAWhile(t *testing.T) {
	var s front.Signals
	now := time.Now()
	steps := []struct {
		after time.Duration
		want  bool
	}{{0, true}, {0, false}, {9 * time.Second, false}, {10 * time.Second, true}, {19 * time.Second, false}}
	for _, step := range steps {
		if got := s.First("a", now.Add(step.after)); got != step.want {
			t.Errorf("after %v: %v", step.after, got)
		}
	}
	s.Forget("a")
	if !s.First("a", now.Add(19*time.Second)) {
		t.Error("what was forgotten is remembered")
	}
	for i := range 100_000 {
		s.First(strconv.Itoa(i), now.Add(time.Duration(i)*time.Second))
	}
	if s.Len() > 2000 {
		t.Errorf("%d are remembered", s.Len())
	}
}
