package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/embedded"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/worker"
)

// Daemon is a running daemon. Its methods are safe for concurrent use.
type Daemon struct {
	config Config
	logger *zap.Logger

	embedded *embedded.Server
	nc       *nats.Conn
	store    *store.Store
	front    *front.Front
	metrics  *metrics
	memory   *bufconn.Listener
	servers  []*http.Server
	urls     []string
	socket   string // to be removed

	metricsURL string

	stopWork context.CancelFunc // ends the worker, which drains
	abort    func()             // ends its jobs
	worked   chan struct{}      // closed when the worker has ended
	stopRest context.CancelFunc // ends what watches and keeps
	rest     sync.WaitGroup

	ending atomic.Bool // the connection to NATS is closed by us
	failed chan error  // the first failure
	once   sync.Once
	done   chan struct{}
	err    error // why it ended; set before done is closed
}

// Start starts a daemon. The context bounds the start alone; Shutdown ends the
// daemon.
func Start(ctx context.Context, c Config) (*Daemon, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	d := &Daemon{config: c, logger: c.Logger, done: make(chan struct{}), worked: make(chan struct{}), failed: make(chan error, 1), metrics: newMetrics()}
	d.stopWork, d.stopRest, d.abort = func() {}, func() {}, func() {}
	if err := d.start(ctx); err != nil {
		d.release()
		return nil, err
	}
	go d.supervise()
	return d, nil
}

// supervise ends the daemon when a part of it cannot go on.
func (d *Daemon) supervise() {
	select {
	case err := <-d.failed:
		d.end(context.Background(), err)
	case <-d.done:
	}
}

func (d *Daemon) start(ctx context.Context) error {
	if err := os.MkdirAll(d.config.StateDir, 0o700); err != nil {
		return fmt.Errorf("making the state directory: %w", err)
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	if d.config.Role != Worker {
		if err := d.startFront(ctx); err != nil {
			return err
		}
	}
	if err := d.startMetrics(); err != nil {
		return err
	}
	d.startWorker()
	return nil
}

// connect opens the state. A server in this process belongs to this process alone,
// so the workers that it knows of are dead, and so are their jobs.
func (d *Daemon) connect(ctx context.Context) (err error) {
	if d.config.NATS != "" {
		d.nc, err = d.dial()
	} else {
		if d.embedded, err = embedded.Start(embedded.Config{Dir: d.config.StateDir, Fsync: d.config.Fsync, Logger: d.logger}); err != nil {
			return err
		}
		d.nc, err = d.embedded.Connect(d.options()...)
	}
	if err != nil {
		return fmt.Errorf("connecting to NATS: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if d.store, err = store.Open(ctx, d.nc, d.config.store()); err != nil {
		return err
	}
	if d.embedded == nil {
		return nil
	}
	if err := d.store.TakeOver(ctx); err != nil {
		return fmt.Errorf("looking after the jobs of the last run: %w", err)
	}
	return nil
}

func (d *Daemon) options() []nats.Option {
	return []nats.Option{
		nats.Name("jobsd"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		// A server that hangs is left for another before the lease lapses.
		nats.PingInterval(max(cmp.Or(d.config.LeaseTTL, store.DefaultLeaseTTL)/6, 500*time.Millisecond)),
		nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				d.logger.Warn("NATS is gone; jobs go on and their ends are written when it is back", zap.Error(err))
			}
		}),
		nats.ClosedHandler(d.closed),
		nats.ReconnectHandler(func(*nats.Conn) { d.logger.Info("NATS is back") }),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			subject := ""
			if s != nil {
				subject = s.Subject
			}
			d.logger.Debug("NATS", zap.String("subject", subject), zap.Error(err))
		}),
	}
}

// closed ends the daemon with its connection: nats.go makes no other one where a
// server refuses it, and a daemon without state would refuse everything for ever.
func (d *Daemon) closed(nc *nats.Conn) {
	if d.ending.Load() {
		return
	}
	err := errors.New("the connection to NATS was closed and is not made again")
	if last := nc.LastError(); last != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}
	d.fail(err)
}

func (d *Daemon) dial() (*nats.Conn, error) {
	options := append(d.options(), nats.Timeout(5*time.Second))
	if d.config.NATSCreds != "" {
		options = append(options, nats.UserCredentials(d.config.NATSCreds))
	}
	nc, err := nats.Connect(d.config.NATS, options...)
	if err != nil {
		return nil, fmt.Errorf("%w; is a server with JetStream running at the address that -nats names?", withoutURL(err))
	}
	return nc, nil
}

func (d *Daemon) startFront(ctx context.Context) error {
	token, err := operatorToken(d.config.StateDir)
	if err != nil {
		return err
	}
	d.front = front.New(front.Config{
		Store: d.store, Agents: d.config.Agents, OperatorToken: token,
		MaxStdin: d.config.MaxStdin, MaxArgs: d.config.MaxArgs, Logger: d.logger, Observer: d.metrics,
	})
	rest, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stopRest = stop
	d.rest.Go(func() {
		if err := d.front.Run(rest); err != nil {
			d.fail(fmt.Errorf("watching the jobs: %w", err))
		}
	})
	d.rest.Go(func() { d.store.Keep(rest) })
	return d.listen()
}

