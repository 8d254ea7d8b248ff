package front

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// Changes is what a Front hears changes from.
type Changes func(ctx context.Context, begun func(), each func(agent, id string, r *jobsdpb.Record, rev uint64)) error

// WrapChanges puts wrap round what Run will hear changes from.
func (f *Front) WrapChanges(wrap func(Changes) Changes) { f.changes = wrap(f.changes) }

// Shorten shortens what would take tests long; 0 leaves a limit as it is.
func (f *Front) Shorten(store, ready, quiet time.Duration, list int) {
	f.limits = limits{cmp.Or(store, f.limits.store), cmp.Or(ready, f.limits.ready), cmp.Or(quiet, f.limits.quiet), cmp.Or(list, f.limits.list), f.limits.hand, f.limits.move}
}

// Feeds is how many jobs are being watched.
func (f *Front) Feeds() int {
	f.feeds.mu.Lock()
	defer f.feeds.mu.Unlock()
	return len(f.feeds.open)
}

// Watches is how many watches are open.
func (f *Front) Watches() int {
	f.watches.Lock()
	defer f.watches.Unlock()
	return f.watches.open
}

// Text renders a stream within bounds.
func Text(b *store.Buffer, head, tail int, open bool) string { return bounds{head, tail}.text(b, open) }

// Part is what a list shows of a text.
func Part(inline []byte) string { return part(inline, int64(len(inline))) }

// Signals is what remembers which jobs were told to end.
type Signals struct{ signals }

// First is of signals.
func (s *Signals) First(id string, now time.Time) bool { return s.first(id, now) }

// Forget is of signals.
func (s *Signals) Forget(id string) { s.forget(id) }

// Len is how many jobs are remembered.
func (s *Signals) Len() int { return len(s.sent) }

// Narrow changes how many bytes a caller may have in hand, and how long a client
// may take for a message.
func (f *Front) Narrow(hand int64, move time.Duration) {
	f.limits.hand, f.limits.move = cmp.Or(hand, f.limits.hand), cmp.Or(move, f.limits.move)
}

// InHand tells whether a caller holds anything of its budget.
func (f *Front) InHand(scope string) bool {
	b := f.budgets.find(scope, f.limits.hand)
	for _, s := range []*semaphore.Weighted{b.calls, b.watches} {
		if !s.TryAcquire(f.limits.hand) {
			return true
		}
		s.Release(f.limits.hand)
	}
	return false
}
