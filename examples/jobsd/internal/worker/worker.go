package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

const (
	// DefaultSlots is how many jobs a worker runs at once if its Config does not say.
	DefaultSlots = 10

	// MaxSlots is how many it may run at most.
	MaxSlots = 1024

	// DefaultDrain is how long running jobs may go on once the worker is to end.
	DefaultDrain = 30 * time.Second

	// lastWrites is how long the ends of jobs that were cancelled by a shutdown may
	// take to be written: it is more than killing a process may take.
	lastWrites = 15 * time.Second
)

// Agents knows what the jobs of an agent may run. It is asked when a job is
// claimed.
type Agents interface {
	ByName(agent string) (*agents.Agent, bool)
}

// Observer is told what the worker does, for metrics. Its methods are called from
// many goroutines and must not block.
type Observer interface {
	// JobStarted is called when a job was claimed.
	JobStarted()
	// JobEnded is called for each of those when it has left the worker, with the
	// status in its record, how long it ran and how many bytes it wrote.
	JobEnded(status string, ran time.Duration, output int64)
}

// Config says what a worker does. Store and Agents are required.
type Config struct {
	Store  *store.Store
	Agents Agents

	// Slots is how many jobs run at once. 0: DefaultSlots; at most MaxSlots.
	Slots int

	// Drain is how long running jobs may go on once the context has ended. 0:
	// DefaultDrain; negative: they are cancelled at once.
	Drain time.Duration

	// Abort, when it is closed, ends the worker and cancels its jobs at once. nil:
	// only the context ends it.
	Abort <-chan struct{}

	// MaxRunTime is how long a job may run. 0: the store's.
	MaxRunTime time.Duration

	Logger   *zap.Logger // nil: nothing is logged
	Observer Observer    // nil: nobody is told
}

func (c Config) withDefaults() (Config, error) {
	if c.Store == nil || c.Agents == nil {
		return c, errors.New("a worker needs a store and agents")
	}
	if c.Slots < 0 || c.Slots > MaxSlots {
		return c, fmt.Errorf("a worker has 1 to %d slots, not %d", MaxSlots, c.Slots)
	}
	c.Slots = cmp.Or(c.Slots, DefaultSlots)
	c.Drain = cmp.Or(c.Drain, DefaultDrain)
	c.MaxRunTime = cmp.Or(max(c.MaxRunTime, 0), c.Store.MaxRunTime)
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	return c, nil
}

type nobody struct{}

func (nobody) JobStarted() {}

func (nobody) JobEnded(string, time.Duration, int64) {}

// worker is one run of Run.
type worker struct {
	Config
	id         string
	aliveEvery time.Duration // how often the queue is told of running jobs
	lastWrites time.Duration

	mu       sync.Mutex
	jobs     map[string]*job      // that are being claimed or run, by id
	stopped  error                // why no job may go on any more; nil: they may
	suspects map[string]time.Time // jobs whose worker seemed dead, and when

	others sync.WaitGroup // goroutines beside the slots
}

// Run takes jobs and runs them until the context ends and all of them have
// ended, at the latest Config.Drain and some seconds later. It returns an error
// only if it could not begin, or if it had to end because the queue is gone; the
// jobs it had taken have ended then too.
func Run(ctx context.Context, c Config) error {
	w, err := newWorker(c)
	if err != nil {
		return err
	}
	return w.run(ctx)
}

func newWorker(c Config) (*worker, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &worker{
		Config: c, id: newID(), aliveEvery: store.AckWait / 3, lastWrites: lastWrites,
		jobs: map[string]*job{}, suspects: map[string]time.Time{},
	}
	w.Logger = c.Logger.With(zap.String("worker", w.id))
	return w, nil
}

// run has two contexts beside the caller's: accepting ends when no more jobs are
// to be taken, life when nothing more is to be done for those that were.
func (w *worker) run(ctx context.Context) error {
	accepting, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	w.others.Go(func() { w.shutdown(accepting, life, refuse, end) })
	if w.ready(accepting, life) {
		w.others.Go(func() { w.tick(life) })
		w.Logger.Info("the worker takes jobs", zap.Int("slots", w.Slots))
		var slots sync.WaitGroup
		for range w.Slots {
			slots.Go(func() { w.slot(accepting, life, refuse) })
		}
		slots.Wait()
	}
	end()
	w.others.Wait()
	w.Logger.Info("the worker has ended")
	if err := context.Cause(accepting); errors.Is(err, errNoQueue) {
		return err
	}
	return nil
}

