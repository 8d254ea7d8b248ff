package jobsclient

import (
	"slices"
	"sync"
)

const (
	// sharedStreams is how many watches go over the connection of the unary
	// calls. A server should allow at least 100 streams a connection (RFC 9113,
	// 6.5.2), so the calls keep most of them.
	sharedStreams = 16

	// ownStreams is how many watches go over one of the other connections.
	ownStreams = 100
)

// pool holds the client's connections: one for unary calls and the first
// watches, and others, as many as are needed, for watches only.
type pool struct {
	open func(streamLimit int) (*conn, error)

	mu     sync.Mutex
	conns  []*conn
	shared *conn // one of conns, or nil
	closed bool

	// How many watches a new connection takes; less once a server has granted
	// less.
	sharedLimit, ownLimit int
}

func newPool(open func(streamLimit int) (*conn, error)) *pool {
	return &pool{open: open, sharedLimit: sharedStreams, ownLimit: ownStreams}
}

// forCall returns the connection of unary calls. The caller releases it.
func (p *pool) forCall() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, err := p.sharedConn()
	if err != nil {
		return nil, err
	}
	c.users++
	return c, nil
}

// forStream returns a connection with room for one more watch. The caller
// releases it with releaseStream.
func (p *pool) forStream() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, err := p.sharedConn()
	if err != nil {
		return nil, err
	}
	if c.streams >= c.limit {
		if c, err = p.streamConn(); err != nil {
			return nil, err
		}
	}
	c.users++
	c.streams++
	return c, nil
}

func (p *pool) sharedConn() (*conn, error) {
	if p.closed {
		return nil, ErrClosed
	}
	if p.shared == nil {
		c, err := p.add(p.sharedLimit)
		if err != nil {
			return nil, err
		}
		p.shared = c
	}
	return p.shared, nil
}

func (p *pool) streamConn() (*conn, error) {
	for _, c := range p.conns {
		if c != p.shared && !c.retired && c.streams < c.limit {
			return c, nil
		}
	}
	return p.add(p.ownLimit)
}

func (p *pool) add(streamLimit int) (*conn, error) {
	c, err := p.open(streamLimit)
	if err != nil {
		return nil, err
	}
	p.conns = append(p.conns, c)
	return c, nil
}

func (p *pool) release(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(c)
}

func (p *pool) releaseStream(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.streams--
	p.drop(c)
}

// drop ends one use of c. A connection that nobody uses is closed, unless it is
// the shared one.
func (p *pool) drop(c *conn) {
	c.users--
	if c.users > 0 || c == p.shared {
		return
	}
	p.conns = slices.DeleteFunc(p.conns, func(other *conn) bool { return other == c })
	_ = c.cc.Close()
}

// full notes that the server grants c no more streams than it has. A shared
// connection that is full is left to its watches, so that calls get a new one.
func (p *pool) full(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c == p.shared {
		p.sharedLimit = 0
		p.replaceShared()
	}
	c.limit = max(1, c.streams-1)
	p.ownLimit = min(p.ownLimit, c.limit)
}

// retire takes c out of use: what is under way on it may go on, what comes
// opens another connection.
func (p *pool) retire(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.retired = true
	if c == p.shared {
		p.replaceShared()
	}
}

// replaceShared makes the next call open a new shared connection. The present
// one ends with its last user, and there is one: whoever asks for this.
func (p *pool) replaceShared() { p.shared = nil }

// close closes every connection; calls under way end with an error.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		_ = c.cc.Close()
	}
}
