package jobsclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	// connectGrace is how long a call goes on trying to connect after the first
	// attempt that it caused has been refused: a daemon that is just being
	// restarted is back within it.
	connectGrace = time.Second

	// attemptTimeout bounds one attempt to connect, HTTP/2 greeting included.
	attemptTimeout = 5 * time.Second

	maxBackoff = 3 * time.Second
)

// conn is one connection to the daemon, opened by the first call that needs it
// and reopened by gRPC whenever it is lost.
type conn struct {
	cc      *grpc.ClientConn
	target  *target
	outcome *outcome

	// Guarded by the pool's mutex.
	users, streams, limit int
	retired               bool
}

func newConn(cfg Config, t *target, streamLimit int) (*conn, error) {
	out := &outcome{}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(credentialsFor(t, out)),
		grpc.WithContextDialer(dialerFor(t, out)),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithUserAgent("fantasytools"),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxBackoff},
			MinConnectTimeout: attemptTimeout,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(cfg.MaxReceive), grpc.ForceCodecV2(codec{})),
	}
	address := t.address
	if t.network == "unix" {
		address = "localhost"
		options = append(options, grpc.WithAuthority("localhost"))
	}
	// Escaped, since gRPC reads its target as a URL: an IPv6 zone has a percent sign.
	cc, err := grpc.NewClient("passthrough:///"+url.PathEscape(address), append(options, cfg.DialOptions...)...)
	if err != nil {
		return nil, err
	}
	return &conn{cc: cc, target: t, outcome: out, limit: streamLimit}, nil
}

// ready returns nil once the connection stands. It makes gRPC try at once,
// whatever its back-off says, and tells in plain words why it did not work out.
func (c *conn) ready(ctx context.Context) error {
	if c.cc.GetState() == connectivity.Ready {
		return nil
	}
	if err := c.target.checkSocket(); err != nil {
		return err
	}
	if c.cc.GetState() == connectivity.TransientFailure {
		// In no other state: it walks through gRPC's connections without a lock
		// (1.85), and only now is none of them being made.
		c.cc.ResetConnectBackoff()
	}
	grace, cancel := context.WithTimeout(ctx, connectGrace)
	defer cancel()
	if c.await(grace) {
		return nil
	}
	for ctx.Err() == nil {
		state := c.cc.GetState()
		switch {
		case state == connectivity.Ready:
			return nil
		case state == connectivity.Shutdown || c.outcome.err() != nil || state == connectivity.TransientFailure:
			return c.unreachable()
		}
		c.cc.WaitForStateChange(ctx, state)
	}
	switch {
	case c.outcome.err() != nil:
		return c.unreachable()
	case !c.outcome.tried():
		return &dialError{text: fmt.Sprintf("no connection to the jobs daemon at %s came about in that time", c.target.display)}
	}
	return &dialError{text: fmt.Sprintf("the jobs daemon at %s accepts connections but does not answer", c.target.display)}
}

func (c *conn) await(ctx context.Context) bool {
	for {
		state := c.cc.GetState()
		switch state {
		case connectivity.Ready:
			return true
		case connectivity.Shutdown:
			return false
		case connectivity.Idle:
			c.cc.Connect()
		}
		if !c.cc.WaitForStateChange(ctx, state) {
			return false
		}
	}
}

func (c *conn) unreachable() error {
	where := c.target.display
	err := c.outcome.err()
	var dns *net.DNSError
	switch {
	case err == nil && !c.outcome.tried():
		return &dialError{text: fmt.Sprintf("the jobs daemon at %s cannot be reached", where)}
	case err == nil:
		return &dialError{text: fmt.Sprintf("what listens at %s does not answer as a gRPC server: the jobs daemon hangs, or it is something else and the address is wrong", where)}
	case errors.Is(err, fs.ErrNotExist):
		return &dialError{text: fmt.Sprintf("the jobs daemon is not running: there is no socket at %s", where), err: err}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &dialError{text: fmt.Sprintf("the jobs daemon is not running: nothing listens at %s", where), err: err}
	case errors.Is(err, fs.ErrPermission):
		return notAllowed(c.target, err)
	case errors.As(err, &dns):
		return &dialError{text: fmt.Sprintf("the host name in %s cannot be resolved", where), err: err}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return &dialError{text: fmt.Sprintf("the jobs daemon at %s cannot be reached: the attempt to connect got no answer", where), err: err}
	}
	return &dialError{text: fmt.Sprintf("the jobs daemon at %s cannot be reached: %s", where, reason(err)), err: err}
}