var errNoQueue = errors.New("the worker ended because the queue of jobs is gone")

// Why jobs end before their time. The texts are the error in their records.
var (
	errCancelled = errors.New("")
	errAborted   = errors.New("cancelled: the worker was shut down at once")
	errDeclared  = errors.New("the worker was declared dead")
)

// shutdown ends the jobs when they have had their time to drain, and the
// worker's life when they have had theirs to be written.
func (w *worker) shutdown(accepting, life context.Context, refuse context.CancelCauseFunc, end func()) {
	cause := errAborted
	select {
	case <-life.Done():
		return
	case <-w.Abort:
	case <-accepting.Done():
		w.Logger.Info("no more jobs are taken", zap.Int("running", w.running()), zap.Duration("grace period", max(w.Drain, 0)))
		timer := time.NewTimer(max(w.Drain, 0))
		defer timer.Stop()
		select {
		case <-life.Done():
			return
		case <-w.Abort:
		case <-timer.C:
			cause = fmt.Errorf("cancelled: the worker was shut down, after a grace period of %s", max(w.Drain, 0))
		}
	}
	refuse(errAborted)
	w.stopJobs(cause)
	timer := time.NewTimer(w.lastWrites)
	defer timer.Stop()
	select {
	case <-life.Done():
	case <-timer.C:
		w.Logger.Error("the ends of some jobs could not be written in time; they will be orphaned", zap.Int("jobs", w.running()))
		end()
	}
}

// ready waits until orders are heard and the lease is held, and reports whether
// jobs may be claimed.
func (w *worker) ready(accepting, life context.Context) bool {
	listening, leased := make(chan struct{}), make(chan struct{})
	w.others.Go(func() { w.listen(life, listening) })
	w.others.Go(func() { w.hold(life, leased) })
	for _, begun := range []chan struct{}{listening, leased} {
		select {
		case <-begun:
		case <-accepting.Done():
			return false
		}
	}
	return true
}

// slot runs one job after the other.
func (w *worker) slot(accepting, life context.Context, refuse context.CancelCauseFunc) {
	for accepting.Err() == nil { // a pull in an ended context may take a job all the same
		d, err := w.Store.Next(accepting)
		switch {
		case accepting.Err() != nil && d == nil:
			return
		case err != nil:
			w.Logger.Error("the queue of jobs is gone; the worker ends", zap.Error(err))
			refuse(fmt.Errorf("%w: %w", errNoQueue, err))
			return
		case accepting.Err() != nil:
			w.back(d, 0)
			return
		}
		if j := w.admit(life, d); j != nil {
			w.work(life, j)
		}
	}
}

// tick tells the queue that the jobs are being worked on.
func (w *worker) tick(life context.Context) {
	ticker := time.NewTicker(w.aliveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-life.Done():
			return
		case <-ticker.C:
		}
		for id, d := range w.deliveries() {
			if err := d.Alive(); err != nil {
				w.Logger.Debug("the queue does not hear of a running job", zap.String("job", id), zap.Error(err))
			}
		}
	}
}

// hold keeps the lease.
func (w *worker) hold(life context.Context, leased chan<- struct{}) {
	host, _ := os.Hostname()
	lease := &jobsdpb.Worker{
		Id: w.id, Host: host, Pid: int32(os.Getpid()), Slots: int32(w.Slots), Started: time.Now().UnixNano(),
	}
	w.Store.Hold(life, lease, store.Holder{
		Running: w.running,
		Begun:   func() { close(leased) },
		Lapsed:  func() { w.others.Go(func() { w.lookAfter(life) }) },
	})
}

// listen hears the orders, all that are kept from the first on whenever it has to
// begin anew.
func (w *worker) listen(life context.Context, listening chan<- struct{}) {
	begun := sync.OnceFunc(func() { close(listening) })
	for wait := 50 * time.Millisecond; life.Err() == nil; wait = min(2*wait, time.Second) {
		err := w.Store.Orders(life, w.id, begun, w.obey)
		if life.Err() != nil {
			return
		}
		w.Logger.Warn("orders are not heard for a moment", zap.Error(err))
		pause(life, wait)
	}
}

func (w *worker) obey(id, what string) {
	if what != store.OrderCancel {
		w.Logger.Warn("an order is not known", zap.String("job", id))
		return
	}
	if j := w.find(id); j != nil && j.ctx.Err() == nil {
		w.Logger.Info("a job is cancelled", zap.String("job", id))
		j.stop(errCancelled)
	}
}

// pause waits, at most until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
