package front

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// cancel ends a pending job at once, and tells the worker of a running one to end
// it: as with the original daemon, success means that the signal is on its way.
func (f *Front) cancel(ctx context.Context, who caller, in *jobsdpb.JobRequest) (*jobsdpb.CancelResponse, error) {
	if err := who.may(agents.Cancel); err != nil {
		return nil, err
	}
	if in.GetJobId() == "" {
		return nil, invalid(noID)
	}
	inner, cancel := context.WithTimeout(ctx, f.limits.store)
	defer cancel()
	for {
		err := f.cancelNow(inner, who.scope(), in.GetJobId())
		var refused *connect.Error
		switch {
		case err == nil:
			return &jobsdpb.CancelResponse{}, nil
		case errors.Is(err, store.ErrConflict): // it has been claimed, or has ended: look again
		case errors.As(err, &refused):
			return nil, refused
		default:
			return nil, f.answer(ctx, "cancelling a job", err)
		}
	}
}

func (f *Front) cancelNow(ctx context.Context, agent, id string) error {
	r, rev, err := f.Store.Get(ctx, agent, id)
	switch {
	case err != nil:
		return err
	case r.GetStatus() == store.Pending:
		r.Status, r.Finished = store.Cancelled, time.Now().UnixNano()
		if _, err := f.Store.Update(ctx, r, rev); err != nil {
			return err
		}
		f.Store.Dequeue(ctx, id)
		return nil
	case r.GetStatus() != store.Running || !f.signals.first(id, time.Now()):
		return refusal(connect.CodeFailedPrecondition, notRunning)
	}
	if err := f.Store.Order(ctx, r.GetWorker(), id, store.OrderCancel); err != nil {
		f.signals.forget(id)
		return err
	}
	return nil
}

const (
	// signalTime is how long a job counts as signalled. A worker obeys within
	// milliseconds; if it has not by then the next cancel tells it again.
	signalTime = 10 * time.Second

	// sweepFrom is at how many entries at least signals drops the old ones.
	sweepFrom = 1024
)

// signals remembers which jobs were told to end, so that a second cancel is
// refused as the original does. It is this front's memory only: another one's
// second order to a worker changes nothing.
type signals struct {
	mu    sync.Mutex
	sent  map[string]time.Time
	sweep int // at how many entries
}

// first tells whether the job was not signalled before, and notes that it is now.
func (s *signals) first(id string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, known := s.sent[id]; known && now.Sub(at) < signalTime {
		return false
	}
	if s.sent == nil {
		s.sent, s.sweep = map[string]time.Time{}, sweepFrom
	}
	if len(s.sent) >= s.sweep {
		maps.DeleteFunc(s.sent, func(_ string, at time.Time) bool { return now.Sub(at) >= signalTime })
		s.sweep = max(sweepFrom, 2*len(s.sent))
	}
	s.sent[id] = now
	return true
}

func (s *signals) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sent, id)
}
