package jobsclient

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

const (
	submitMethod = jobspb.Submit
	listMethod   = jobspb.List
)

// Client talks to one daemon as one agent. It is safe for concurrent use; one
// client is enough for a process. Make it with New and end it with Close.
type Client struct {
	cfg    Config
	target *target
	bad    error // what is wrong with cfg, for each call to report
	pool   *pool

	life context.Context // ends with Close
	end  context.CancelFunc
	once sync.Once
}

// New returns a client for the daemon that cfg describes. It neither dials nor
// fails: the first call does, and reports what is wrong with cfg.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg.withDefaults()}
	c.target, c.bad = parseTarget(c.cfg.URL, c.cfg.AllowPlaintext)
	c.pool = newPool(func(streams int) (*conn, error) { return newConn(c.cfg, c.target, streams) })
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Close ends the calls under way with ErrClosed and closes the connections.
// Later calls fail with ErrClosed. It may be called more than once and beside
// other calls; jobs go on. It returns nil.
func (c *Client) Close() error {
	c.once.Do(func() {
		c.end()
		c.pool.close()
	})
	return nil
}

func (c *Client) closed() bool { return c.life.Err() != nil }

// Get returns the job as it is now.
func (c *Client) Get(ctx context.Context, jobID string) (*Job, error) {
	return c.get(ctx, c.cfg.CallTimeout, jobID)
}

func (c *Client) get(ctx context.Context, limit time.Duration, jobID string) (*Job, error) {
	const doing = "reading job "
	if err := checkID(doing, jobID); err != nil {
		return nil, err
	}
	answer := &jobspb.JobResponse{}
	k := call{doing: doing + shownID(jobID), job: jobID, method: jobspb.Get, limit: limit}
	r, err := c.read(ctx, unary{
		call:   k,
		path:   jobspb.GetPath,
		in:     &jobspb.JobRequest{JobId: jobID},
		out:    answer,
		forget: answer.Reset,
	})
	if err != nil {
		return nil, err
	}
	if answer.GetJob() == nil {
		return nil, k.withoutJob()
	}
	return jobFrom(answer.GetJob(), r), nil
}

// ListOptions chooses jobs; the zero value chooses all of the agent.
type ListOptions struct {
	Status Status            // jobs in this state; "": in any
	Labels map[string]string // jobs with all of these labels, exactly
}

// List returns the agent's jobs, newest first, to the second.
// There is no paging, and each job comes with its whole output: where that may
// be much, choose by status or label.
func (c *Client) List(ctx context.Context, o ListOptions) ([]*Job, error) {
	const doing = "listing the jobs"
	if err := checkText(doing, "the status", string(o.Status)); err != nil {
		return nil, err
	}
	if err := checkLabels(doing, o.Labels); err != nil {
		return nil, err
	}
	answer := &jobspb.ListResponse{}
	r, err := c.read(ctx, unary{
		call:   call{doing: doing, method: jobspb.List, limit: c.cfg.CallTimeout},
		path:   jobspb.ListPath,
		in:     &jobspb.ListRequest{Status: string(o.Status), LabelSelector: o.Labels},
		out:    answer,
		forget: answer.Reset,
	})
	if err != nil {
		return nil, err
	}
	jobs := make([]*Job, 0, len(answer.GetJobs()))
	for i, row := range answer.GetJobs() {
		jobs = append(jobs, jobFrom(row, r))
		answer.Jobs[i] = nil
	}
	return jobs, nil
}

// Cancel asks the daemon to kill the job's processes. Success means that the
// signal was sent: the state changes a moment later, and a job that was just
// ending by itself ends as Done. It returns ErrNotRunning for a job
// that has ended or is still queued.
func (c *Client) Cancel(ctx context.Context, jobID string) error {
	const doing = "cancelling job "
	if err := checkID(doing, jobID); err != nil {
		return err
	}
	_, err := c.invoke(ctx, unary{
		call: call{doing: doing + shownID(jobID), job: jobID, method: jobspb.Cancel, limit: c.cfg.CallTimeout},
		path: jobspb.CancelPath,
		in:   &jobspb.JobRequest{JobId: jobID},
		out:  &jobspb.CancelResponse{},
	})
	return asError(err)
}

