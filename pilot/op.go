package pilot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/internal/run"
	"github.com/fantasytools/fantasytools/internal/text"
)

// op is one call of a verb, which may take several runs of pilotctl.
type op struct {
	client *Client
	left   time.Duration // what the runs of the verb may still take, together
	began  time.Time     // the last run
	meta   Metadata
}

func (c *Client) op(verb string, limit time.Duration) *op {
	return &op{client: c, left: limit, meta: Metadata{Verb: verb}}
}

// run runs pilotctl once and reads its answer. A peer that is not "" is one
// that pilotctl will dial: such runs are spaced.
func (o *op) run(ctx context.Context, a argv, l *lane) (*answer, error) {
	got, err := o.runAnyExit(ctx, a, l)
	if err == nil && got.exit > 0 {
		return nil, o.fault(&Error{Code: codeExit, Message: fmt.Sprintf("pilotctl reported success, but ended with exit status %d", got.exit)})
	}
	return got, err
}

// runAnyExit is run for the verb that answers with exit status 1.
func (o *op) runAnyExit(ctx context.Context, a argv, l *lane) (*answer, error) {
	if o.left <= 0 {
		return nil, o.fault(&Error{Code: codeTimeout, Message: "pilotctl needed too long"})
	}
	r, err := o.child(ctx, a, o.left, l)
	if err != nil {
		return nil, err
	}
	o.left -= r.Duration
	if r.Cancelled && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	got, err := read(r)
	if got != nil && got.update != "" {
		o.meta.ImportantUpdate = text.Line(got.update, maxMessage)
	}
	if err != nil {
		return nil, o.fault(err)
	}
	return got, nil
}

// child runs pilotctl once, in its turn, and keeps the books.
func (o *op) child(ctx context.Context, a argv, limit time.Duration, l *lane) (*run.Result, error) {
	c := o.client
	path, err := c.binary()
	if err != nil {
		return nil, o.fault(err)
	}
	done, err := o.depart(ctx, l)
	if err != nil {
		return nil, err
	}
	defer done()
	start := c.child
	if start == nil {
		start = run.Run
	}
	o.began = time.Now()
	r, err := start(ctx, run.Command{
		Path: path, Args: a.args, Dir: workingDirectory(), Env: c.environ(),
		Timeout: c.timer(limit), Grace: killGrace, Head: MaxAnswer, Tail: maxStderrTail,
	})
	if err != nil {
		return nil, o.notRun(ctx, err)
	}
	o.meta.count(r)
	strike(r, secrets())
	c.logger().Debug("pilotctl ended",
		zap.String("verb", o.meta.Verb), zap.Strings("argv", a.shown), zap.Int("exit_code", r.ExitCode),
		zap.String("signal", r.Signal), zap.Bool("timed_out", r.TimedOut), zap.Duration("duration", r.Duration),
		zap.Int("stdout_bytes", size(r.Stdout)), zap.Int("stderr_bytes", size(r.Stderr)))
	return r, nil
}

func (o *op) depart(ctx context.Context, l *lane) (done func(), err error) {
	if l == nil {
		return o.client.slot(ctx)
	}
	return o.client.depart(ctx, l)
}

// notRun is the error of a child that could not be started.
func (o *op) notRun(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return o.fault(&Error{Code: codeNotInstalled, Message: "pilotctl cannot be started: " + text.Line(err.Error(), maxMessage), Hint: "install the Pilot Protocol anew, or set $" + EnvBinary + " to the path of pilotctl"})
}

// fault notes an error of the verb. Errors of other kinds, the context's, pass
// through.
func (o *op) fault(err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.Verb = o.meta.Verb
		o.meta.Code = e.Code
	}
	return err
}

func size(o run.Output) int { return len(o.Head) + len(o.Tail) + int(o.Missing) }

// workingDirectory is where pilotctl runs; the verbs give it absolute paths
// only, so that any directory does.
func workingDirectory() string {
	if dir, err := os.Getwd(); err == nil {
		return dir
	}
	return os.TempDir()
}
