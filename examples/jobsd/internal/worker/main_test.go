//go:build unix

package worker

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
	"github.com/fantasytools/fantasytools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon bounds what should be immediate, on a loaded machine. It is shorter than
// AckWait, so that a job that only comes back after that is noticed.
const soon = store.AckWait * 2 / 3

// jetStream is a server of the test's own, which can be stopped and started.
type jetStream struct {
	t    testing.TB
	opts server.Options
	mu   sync.Mutex
	up   *server.Server
}

func newJetStream(t testing.TB, maxPayload int32) *jetStream {
	t.Helper()
	j := &jetStream{t: t, opts: server.Options{
		DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, MaxPayload: maxPayload,
	}}
	j.start()
	t.Cleanup(j.stop)
	return j
}

func (j *jetStream) start() {
	j.t.Helper()
	opts := j.opts
	s, err := server.NewServer(&opts)
	if err != nil {
		j.t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(soon) {
		j.t.Fatal("the NATS server does not come up")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.up = s
}

func (j *jetStream) stop() {
	j.mu.Lock()
	s := j.up
	j.up = nil
	j.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// InProcessConn makes it what nats.go connects to, again after each start.
func (j *jetStream) InProcessConn() (net.Conn, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.up == nil {
		return nil, errors.New("the server is down")
	}
	return j.up.InProcessConn()
}

// bench is what a test needs around workers.
type bench struct {
	*testing.T
	ctx    context.Context // of the test
	js     jetstream.JetStream
	store  *store.Store
	agents *agents.Registry
	dir    string // where the jobs run

	mu      sync.Mutex
	records map[string]*jobsdpb.Record
	changed chan struct{} // closed and replaced at each change
}

func newBench(t *testing.T, c store.Config) *bench {
	t.Helper()
	return benchOn(t, newJetStream(t, 0), c)
}

func benchOn(t *testing.T, j *jetStream, c store.Config) *bench {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(j), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 3*soon)
	t.Cleanup(cancel)
	s, err := store.Open(ctx, nc, c)
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, ctx: ctx, js: js, store: s, dir: t.TempDir(), records: map[string]*jobsdpb.Record{}, changed: make(chan struct{})}
	b.agents = b.registry()
	b.watch()
	return b
}

func (b *bench) registry() *agents.Registry {
	b.Helper()
	missing := filepath.Join(b.dir, "missing")
	if err := os.WriteFile(missing, []byte("#!/bin/sh\n"), 0o755); err != nil {
		b.Fatal(err)
	}
	sh := tool.Def{Binary: "sh", Args: []string{"-c"}, Env: []string{"FOR_JOBS=yes"}}
	slow := sh
	slow.Timeout = 300 * time.Millisecond
	r, err := agents.New(agents.Agent{Name: "me", Bins: map[string]*agents.Bin{
		"sh":      {Def: sh, Path: "/bin/sh", Dir: b.dir},
		"slow":    {Def: slow, Path: "/bin/sh", Dir: b.dir},
		"echo":    {Def: tool.Def{Binary: "/bin/echo"}, Path: "/bin/echo", Dir: b.dir},
		"missing": {Def: tool.Def{Binary: missing}, Path: missing, Dir: b.dir},
	}})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.Remove(missing); err != nil {
		b.Fatal(err)
	}
	return r
}

// watch keeps b.records up to date.
func (b *bench) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		err := b.store.Changes(ctx, func() { close(begun) }, func(_, id string, r *jobsdpb.Record, _ uint64) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.records[id] = r
			close(b.changed)
			b.changed = make(chan struct{})
		})
		if err != nil && !errors.Is(err, store.ErrUnavailable) { // as it is after an outage
			b.Error(err)
		}
	}()
	<-begun
	b.Cleanup(func() { cancel(); <-ended })
}

// await returns the record of a job once it is as wanted.
func (b *bench) await(id string, wanted func(*jobsdpb.Record) bool) *jobsdpb.Record {
	b.Helper()
	for {
		b.mu.Lock()
		r, changed := b.records[id], b.changed
		b.mu.Unlock()
		if r != nil && wanted(r) {
			return r
		}
		select {
		case <-changed:
		case <-b.ctx.Done():
			b.Fatalf("the job is still %v", r)
		}
	}
}

func (b *bench) end(id string) *jobsdpb.Record {
	b.Helper()
	return b.await(id, func(r *jobsdpb.Record) bool { return store.Terminal(r.GetStatus()) })
}

