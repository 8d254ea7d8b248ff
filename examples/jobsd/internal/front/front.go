package front

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// Defaults of Config's fields, in bytes.
const (
	DefaultMaxStdin = 16 << 20
	DefaultMaxArgs  = 256 << 10
)

// storeTime bounds what one call asks of the store. It is shorter than the 15 s
// that clients wait, so that they hear why.
const storeTime = 10 * time.Second

// limits are constants that tests shorten.
type limits struct {
	store time.Duration // storeTime
	ready time.Duration // readyTime
	quiet time.Duration // quiet
	list  int           // mostList
	hand  int64         // MaxInHand
	move  time.Duration // transferTime
}

// Agents tells who may call.
type Agents interface {
	ByToken(token string) (*agents.Agent, bool)
	ByName(name string) (*agents.Agent, bool)
}

// Observer hears what a Front does, for metrics. Its methods are called from
// many goroutines and must not block.
type Observer interface {
	// Call is told of each call that has ended: its name, such as Get; its code
	// in the words of gRPC, such as not_found, or ok; and how long it took. A
	// request that named no call of ours has the name unknown.
	Call(name, code string, took time.Duration)

	// Watches is told how many watches are open whenever that changes.
	Watches(open int)

	// Submitted is told of each job that was accepted.
	Submitted(agent string)
}

// Config says what a Front serves. Store and Agents are needed.
type Config struct {
	Store         *store.Store
	Agents        Agents
	OperatorToken string      // whose bearer sees and may do all; "": there is no operator
	MaxStdin      int         // bytes of a job's standard input; 0: DefaultMaxStdin (16 MiB)
	MaxArgs       int         // bytes of its args and labels together; 0: DefaultMaxArgs (256 KiB)
	Logger        *zap.Logger // nil: nothing is logged
	Observer      Observer    // nil: nothing is told
}

// Front answers the five calls. Its methods are safe for concurrent use.
type Front struct {
	Config
	feeds    feeds
	troubles troubles
	signals  signals
	budgets  budgets
	draining atomic.Bool
	watches  struct {
		sync.Mutex
		open int
	}

	mu       sync.Mutex
	ended    bool
	going    chan struct{}  // closed once Run ends
	inflight sync.WaitGroup // submissions, and the goroutines of feeds
	life     context.Context
	end      context.CancelFunc

	limits limits
	// changes is Store.Changes.
	changes func(ctx context.Context, begun func(), each func(agent, id string, r *jobsdpb.Record, rev uint64)) error
}

// New returns a Front. Its watches are told of changes only while Run runs.
func New(c Config) *Front {
	c.MaxStdin = cmp.Or(c.MaxStdin, DefaultMaxStdin)
	c.MaxArgs = cmp.Or(c.MaxArgs, DefaultMaxArgs)
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	if c.Observer == nil {
		c.Observer = silent{}
	}
	f := &Front{Config: c, going: make(chan struct{}), changes: c.Store.Changes}
	f.limits = limits{store: storeTime, ready: readyTime, quiet: quiet, list: mostList, hand: MaxInHand, move: transferTime}
	f.life, f.end = context.WithCancel(context.Background())
	return f
}

// Run tells watches of changes until the context ends. Then it ends them with
// Unavailable, refuses new ones and new submissions, and returns nil once the
// submissions that it had begun are done, which takes storeTime (10 s) at most.
// It is called once.
func (f *Front) Run(ctx context.Context) error {
	defer f.shut()
	const longest = time.Second
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, longest) {
		opened := time.Now()
		err := f.changes(ctx, f.feeds.lookAgain, f.changed)
		if ctx.Err() != nil {
			return nil
		}
		f.Logger.Warn("watches hear of no changes for a moment: the watch of the bucket of jobs is opened anew", zap.Error(err))
		if time.Since(opened) > longest {
			wait = 20 * time.Millisecond
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// changed passes a change on to those who watch the job.
func (f *Front) changed(agent, id string, r *jobsdpb.Record, rev uint64) {
	if r == nil || store.Terminal(r.GetStatus()) {
		f.signals.forget(id)
	}
	if feed := f.feeds.find(feedKey{agent, id}); feed != nil {
		feed.offer(r, rev)
	}
}

// Drain makes the Front refuse new submissions, and say at its health check that
// it is not serving. Watches and all else go on.
func (f *Front) Drain() { f.draining.Store(true) }

// enter counts something that Run waits for, unless it has ended.
func (f *Front) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.inflight.Add(1)
	}
	return !f.ended
}

func (f *Front) shut() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.Drain()
	close(f.going)
	f.end()
	done := make(chan struct{})
	go func() {
		f.inflight.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(f.limits.store + time.Second): // a consumer that JetStream does not let go of
		f.Logger.Warn("watches have not let go of JetStream yet")
	}
}

// silent is the Observer of a Front that has none.
type silent struct{}

func (silent) Call(string, string, time.Duration) {}
func (silent) Watches(int)                        {}
func (silent) Submitted(string)                   {}
