package jobsclient_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func list(ctx context.Context) func(*jobsclient.Client) error {
	return func(c *jobsclient.Client) error { _, err := c.List(ctx, jobsclient.ListOptions{}); return err }
}

func TestEachThingThatIsWrongWithASocketHasItsOwnErrorWithThePath(t *testing.T) {
	dir := shortDir(t)
	stale := filepath.Join(dir, "stale.sock")
	l, err := net.Listen("unix", stale)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, path, text string }{
		{"missing", filepath.Join(dir, "none.sock"), "there is no socket at"},
		{"missing directory", filepath.Join(dir, "no", "none.sock"), "there is no socket at"},
		{"stale", stale, "nothing listens at"},
		{"a file", file, "is not a socket"},
		{"a directory", dir, "is a directory"},
		{"too long", filepath.Join(dir, strings.Repeat("x", 108)), "bytes long"},
		{"blanks and percent signs", filepath.Join(dir, "a b%20%zz.sock"), "there is no socket at"},
	}
	t.Run("a line break", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, jobsclient.Config{URL: "unix://" + filepath.Join(dir, "a\n\x1b[31mb.sock"), Token: "t0ken"})
		err := list(testContext(t))(c)
		if !errors.Is(err, jobsclient.ErrUnavailable) || strings.ContainsAny(err.Error(), "\n\x1b") || !strings.Contains(err.Error(), `a\n`) {
			t.Errorf("got %v", err)
		}
	})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, jobsclient.Config{URL: "unix://" + test.path, Token: "t0ken"})
			err := list(testContext(t))(c)
			if !errors.Is(err, jobsclient.ErrUnavailable) || !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), test.path) {
				t.Errorf("got %v", err)
			}
			plain(t, err)
		})
	}
}

func TestTheClientRecoversAtOnceWhenTheDaemonComesUp(t *testing.T) {
	for name, transport := range map[string]jobstest.Transport{"unix": jobstest.Unix, "tcp": jobstest.TCP, "memory": jobstest.Memory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := jobstest.New(t, on(transport, echo))
			cfg := d.Config()
			// Whoever waited for this back-off would not be back in time.
			cfg.DialOptions = append(cfg.DialOptions, grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{BaseDelay: time.Hour, MaxDelay: time.Hour}, MinConnectTimeout: time.Minute,
			}))
			c := newClient(t, cfg)
			for round := range 3 {
				d.Kill()
				if err := list(testContext(t))(c); !errors.Is(err, jobsclient.ErrUnavailable) {
					t.Fatalf("while it is down: %v", err)
				} else {
					plain(t, err)
				}
				if err := d.Restart(); err != nil {
					t.Fatal(err)
				}
				if err := list(testContext(t))(c); err != nil {
					t.Fatalf("round %d, after it came up: %v", round, err)
				}
			}
		})
	}
}

