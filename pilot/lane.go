package pilot

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"
)

const (
	// laneGap lies between the starts of two runs that dial the same peer. A
	// peer's daemon takes 10 connections a second.
	laneGap = 150 * time.Millisecond

	// laneStep is how long a run keeps the next one to the same peer waiting.
	// Until then it has ended or has dialled: two messages are then never
	// stored in the same millisecond, which would lose one at an old peer.
	laneStep = time.Second

	// laneSends is how many sends to one peer run at a time.
	laneSends = 4
)

// lane orders the runs that dial one peer.
type lane struct {
	users int           // of the lane, under Client.mu
	turn  chan struct{} // held while a run waits for its start
	sends chan struct{} // held by sends until they end
	asks  chan struct{} // held by the one send that waits for a reply

	last *departure // under turn
}

type departure struct {
	start time.Time
	ended chan struct{}
}

func newLane() *lane {
	return &lane{turn: make(chan struct{}, 1), sends: make(chan struct{}, laneSends), asks: make(chan struct{}, 1)}
}

// maxNames bounds the hostnames that are remembered.
const maxNames = 1000

// learn remembers which node a hostname stood for, so that a peer has one lane
// however it is called.
func (c *Client) learn(peer, address string) {
	id, ok := nodeOf(address)
	if _, spelled := nodeOf(peer); !ok || spelled {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil || len(c.names) >= maxNames {
		c.names = map[string]string{}
	}
	c.names[strings.ToLower(peer)] = nodeKey(id)
}

func nodeKey(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

// key names the lane of a peer; the lock is held.
func (c *Client) key(peer string) string {
	if id, ok := nodeOf(peer); ok {
		return nodeKey(id)
	}
	peer = strings.ToLower(peer)
	return cmp.Or(c.names[peer], peer)
}

// enter returns the lane of a peer; leave gives it back. A lane outlives its
// last user by the gap it keeps.
func (c *Client) enter(peer string) *lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	peer = c.key(peer)
	for name, l := range c.lanes {
		if l.users == 0 && l.idle() {
			delete(c.lanes, name)
		}
	}
	if c.lanes == nil {
		c.lanes = map[string]*lane{}
	}
	l := c.lanes[peer]
	if l == nil {
		l = newLane()
		c.lanes[peer] = l
	}
	l.users++
	return l
}

func (c *Client) leave(l *lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.users--
}

// depart waits for the turn of a run to the peer and for a free slot. The run
// starts when depart returns and calls done when it has ended.
func (c *Client) depart(ctx context.Context, l *lane) (done func(), err error) {
	if err := take(ctx, l.turn); err != nil {
		return nil, err
	}
	defer func() { <-l.turn }()
	if err := l.clear(ctx, c.wait(laneGap)); err != nil {
		return nil, err
	}
	free, err := c.slot(ctx)
	if err != nil {
		return nil, err
	}
	this := &departure{start: time.Now(), ended: make(chan struct{})}
	l.last = this
	return func() { close(this.ended); free() }, nil
}

// clear waits until the last run keeps nobody waiting any more.
func (l *lane) clear(ctx context.Context, gap time.Duration) error {
	if l.last == nil {
		return nil
	}
	if err := pause(ctx, time.Until(l.last.start.Add(gap)), nil); err != nil {
		return err
	}
	return pause(ctx, time.Until(l.last.start.Add(laneStep)), l.last.ended)
}

// pause waits for a time to pass or for an early end.
func pause(ctx context.Context, d time.Duration, early <-chan struct{}) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-early:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func take(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// idle tells whether a lane without users may be forgotten.
func (l *lane) idle() bool { return l.last == nil || time.Since(l.last.start) > laneStep }
