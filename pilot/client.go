package pilot

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/internal/run"
)

// DefaultMaxConcurrent is how many pilotctl processes a Client runs at a time
// where nothing else is asked for.
const DefaultMaxConcurrent = 8

// Client runs the verbs of pilotctl. The zero value works: it finds pilotctl
// by itself and speaks to the daemon that pilotctl finds. Fields are set before
// the first call and not changed afterwards. A Client is safe for concurrent
// use, holds nothing open between calls and must not be copied.
//
// Every method returns either a result or an error; the error is an *Error,
// save when the caller's own context has ended: then it is the context's.
// No method ever repeats what pilotctl did.
type Client struct {
	// Binary is the pilotctl to run: a path, or a name to look for in PATH.
	// Empty: the file that $PILOTCTL names, else pilotctl in PATH, else
	// ~/.pilot/bin/pilotctl.
	Binary string

	// Home is the home directory of the daemon's user, the HOME of the child:
	// pilotctl reads the mailbox under it. Empty: the process's own HOME.
	Home string

	// Socket is the daemon's socket, the PILOT_SOCKET of the child. Empty:
	// what the environment or pilotctl's configuration say.
	Socket string

	// FileRoot is the directory that SendFile sends from: relative paths start
	// there, and nothing outside it is sent. Empty: the working directory.
	FileRoot string

	// MaxConcurrent is how many pilotctl processes run at a time; further
	// calls wait. 0: DefaultMaxConcurrent.
	MaxConcurrent int

	// Logger is told of each run of pilotctl at debug level, without message
	// texts. nil: nothing is logged.
	Logger *zap.Logger

	child func(context.Context, run.Command) (*run.Result, error) // nil: run.Run
	hurry int                                                     // divides, in tests, the waits between runs
	stops int                                                     // divides, in tests, the timers of runs

	mu    sync.Mutex
	slots chan struct{}
	lanes map[string]*lane
	names map[string]string // hostname to node id, as far as seen

	cannot bool // pilotctl was seen not to wait for replies

	asking  chan struct{} // held while the version is asked for
	release generation    // under asking
}

func (c *Client) logger() *zap.Logger {
	if c.Logger == nil {
		return zap.NewNop()
	}
	return c.Logger
}

func (c *Client) wait(d time.Duration) time.Duration { return d / time.Duration(max(c.hurry, 1)) }

func (c *Client) timer(d time.Duration) time.Duration { return d / time.Duration(max(c.stops, 1)) }

// slot waits until fewer than MaxConcurrent children run, and takes one place.
func (c *Client) slot(ctx context.Context) (free func(), err error) {
	slots := c.places()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) places() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slots == nil {
		n := c.MaxConcurrent
		if n <= 0 {
			n = DefaultMaxConcurrent
		}
		c.slots = make(chan struct{}, n)
	}
	return c.slots
}