func (b *bench) running(id string) *jobsdpb.Record {
	b.Helper()
	return b.await(id, func(r *jobsdpb.Record) bool { return r.GetStatus() == store.Running })
}

// submit submits a job of the agent "me", with the rest as its arguments.
func (b *bench) submit(bin string, args ...string) string {
	b.Helper()
	return b.submitStdin(nil, bin, args...)
}

func (b *bench) submitStdin(stdin []byte, bin string, args ...string) string {
	b.Helper()
	r := &jobsdpb.Record{Id: "job_" + uuid.NewString(), Agent: "me", Bin: bin, Args: args}
	if err := b.store.Submit(b.ctx, r, stdin); err != nil {
		b.Fatal(err)
	}
	return r.GetId()
}

// output returns what is kept of a stream.
func (b *bench) output(r *jobsdpb.Record, name store.Stream) *store.Buffer {
	b.Helper()
	buf, err := b.store.Output(b.ctx, r, name)
	if err != nil {
		b.Fatal(err)
	}
	return buf
}

func (b *bench) stdout(r *jobsdpb.Record) string {
	b.Helper()
	return string(b.output(r, store.Stdout).Head())
}

// next takes a job from the queue as a worker does.
func (b *bench) next() *store.Delivery {
	b.Helper()
	d, err := b.store.Next(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// emptyQueue waits until no job is in the queue.
func (b *bench) emptyQueue() {
	b.Helper()
	b.eventually("the queue to be empty", func() bool {
		n, err := b.store.Queued(b.ctx)
		return err == nil && n == 0
	})
}

// withdraw takes a job's record away.
func (b *bench) withdraw(id string) {
	b.Helper()
	jobs, err := b.js.KeyValue(b.ctx, "jobsd-jobs")
	if err == nil {
		err = jobs.Purge(b.ctx, "me."+id)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// deleteQueue takes away what workers pull from.
func (b *bench) deleteQueue() {
	b.Helper()
	if err := b.js.DeleteConsumer(b.ctx, "jobsd-queue", "workers"); err != nil {
		b.Fatal(err)
	}
}

// now returns a job's record as it is.
func (b *bench) now(id string) *jobsdpb.Record {
	b.Helper()
	r, _, err := b.store.Get(b.ctx, "me", id)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// eventually waits for what nobody tells of.
func (b *bench) eventually(what string, is func() bool) {
	b.Helper()
	for deadline := time.Now().Add(soon); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("waited in vain for %s", what)
		}
	}
}

// gate makes a named pipe in the jobs' directory. A job waits at it with
// `read x <NAME`; open returns once one waits, and lets it go on when it is called
// in turn.
func (b *bench) gate(name string) (open func() (release func())) {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		b.Fatal(err)
	}
	return func() func() {
		b.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			b.Fatal(err)
		}
		return func() { _ = f.Close() }
	}
}

// run starts a worker. It is ended with the test, and by end.
func (b *bench) run(c Config) *runner {
	b.Helper()
	return b.runWith(c, func(*worker) {})
}

// runWith starts a worker that edit has changed.
func (b *bench) runWith(c Config, edit func(*worker)) *runner {
	b.Helper()
	c.Store, c.Agents = b.store, b.agents
	if c.Logger == nil {
		c.Logger = zaptest.NewLogger(b)
	}
	r := &runner{b: b, seen: &seen{ended: map[string]int{}}, ended: make(chan struct{})}
	c.Observer = r.seen
	w, err := newWorker(c)
	if err != nil {
		b.Fatal(err)
	}
	edit(w)
	r.worker = w
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() {
		defer close(r.ended)
		r.err = w.run(ctx)
	}()
	b.Cleanup(func() {
		if err := r.end(); err != nil {
			b.Error(err)
		}
	})
	return r
}

type runner struct {
	*worker
	b      *bench
	seen   *seen
	cancel func()
	ended  chan struct{}
	err    error
}

// end ends the worker and waits for that.
func (r *runner) end() error {
	r.cancel()
	return r.wait()
}

func (r *runner) wait() error {
	select {
	case <-r.ended:
	case <-time.After(2 * soon):
		r.b.Fatal("the worker does not end")
	}
	return r.err
}

// seen counts what an Observer sees.
type seen struct {
	mu      sync.Mutex
	started int
	ended   map[string]int // by status
	bytes   int64
}

func (s *seen) JobStarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
}

func (s *seen) JobEnded(status string, _ time.Duration, output int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[status]++
	s.bytes += output
}

func (s *seen) count(status string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[status]
}

// alive tells whether a process exists and is not a zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