func TestACallDuringARestartSucceeds(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	ctx := testContext(t)
	if err := list(ctx)(c); err != nil {
		t.Fatal(err)
	}
	d.Stop()
	answer := make(chan error, 1)
	go func() { answer <- list(ctx)(c) }()
	if err := d.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

func TestAFirstCallThatWasCancelledIsNotRemembered(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	ended, end := context.WithCancel(context.Background())
	end()
	err := list(ended)(c)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
	plain(t, err)
	if err := list(testContext(t))(c); err != nil {
		t.Error(err)
	}
}

func TestAHungDaemonEndsEachCallWithinItsLimit(t *testing.T) {
	ctx := context.Background()
	calls := map[string]func(*jobsclient.Client) error{
		"Get": get(ctx, "job_1"), "List": list(ctx), "Cancel": cancel(ctx, "job_1"), "Submit": submit(ctx, "echo"), "Wait": wait(ctx, "job_1"),
	}
	for name, call := range calls {
		t.Run(name+" on a connection that stands", func(t *testing.T) {
			t.Parallel()
			d, c := impatient(t)
			if err := list(ctx)(c); err != nil {
				t.Fatal(err)
			}
			d.Hang()
			within(t, func() {
				err := call(c)
				if !errors.Is(err, jobsclient.ErrUnavailable) {
					t.Errorf("got %v", err)
				}
				plain(t, err)
			})
		})
		t.Run(name+" on a new connection", func(t *testing.T) {
			t.Parallel()
			d, c := impatient(t)
			d.Hang()
			within(t, func() {
				err := call(c)
				if !errors.Is(err, jobsclient.ErrUnavailable) || !strings.Contains(err.Error(), "does not answer") {
					t.Errorf("got %v", err)
				}
				plain(t, err)
			})
		})
	}
}

// impatient is a client whose calls give up soon, and yet not before a busy machine
// has connected it.
func impatient(t *testing.T) (*jobstest.Daemon, *jobsclient.Client) {
	t.Helper()
	d := jobstest.New(t, echo)
	cfg := d.Config()
	cfg.CallTimeout = 3 * time.Second
	return d, newClient(t, cfg)
}

func TestADaemonThatHangsFromTheStartIsNotTakenForAWrongAddressOnly(t *testing.T) {
	t.Parallel()
	d := jobstest.New(t, echo)
	d.Hang()
	within(t, func() {
		err := list(context.Background())(newClient(t, d.Config())) // with the default limits: gRPC gives the greeting up first
		if !errors.Is(err, jobsclient.ErrUnavailable) || !strings.Contains(err.Error(), "hangs") || !strings.Contains(err.Error(), d.Address()) {
			t.Errorf("got %v", err)
		}
		plain(t, err)
	})
}

func TestACallAfterAHungOneUsesAnotherConnection(t *testing.T) {
	t.Parallel()
	d, c := impatient(t)
	d.Inject(jobstest.Fault{Method: jobstest.MethodList, Hang: true, Times: 1})
	if err := list(context.Background())(c); !errors.Is(err, jobsclient.ErrUnavailable) {
		t.Errorf("the hung call: %v", err)
	}
	if err := list(context.Background())(c); err != nil {
		t.Errorf("the next: %v", err)
	}
	if calls := d.CallsOf(jobstest.MethodList); calls[0].Conn == calls[1].Conn {
		t.Error("both went over one connection")
	}
	if n := d.Accepts(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

func TestACallersOwnDeadlineIsItsOwn(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	if err := list(testContext(t))(c); err != nil {
		t.Fatal(err)
	}
	d.Hang()
	defer d.Resume()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := list(ctx)(c)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	plain(t, err)
}

func TestAListenerThatIsNoGRPCServerIsTold(t *testing.T) {
	greeter, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := greeter.Accept()
			if err != nil {
				return
			}
			_, _ = nc.Write([]byte("220 mail.example ESMTP\r\n"))
			_, _ = bufio.NewReader(nc).ReadString('\n')
			_ = nc.Close()
		}
	}()
	t.Cleanup(func() { _ = greeter.Close(); <-done })
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	h2 := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) }))
	h2.Config.Protocols = new(http.Protocols)
	h2.Config.Protocols.SetUnencryptedHTTP2(true)
	h2.Start()
	t.Cleanup(h2.Close)
	for name, url := range map[string]string{"mail": "http://" + greeter.Addr().String(), "HTTP/1.1": web.URL, "HTTP/2": h2.URL, "no TLS": strings.Replace(web.URL, "http", "https", 1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for call, f := range map[string]func(*jobsclient.Client) error{"List": list(context.Background()), "Wait": wait(context.Background(), "job_1")} {
				c := newClient(t, jobsclient.Config{URL: url, Token: "t0ken", CallTimeout: time.Second})
				within(t, func() {
					err := f(c)
					if !errors.Is(err, jobsclient.ErrUnavailable) || !strings.Contains(err.Error(), strings.TrimPrefix(strings.TrimPrefix(url, "https"), "http")) {
						t.Errorf("%s: %v", call, err)
					}
					plain(t, err)
				})
			}
		})
	}
}

func TestOneUserOfAClientMayCloseItTwiceAndCallsThenSaySo(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	other := newClient(t, d.Config())
	ctx := testContext(t)
	if err := list(ctx)(c); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, call := range []func(*jobsclient.Client) error{list(ctx), get(ctx, "job_1"), wait(ctx, "job_1"), cancel(ctx, "job_1"), submit(ctx, "echo")} {
		err := call(c)
		if !errors.Is(err, jobsclient.ErrClosed) || errors.Is(err, context.Canceled) {
			t.Errorf("after Close: %v", err)
		}
		plain(t, err)
	}
	if err := list(ctx)(other); err != nil {
		t.Errorf("another client: %v", err)
	}
}

