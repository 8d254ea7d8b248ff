package store_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

var jobNumber atomic.Int64

func job() *jobsdpb.Record {
	return &jobsdpb.Record{Id: fmt.Sprintf("job_%d", jobNumber.Add(1)), Agent: "me", Bin: "sh", Args: []string{"-c", "true"}}
}

// live takes a job through its life, as a front and a worker do.
func live(ctx context.Context, tb testing.TB, s *store.Store) {
	r := job()
	if err := s.Submit(ctx, r, nil); err != nil {
		tb.Error(err)
		return
	}
	d, err := s.Next(ctx)
	if err != nil {
		tb.Error(err)
		return
	}
	r = d.Record
	r.Status, r.Worker, r.Started = store.Running, "w", time.Now().UnixNano()
	rev, err := s.Update(ctx, r, d.Revision)
	if err != nil {
		tb.Error(err)
		return
	}
	r.Status, r.Finished = store.Done, time.Now().UnixNano()
	r.Stdout, r.Stderr = &jobsdpb.Output{Inline: []byte("hello\n"), Size: 6, Head: 6}, &jobsdpb.Output{}
	if _, err := s.Update(ctx, r, rev); err != nil {
		tb.Error(err)
		return
	}
	if err := d.Done(); err != nil {
		tb.Error(err)
	}
}

// BenchmarkLife is the cost of a job's life in JetStream alone, with few and with
// many ended jobs in the bucket.
func BenchmarkLife(b *testing.B) {
	for _, ended := range []int{1_000, 50_000} {
		b.Run(fmt.Sprintf("ended=%d", ended), func(b *testing.B) {
			s := open(b, connect(b), store.Config{})
			ctx := context.Background()
			fill(b, s, ended)
			b.SetParallelism(32)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					live(ctx, b, s)
				}
			})
		})
	}
}

func fill(tb testing.TB, s *store.Store, n int) {
	tb.Helper()
	work := make(chan struct{})
	done := make(chan struct{})
	for range 64 {
		go func() {
			for range work {
				live(context.Background(), tb, s)
			}
			done <- struct{}{}
		}()
	}
	for range n {
		work <- struct{}{}
	}
	close(work)
	for range 64 {
		<-done
	}
}
