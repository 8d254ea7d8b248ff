package bridge

import (
	"context"
	"errors"
	"sync"
)

// errTooMany is what enter returns when no more calls may wait.
var errTooMany = errors.New("too many calls wait")

// queue decides when a call runs, as the loop of an agent of fantasy does: in each
// session a call that is not parallel holds up all that come after it.
type queue struct {
	slots   chan struct{} // taken by the parallel calls that run, of all sessions
	waiting chan struct{} // taken by the calls that wait

	mu    sync.Mutex
	lanes map[any]*lane // of the sessions that have calls
}

// lane is what the calls of a session pass one by one.
type lane struct {
	gate  chan struct{} // full while a call is in it; who waits is let in in order
	users int           // guarded by queue.mu
}

func newQueue(parallel, waiting int) *queue {
	return &queue{
		slots:   make(chan struct{}, parallel),
		waiting: make(chan struct{}, waiting),
		lanes:   map[any]*lane{},
	}
}

// enter returns when the call may run; leave must be called when it has ended. The
// error is errTooMany or the context's.
func (q *queue) enter(ctx context.Context, session any, parallel bool) (leave func(), err error) {
	select {
	case q.waiting <- struct{}{}:
		defer func() { <-q.waiting }()
	default:
		return nil, errTooMany
	}
	l := q.join(session)
	if err := take(ctx, l.gate); err != nil {
		q.part(session, l)
		return nil, err
	}
	out := func() { <-l.gate; q.part(session, l) }
	if !parallel {
		return out, nil
	}
	out() // not held while it waits for a slot: a call that needs none may pass
	if err := take(ctx, q.slots); err != nil {
		return nil, err
	}
	return func() { <-q.slots }, nil
}

// take puts something into the channel when there is room. An ended context wins.
func take(ctx context.Context, room chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil { // both were ready
		<-room
		return err
	}
	return nil
}

func (q *queue) join(session any) *lane {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[session]
	if l == nil {
		l = &lane{gate: make(chan struct{}, 1)}
		q.lanes[session] = l
	}
	l.users++
	return l
}

func (q *queue) part(session any, l *lane) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(q.lanes, session)
	}
}
