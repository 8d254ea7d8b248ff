package daemon

import (
	"net"
	"sync"
)

// maxConnections is how many connections a listener has at a time. What connects
// without a token costs a file descriptor, which jobs and their state need, too.
const maxConnections = 2048

// crowd is a listener that closes connections beyond a number at once.
type crowd struct {
	net.Listener
	room chan struct{}
}

func atMost(n int, l net.Listener) net.Listener { return crowd{l, make(chan struct{}, n)} }

func (c crowd) Accept() (net.Conn, error) {
	for {
		nc, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case c.room <- struct{}{}:
			return &member{nc, sync.OnceFunc(func() { <-c.room })}, nil
		default:
			_ = nc.Close()
		}
	}
}

// member is a connection that makes room when it is closed.
type member struct {
	net.Conn
	leave func()
}

func (m *member) Close() error {
	defer m.leave()
	return m.Conn.Close()
}