// reason is the innermost text of a network error: what went wrong, without the
// addresses that stand before it.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}

// dialError tells that no connection came about, so nothing was sent.
type dialError struct {
	text      string
	permanent bool // trying again does not help
	err       error
}

func (e *dialError) Error() string { return e.text }
func (e *dialError) Unwrap() error { return e.err }

// checkSocket finds what is wrong with a socket's path and will not go away by
// waiting. connect(2) would report a plain file as a refused connection.
func (t *target) checkSocket() error {
	if t.network != "unix" {
		return nil
	}
	if limit := maxSocketPath(); len(t.address) > limit {
		return &dialError{permanent: true, text: fmt.Sprintf(
			"the socket path %s is %d bytes long, and this system allows %d: use a shorter path or a symbolic link", printable(t.address), len(t.address), limit)}
	}
	info, err := os.Stat(t.address)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return notAllowed(t, err)
	case info == nil: // it may come into being while the call waits
		return nil
	case info.IsDir():
		return &dialError{permanent: true, text: fmt.Sprintf("%s is a directory, not the socket of the jobs daemon", printable(t.address))}
	case info.Mode()&fs.ModeSocket == 0 && runtime.GOOS != "windows":
		return &dialError{permanent: true, text: fmt.Sprintf("%s is not a socket: check the address of the jobs daemon", printable(t.address))}
	}
	return nil
}

func notAllowed(t *target, err error) error {
	return &dialError{permanent: true, err: err, text: fmt.Sprintf("this user is not allowed to connect to %s, where the jobs daemon should be", printable(t.address))}
}

// maxSocketPath is the length of sockaddr_un.sun_path less the NUL at its end.
func maxSocketPath() int {
	switch runtime.GOOS {
	case "darwin", "ios", "freebsd", "netbsd", "openbsd", "dragonfly":
		return 103
	}
	return 107
}

// outcome is how the latest attempt to connect went, as far as it has gone: an
// attempt that has reached the host says nothing yet of the TLS handshake that
// failed before.
type outcome struct {
	mu        sync.Mutex
	some      bool
	last      error
	handshake bool // last is of a TLS handshake
}

// tried tells whether there was an attempt that this client made itself: a
// dialer from Config.DialOptions does not report.
func (o *outcome) tried() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.some
}

func (o *outcome) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

func (o *outcome) dialled(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.some = true
	if err != nil || !o.handshake {
		o.last, o.handshake = err, false
	}
}

func (o *outcome) shookHands(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last, o.handshake = nil, err != nil
	if err != nil {
		o.last = fmt.Errorf("TLS: %w", err)
	}
}

// dialerFor connects to t itself: gRPC would ask a proxy for host names, and
// read a path as a URL.
func dialerFor(t *target, out *outcome) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		var d net.Dialer
		nc, err := d.DialContext(ctx, t.network, t.address)
		out.dialled(err)
		return nc, err
	}
}

func credentialsFor(t *target, out *outcome) credentials.TransportCredentials {
	if !t.tls {
		return insecure.NewCredentials()
	}
	return recordingCredentials{credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}), out}
}

// recordingCredentials keeps the reason of a failed TLS handshake, which gRPC
// only gives out as text.
type recordingCredentials struct {
	credentials.TransportCredentials
	out *outcome
}

func (r recordingCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	nc, info, err := r.TransportCredentials.ClientHandshake(ctx, authority, raw)
	r.out.shookHands(err)
	return nc, info, err
}

func (r recordingCredentials) Clone() credentials.TransportCredentials {
	return recordingCredentials{r.TransportCredentials.Clone(), r.out}
}