// listen opens all that clients may connect to.
func (d *Daemon) listen() error {
	if d.config.Socket != "-" {
		l, err := listenUnix(d.config.Socket)
		if err != nil {
			return err
		}
		d.socket = d.config.Socket
		d.answer(l, server(d.front.Handler(false), d.logger, nil), "unix://"+d.config.Socket)
	}
	if d.config.Listen != "" {
		config, err := tlsConfig(d.config.TLSCert, d.config.TLSKey)
		if err != nil {
			return err
		}
		l, err := listenTCP(d.config.Listen)
		if err != nil {
			return err
		}
		scheme := "http://"
		if config != nil {
			scheme = "https://"
		}
		d.answer(l, server(d.front.Handler(true), d.logger, config), scheme+l.Addr().String())
	}
	if d.config.Memory {
		d.memory = bufconn.Listen(256 << 10)
		d.answer(d.memory, server(d.front.Handler(false), d.logger, nil), "http://jobsd")
	}
	if len(d.urls) == 0 {
		return errors.New("nobody could reach the daemon: it has no socket and no TCP address")
	}
	return writeFile(d.config.StateDir, addressFile, strings.Join(d.urls, "\n")+"\n")
}

func (d *Daemon) answer(l net.Listener, s *http.Server, url string) {
	d.servers = append(d.servers, s)
	d.urls = append(d.urls, url)
	d.rest.Go(func() {
		if err := serve(s, atMost(maxConnections, l)); err != nil {
			d.fail(fmt.Errorf("answering on %s: %w", url, err))
		}
	})
}

func (d *Daemon) startWorker() {
	if d.config.Role == Front {
		close(d.worked)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	abort := make(chan struct{})
	d.stopWork, d.abort = stop, sync.OnceFunc(func() { close(abort) })
	go func() {
		defer close(d.worked)
		err := worker.Run(ctx, worker.Config{
			Store: d.store, Agents: d.config.Agents, Slots: d.config.Slots, Drain: d.config.Drain, Abort: abort,
			MaxRunTime: d.config.MaxRunTime, Logger: d.logger, Observer: d.metrics,
		})
		if err != nil && ctx.Err() == nil {
			d.fail(fmt.Errorf("running jobs: %w", err))
		}
	}()
}

// URL returns the address for clients of this machine, in the form of OTTERSD_URL;
// "" for a worker.
func (d *Daemon) URL() string {
	if len(d.urls) == 0 {
		return ""
	}
	return d.urls[0]
}

// URLs returns all addresses.
func (d *Daemon) URLs() []string { return append([]string(nil), d.urls...) }

// MetricsURL returns the address below which /metrics and /healthz are; "" without
// Config.Metrics.
func (d *Daemon) MetricsURL() string { return d.metricsURL }

// DialOptions returns what a gRPC client needs to reach a daemon with
// Config.Memory, beside any URL over http.
func (d *Daemon) DialOptions() []grpc.DialOption {
	if d.memory == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return d.memory.DialContext(ctx) })}
}

// Done is closed when the daemon has ended, by Shutdown or by a failure.
func (d *Daemon) Done() <-chan struct{} { return d.done }

// Err returns why the daemon ended; nil after Shutdown, and while it runs.
func (d *Daemon) Err() error {
	select {
	case <-d.done:
		return d.err
	default:
		return nil
	}
}

// fail tells of a part that cannot go on.
func (d *Daemon) fail(err error) {
	d.logger.Error("the daemon ends", zap.Error(err))
	select {
	case d.failed <- err:
	default:
	}
}

// Shutdown ends the daemon. No new job is accepted or begun; jobs that run may go
// on for Config.Drain, are cancelled then, and say so. The end of the context
// cancels them at once. Pending jobs stay in the queue. When Shutdown returns
// nothing of the daemon is left.
func (d *Daemon) Shutdown(ctx context.Context) error {
	d.end(ctx, nil)
	<-d.done
	return d.err
}

func (d *Daemon) end(ctx context.Context, err error) {
	d.once.Do(func() {
		d.err = err
		if d.front != nil {
			d.front.Drain()
		}
		d.stopWork()
		stop := context.AfterFunc(ctx, d.abort)
		<-d.worked
		stop()
		d.release()
		close(d.done)
	})
}

const (
	// lastWords is how long watchers have, once the worker has ended, to hear of
	// its last jobs. Watches that are still open are ended then.
	lastWords = 250 * time.Millisecond

	// goodbye is how long all calls have to end.
	goodbye = 2 * time.Second
)

// release frees what the daemon holds.
func (d *Daemon) release() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	watches := time.AfterFunc(lastWords, d.stopRest)
	defer watches.Stop()
	var closing sync.WaitGroup
	for _, s := range d.servers {
		closing.Go(func() { shutdown(ctx, s) })
	}
	closing.Wait()
	d.stopRest()
	d.rest.Wait()
	if d.memory != nil {
		_ = d.memory.Close()
	}
	if d.socket != "" {
		_ = os.Remove(d.socket)
	}
	if d.nc != nil {
		d.ending.Store(true)
		d.nc.Close()
	}
	if d.embedded != nil {
		d.embedded.Stop()
	}
}
