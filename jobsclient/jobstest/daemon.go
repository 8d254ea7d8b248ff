package jobstest

import (
	"context"
	"crypto/rand"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/fantasytools/fantasytools/jobsclient"
)

// Options say how a Daemon runs. The zero value is a unix socket, no BINs, and
// watches that report each change at once.
type Options struct {
	Transport Transport

	// Address is the socket's path, or host:port. "": a new path, or a free
	// loopback port.
	Address string

	// Bins are what every agent may run, by name.
	Bins map[string]Bin

	// WatchInterval is how often a watch looks for changes; 0: it is told at
	// once. The real daemon's is 250 ms.
	WatchInterval time.Duration

	// MaxRunning is how many jobs run at once, of all agents together; the others
	// are pending. 0: 10, as at the real daemon.
	MaxRunning int

	// MaxStreams is how many calls one connection carries at once. 0: 250, as at
	// the real daemon.
	MaxStreams int

	// ForgetCalls switches the record of Calls off, for benchmarks.
	ForgetCalls bool
}

func (o Options) withDefaults() Options {
	if o.MaxRunning <= 0 {
		o.MaxRunning = 10
	}
	if o.MaxStreams <= 0 {
		o.MaxStreams = 250
	}
	return o
}

// Daemon is a fake jobs daemon. Its methods are safe for concurrent use.
type Daemon struct {
	options Options
	address string
	tempDir string
	key     []byte // signs tokens; survives restarts, as the real one does
	agent   *Agent

	accepts  atomic.Int64
	watches  atomic.Int64
	hung     *gate
	handlers sync.WaitGroup // requests under way
	jobs     sync.WaitGroup // processes under way

	mu      sync.Mutex
	serving // zero while the daemon is down
	agents  []*Agent
	revoked map[string]bool // ids of tokens
	rows    []*row
	byID    map[string]*row
	queue   []*row            // pending, in the order in which they came
	runs    map[*run]struct{} // processes, also those that outlived their daemon
	created int
	change  chan struct{} // closed at the next change of a row
	calls   []*Call
	faults  []*fault
}

// New starts a Daemon that ends with the test.
func New(t testing.TB, o Options) *Daemon {
	t.Helper()
	d, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// Start starts a Daemon. Close ends it.
func Start(o Options) (*Daemon, error) {
	d := &Daemon{
		options: o.withDefaults(),
		address: o.Address,
		key:     []byte(rand.Text()),
		hung:    newGate(),
		revoked: map[string]bool{},
		byID:    map[string]*row{},
		runs:    map[*run]struct{}{},
		change:  make(chan struct{}),
	}
	d.agent = d.AddAgent("agent", AllCapabilities()...)
	if err := d.chooseAddress(); err != nil {
		return nil, err
	}
	if err := d.Restart(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Daemon) chooseAddress() error {
	switch {
	case d.address != "" || d.options.Transport == Memory:
		return nil
	case d.options.Transport == TCP:
		d.address = "127.0.0.1:0"
		return nil
	}
	dir, err := os.MkdirTemp("", "jobs") // shorter than a test's own: a socket's path has about 100 bytes
	d.tempDir, d.address = dir, filepath.Join(dir, "d.sock")
	return err
}

// URL returns the daemon's address in the form of OTTERSD_URL.
func (d *Daemon) URL() string {
	switch d.options.Transport {
	case Memory:
		return "http://jobstest"
	case TCP:
		return "http://" + d.Address()
	}
	return "unix://" + d.address
}

// Address returns the socket's path, or host:port.
func (d *Daemon) Address() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.address
}

// DialOptions returns what a client needs beside the URL: nothing, except for
// the Memory transport.
func (d *Daemon) DialOptions() []grpc.DialOption {
	if d.options.Transport != Memory {
		return nil
	}
	return []grpc.DialOption{grpc.WithContextDialer(d.dialMemory)}
}

// Agent returns the agent that exists from the start, with all capabilities.
func (d *Daemon) Agent() *Agent { return d.agent }

// Token returns the token of Agent.
func (d *Daemon) Token() string { return d.agent.Token() }

// Config returns what a client of Agent needs.
func (d *Daemon) Config() jobsclient.Config {
	return jobsclient.Config{URL: d.URL(), Token: d.Token(), DialOptions: d.DialOptions()}
}

// Setenv sets the daemon's address and the token of Agent in the environment
// until the test ends, as the daemon does for an agent. Not for Memory.
func (d *Daemon) Setenv(t testing.TB) {
	t.Helper()
	if d.options.Transport == Memory {
		t.Fatal("a daemon in memory cannot be reached by its URL: use Unix or TCP")
	}
	t.Setenv(jobsclient.EnvDaemonURL, d.URL())
	t.Setenv(jobsclient.EnvAgentToken, d.Token())
}

// Restart brings the daemon up again, at the same address and with the jobs it
// knew; one that is up is killed first. Jobs that were running are orphaned,
// those that were pending run, or end as errors if their agent is not ready.
func (d *Daemon) Restart() error {
	d.Kill()
	l, err := d.listen()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.options.Transport == TCP {
		d.address = l.Addr().String()
	}
	g := d.service()
	d.serving = serving{listener: l, grpc: g, http: d.server(g), served: make(chan struct{})}
	d.orphan()
	d.refuseUnprepared()
	d.dispatch()
	go func(s *http.Server, l net.Listener, served chan struct{}) {
		defer close(served)
		_ = s.Serve(l)
	}(d.http, l, d.served)
	return nil
}

func (d *Daemon) server(inner *grpc.Server) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:     d.front(inner),
		Protocols:   &protocols,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: d.options.MaxStreams},
		ConnContext: func(ctx context.Context, nc net.Conn) context.Context { return context.WithValue(ctx, wireKey{}, nc) },
		ErrorLog:    log.New(io.Discard, "", 0),
	}
}

