package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

func TestAWatchThatAHangingServerDoesNotBeginFails(t *testing.T) {
	nc, hang := hanging(t)
	s := open(t, nc, store.Config{})
	hang()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for name, call := range map[string]func() error{
		"Changes": func() error {
			return s.Changes(ctx, nil, func(string, string, *jobsdpb.Record, uint64) {})
		},
		"Orders":  func() error { return s.Orders(ctx, "w", nil, func(string, string) {}) },
		"List":    func() error { return s.List(ctx, "", func(*jobsdpb.Record, uint64) bool { return true }) },
		"Workers": func() error { _, err := s.Workers(ctx); return err },
	} {
		wg.Go(func() {
			err := call()
			if !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
				t.Errorf("%s: %v; %v", name, err, ctx.Err())
			}
		})
	}
	wg.Wait()
}