func TestCloseEndsCallsThatAreUnderWay(t *testing.T) {
	d := jobstest.New(t, echo)
	id := d.AddJob(d.Agent(), jobsclient.Job{})
	d.Inject(jobstest.Fault{Method: jobstest.MethodGet, Hang: true})
	d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, Hang: true})
	for name, call := range map[string]func(*jobsclient.Client) error{
		"Get": get(context.Background(), id), "Wait": wait(context.Background(), id), "Submit": submit(context.Background(), "echo"),
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, d.Config())
			before := len(d.Calls())
			answer := make(chan error, 1)
			go func() { answer <- call(c) }()
			eventually(t, func() bool { return len(d.Calls()) > before })
			_ = c.Close()
			within(t, func() {
				if err := <-answer; !errors.Is(err, jobsclient.ErrClosed) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestDialOptionsWin(t *testing.T) {
	d := jobstest.New(t, echo)
	var dialled int
	cfg := d.Config()
	cfg.URL = "http://somewhere:1"
	cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		dialled++
		return new(net.Dialer).DialContext(ctx, "unix", d.Address())
	})}
	c := newClient(t, cfg)
	for range 2 {
		if err := list(testContext(t))(c); err != nil {
			t.Fatal(err)
		}
		d.Cut()
	}
	if err := list(testContext(t))(c); err != nil {
		t.Fatal(err)
	}
	if dialled != 3 {
		t.Errorf("dialled %d times, want once a connection: 3", dialled)
	}
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// within fails the test if f takes longer than patience.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("no end in sight")
	}
}

// eventually waits until the daemon has seen what the test needs.
func eventually(t *testing.T, seen func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !seen(); {
		if time.Now().After(deadline) {
			t.Fatal("it never happened")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestHTTPSIsTLS(t *testing.T) {
	d := jobstest.New(t, echo)
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	front.EnableHTTP2 = true
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	front.StartTLS()
	t.Cleanup(front.Close)
	cfg := d.Config()
	cfg.URL = front.URL
	err := list(testContext(t))(newClient(t, cfg))
	if !errors.Is(err, jobsclient.ErrUnavailable) || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("with a certificate of nobody: %v", err)
	}
	plain(t, err)

	roots := front.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	cfg.DialOptions = []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}))}
	err = list(testContext(t))(newClient(t, cfg))
	if !errors.Is(err, jobsclient.ErrUnavailable) || !strings.Contains(err.Error(), "HTTP status 200") {
		t.Errorf("with a certificate that is trusted, a web server: %v", err)
	}
}

// Only the first connection gets a handshake: what is told is why that failed, and
// not that the next attempt has no answer yet.
func TestAFailedHandshakeIsToldWhileTheNextAttemptGoesOn(t *testing.T) {
	d := jobstest.New(t, echo)
	front := httptest.NewUnstartedServer(http.NotFoundHandler())
	front.EnableHTTP2 = true
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	once := &firstOnly{Listener: front.Listener}
	front.Listener = once
	front.StartTLS()
	t.Cleanup(front.Close)
	cfg := d.Config()
	cfg.URL = front.URL
	c, ctx := newClient(t, cfg), testContext(t)
	for calls := 1; once.held() == 0 || calls < 2; calls++ {
		err := list(ctx)(c)
		if !errors.Is(err, jobsclient.ErrUnavailable) || !strings.Contains(err.Error(), "unknown authority") {
			t.Fatalf("call %d: %v", calls, err)
		}
	}
}

// firstOnly hands out one connection and lets all others wait.
type firstOnly struct {
	net.Listener
	mu      sync.Mutex
	accepts int
	waiting []net.Conn
}

func (l *firstOnly) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.accepts++
		if l.accepts == 1 {
			l.mu.Unlock()
			return nc, nil
		}
		l.waiting = append(l.waiting, nc)
		l.mu.Unlock()
	}
}

func (l *firstOnly) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, nc := range l.waiting {
		_ = nc.Close()
	}
	return l.Listener.Close()
}

func (l *firstOnly) held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