// unary is one unary call.
type unary struct {
	call
	path    string
	in, out any
	forget  func() // empties out
}

// read makes a call that changes nothing, and makes it once more if the
// connection was lost under it.
func (c *Client) read(ctx context.Context, u unary) (redactor, error) {
	r, err := c.invoke(ctx, u)
	if err == nil {
		return r, nil
	}
	if err.sent && err.status.Code() == codes.Unavailable && !err.final {
		u.forget()
		r, err = c.invoke(ctx, u)
	}
	return r, asError(err)
}

// invoke makes a call, sending the request at most once, and returns the
// redactor of the token it used.
func (c *Client) invoke(ctx context.Context, u unary) (redactor, *callError) {
	if c.bad != nil {
		return "", invalid("%s: %v", u.doing, c.bad)
	}
	u.where, u.received = c.target.display, c.cfg.MaxReceive
	limited, cancel, ours := c.limit(ctx, u.limit)
	defer cancel()
	token, failure := c.token(ctx, limited, u.doing)
	if failure != nil {
		return "", failure
	}
	u.redactor = redactor(token)
	cn, err := c.pool.forCall()
	if err != nil {
		return "", c.failure(ctx, u.call, err)
	}
	defer c.pool.release(cn)
	if err := cn.ready(limited); err != nil {
		return "", c.failure(ctx, u.call, err)
	}
	if ctx.Err() != nil {
		return "", u.fromContext(ctx.Err(), nil).unsent()
	}
	err = cn.cc.Invoke(authorized(limited, token), u.path, u.in, u.out)
	if err == nil {
		return u.redactor, nil
	}
	if ours && errors.Is(context.Cause(limited), errLimit) {
		c.pool.retire(cn)
		err = errLimit
	}
	return "", c.failure(ctx, u.call, err)
}

// limit bounds a call that its caller has not bounded, and tells whether it did.
// Bounds are kept on this side only.
func (c *Client) limit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc, bool) {
	if _, bounded := ctx.Deadline(); bounded {
		return noDeadline{ctx}, func() {}, false
	}
	limited, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(d, func() { cancel(errLimit) })
	return limited, func() {
		timer.Stop()
		cancel(nil)
	}, true
}

var errLimit = status.Error(codes.DeadlineExceeded, "the limit of the call")

// failure maps the error of a call in the order of what explains most: the
// client was closed, the caller gave up, no connection, the daemon's answer.
func (c *Client) failure(ctx context.Context, k call, err error) *callError {
	var dial *dialError
	noConn := errors.As(err, &dial)
	switch {
	case c.closed() || errors.Is(err, ErrClosed):
		e := closedError(k.doing)
		e.sent = !noConn && !errors.Is(err, ErrClosed)
		return e
	case ctx.Err() != nil && noConn:
		return k.fromContext(ctx.Err(), err).unsent()
	case ctx.Err() != nil:
		return k.fromContext(ctx.Err(), nil)
	case noConn:
		return k.fromDial(err)
	}
	return k.fromStatus(err)
}

// noDeadline is a context that ends with the one in it, and does not tell when.
// gRPC would send a deadline to the daemon, whose answer to its passing may come
// before this side has noticed, as an error of the daemon's; and it would cost
// both sides a few microseconds.
type noDeadline struct{ context.Context }

func (noDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

// authorized returns the context with nothing but the token to send: what else
// the caller's context would send is not for the daemon, and a second
// authorization header would win over this one.
func authorized(ctx context.Context, token string) context.Context {
	return metadata.NewOutgoingContext(ctx, metadata.MD{"authorization": {"Bearer " + token}})
}

// asError keeps a nil *callError from becoming an error that is not nil.
func asError(err *callError) error {
	if err == nil {
		return nil
	}
	return err
}
