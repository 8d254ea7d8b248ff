package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
)

// Holder is what Hold tells its worker.
type Holder struct {
	Running func() int // jobs, for those who look at the lease
	Begun   func()     // the lease is there: jobs may be claimed
	Lapsed  func()     // the lease had lapsed and is there again; jobs may have been orphaned meanwhile
}

// sayAgain is how often the log is told of a trouble that lasts.
const sayAgain = time.Minute

// Hold keeps the lease of a worker until the context ends, and gives it back
// then. While JetStream cannot be reached it goes on trying.
func (s *Store) Hold(ctx context.Context, w *jobsdpb.Worker, h Holder) {
	ticker := time.NewTicker(s.LeaseTTL / 6)
	defer ticker.Stop()
	var rev uint64
	var told time.Time // when the log was told that there is trouble; zero: there is none
	for begun := false; ; {
		w.Running = int32(h.Running())
		next, err := s.renew(ctx, w, rev)
		if err == nil {
			told = time.Time{}
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			if time.Since(told) >= sayAgain {
				told = time.Now()
				s.Logger.Warn("the worker's lease could not be renewed; it is tried until it can", zap.String("worker", w.GetId()), errField(err))
			}
		case !begun:
			begun = true
			h.Begun()
		case next.lapsed:
			s.Logger.Warn("the worker's lease had lapsed; its jobs are looked after", zap.String("worker", w.GetId()))
			h.Lapsed()
		}
		if err == nil {
			rev = next.revision
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			s.giveUp(ctx, w.GetId())
			return
		}
	}
}

type lease struct {
	revision uint64
	lapsed   bool // it was gone
}

// renew writes the lease. If it is not the one that was written last it is
// written anew.
func (s *Store) renew(ctx context.Context, w *jobsdpb.Worker, rev uint64) (lease, error) {
	data, err := proto.Marshal(w)
	if err != nil {
		return lease{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(s.LeaseTTL/3, time.Second))
	defer cancel()
	next, err := s.workers.Update(ctx, w.GetId(), data, rev)
	if err == nil {
		return lease{revision: next}, nil
	}
	if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) && !errors.Is(explain(err), ErrConflict) {
		return lease{}, explain(err)
	}
	alive, err := s.Alive(ctx, w.GetId())
	if err != nil {
		return lease{}, err
	}
	next, err = s.workers.Put(ctx, w.GetId(), data)
	return lease{revision: next, lapsed: !alive && rev != 0}, explain(err)
}

// giveUp ends a lease.
func (s *Store) giveUp(ctx context.Context, worker string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := s.workers.Purge(ctx, worker); err != nil {
		s.Logger.Debug("the lease of a worker that ended is left to lapse", zap.String("worker", worker), errField(err))
	}
}

// Alive tells whether a worker holds its lease.
func (s *Store) Alive(ctx context.Context, worker string) (bool, error) {
	if worker == "" {
		return false, nil
	}
	err := s.retry(ctx, func(ctx context.Context) error {
		_, err := s.workers.Get(ctx, worker)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Workers returns all leases.
func (s *Store) Workers(ctx context.Context) ([]*jobsdpb.Worker, error) {
	var workers []*jobsdpb.Worker
	err := s.all(ctx, s.workers, ">", func(entry jetstream.KeyValueEntry) (bool, error) {
		w := &jobsdpb.Worker{}
		if err := proto.Unmarshal(entry.Value(), w); err != nil {
			return false, fmt.Errorf("reading a worker: %w", err)
		}
		workers = append(workers, w)
		return true, nil
	})
	return workers, err
}

// ForgetWorkers drops all leases. It is for a daemon that alone has the state and
// has no worker yet: those that held them are dead.
func (s *Store) ForgetWorkers(ctx context.Context) error {
	workers, err := s.Workers(ctx)
	if err != nil {
		return err
	}
	for _, w := range workers {
		if err := s.workers.Purge(ctx, w.GetId()); err != nil {
			return explain(err)
		}
	}
	return nil
}

// OrderCancel tells a worker to cancel a job.
const OrderCancel = "cancel"

// Order tells a worker what to do with a job. It is kept for an hour; a worker
// that is away for a moment hears of it.
func (s *Store) Order(ctx context.Context, worker, job, what string) error {
	return s.retry(ctx, func(ctx context.Context) error {
		_, err := s.orders.Put(ctx, worker+"."+job, []byte(what))
		return err
	})
}

// Orders calls each for every order to a worker, until the context ends. begun,
// if not nil, is called once none can be missed any more. It returns
// ErrUnavailable when the connection was lost and is there again; a new call is
// told all orders that are kept.
func (s *Store) Orders(ctx context.Context, worker string, begun func(), each func(job, what string)) error {
	return s.hear(ctx, s.orders, worker+".*", jetstream.IgnoreDeletes(), begun, func(entry jetstream.KeyValueEntry) {
		_, job, _ := cutKey(entry.Key())
		each(job, string(entry.Value()))
	})
}