type wireKey struct{}

// Kill ends the daemon as SIGKILL does: connections break, the socket's file
// stays, jobs stay as they are until Restart, and real processes go on.
func (d *Daemon) Kill() {
	d.mu.Lock()
	for r := range d.runs {
		r.lose()
	}
	p := d.detach()
	d.mu.Unlock()
	d.down(p)
}

// Stop ends the daemon as SIGTERM does: running jobs are cancelled, watches
// break mostly without having heard of it, and the socket's file is removed.
func (d *Daemon) Stop() {
	d.mu.Lock()
	for r := range d.runs {
		if !r.lost {
			d.finish(r, func(w *row) { w.Status = string(jobsclient.Cancelled) })
			r.kill()
		}
	}
	p := d.detach()
	d.mu.Unlock()
	d.down(p)
	if d.options.Transport == Unix {
		_ = os.Remove(d.address)
	}
}

// serving is what answers while the daemon is up.
type serving struct {
	listener *listener
	http     *http.Server
	grpc     *grpc.Server
	served   chan struct{} // closed when http serves no more
}

// detach takes the daemon down for its jobs: none is started from here on. The
// daemon's mutex is held since its jobs were ended, so that the slots they leave
// are nobody's.
func (d *Daemon) detach() serving {
	p := d.serving
	d.serving = serving{}
	return p
}

// down takes the daemon down for its clients.
func (d *Daemon) down(p serving) {
	if p.listener == nil {
		return
	}
	_ = p.listener.Close()
	p.listener.cut()
	_ = p.http.Close()
	p.grpc.Stop()
	<-p.served
	p.listener.cut() // a connection that was being accepted
	d.handlers.Wait()
	d.hung.release()
}

// Cut breaks all connections; the daemon goes on.
func (d *Daemon) Cut() {
	d.mu.Lock()
	l := d.listener
	d.mu.Unlock()
	if l != nil {
		l.cut()
	}
}

// Hang makes the daemon stand still as SIGSTOP does: connections are made and
// stay, and nothing is read or answered, until Resume or the daemon's end.
func (d *Daemon) Hang() { d.hung.shut() }

// Resume ends Hang.
func (d *Daemon) Resume() { d.hung.release() }

// Close ends the daemon for good, with all processes, and removes its socket. A
// Bin.Run must have returned a moment after its context has ended: Close waits
// for it.
func (d *Daemon) Close() {
	d.Kill()
	d.mu.Lock()
	for r := range d.runs {
		r.kill()
	}
	d.mu.Unlock()
	d.jobs.Wait()
	if d.options.Transport == Unix && d.address != "" {
		_ = os.Remove(d.address)
	}
	if d.tempDir != "" {
		_ = os.RemoveAll(d.tempDir)
	}
}
