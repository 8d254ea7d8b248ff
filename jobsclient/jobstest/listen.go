package jobstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"

	"google.golang.org/grpc/test/bufconn"
)

// Transport is what the daemon listens on.
type Transport int

// The transports.
const (
	Unix   Transport = iota // a socket; a request without token is refused
	TCP                     // a loopback port; a request without token is the operator's
	Memory                  // no socket at all: clients need DialOptions. Tokens as on Unix
)

// listener counts connections, and can make all of them hang or die.
type listener struct {
	net.Listener
	daemon *Daemon

	mu    sync.Mutex
	conns map[*wire]struct{}
}

func (d *Daemon) listen() (*listener, error) {
	inner, err := d.open()
	if err != nil {
		return nil, fmt.Errorf("listening for the jobs daemon: %w", err)
	}
	return &listener{Listener: inner, daemon: d, conns: map[*wire]struct{}{}}, nil
}

func (d *Daemon) open() (net.Listener, error) {
	switch d.options.Transport {
	case Memory:
		return bufconn.Listen(256 << 10), nil
	case TCP:
		return net.Listen("tcp", d.address)
	}
	if err := os.Remove(d.address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", d.address)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, nil
}

func (l *listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.daemon.accepts.Add(1)
	w := &wire{Conn: nc, daemon: l.daemon, number: l.daemon.accepts.Load(), gone: make(chan struct{})}
	w.forget = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, w)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[w] = struct{}{}
	return w, nil
}

// cut closes every connection.
func (l *listener) cut() {
	l.mu.Lock()
	conns := make([]*wire, 0, len(l.conns))
	for w := range l.conns {
		conns = append(conns, w)
	}
	l.mu.Unlock()
	for _, w := range conns {
		_ = w.Close()
	}
}

func (l *listener) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// wire is one connection to the daemon.
type wire struct {
	net.Conn
	daemon *Daemon
	number int64
	once   sync.Once
	gone   chan struct{}
	forget func()
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if !w.flows() {
		return 0, io.EOF
	}
	return n, err
}

func (w *wire) Write(b []byte) (int, error) {
	if !w.flows() {
		return 0, net.ErrClosed
	}
	return w.Conn.Write(b)
}

// flows waits while the daemon hangs, and tells whether the connection has
// outlived that.
func (w *wire) flows() bool {
	select {
	case <-w.daemon.hung.passed():
		return true
	case <-w.gone:
		return false
	}
}

func (w *wire) Close() error {
	var err error
	w.once.Do(func() {
		close(w.gone)
		w.forget()
		err = w.Conn.Close()
	})
	return err
}

// gate stops what passes through it while it is shut.
type gate struct {
	mu   sync.Mutex
	open chan struct{}
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) passed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		g.open = make(chan struct{})
	default:
	}
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// dialMemory is the dialer of a Memory transport's clients.
func (d *Daemon) dialMemory(ctx context.Context, _ string) (net.Conn, error) {
	d.mu.Lock()
	l := d.listener
	d.mu.Unlock()
	if l == nil {
		return nil, errors.New("the jobs daemon is not running")
	}
	return l.Listener.(*bufconn.Listener).DialContext(ctx)
}
