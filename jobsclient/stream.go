package jobsclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

// quotaWait is how long a new stream may wait for the server to grant it before
// it moves to another connection.
const quotaWait = time.Second

var (
	errFull   = errors.New("the connection carries no more streams")
	errSilent = errors.New("the daemon is silent")
)

// stream is one watch at the daemon, with a goroutine beside it that notices
// when the daemon hangs. close ends both.
type stream struct {
	client   *Client
	call     call
	conn     *conn
	grpc     grpc.ClientStream
	ctx      context.Context
	cancel   context.CancelCauseFunc
	heard    atomic.Int64  // when the last message came, in Unix nanoseconds; 0: none yet
	first    chan struct{} // closed when the first message came
	found    atomic.Pointer[Job]
	watching sync.WaitGroup
}

// openStream begins a watch. The daemon has CallTimeout to send a first state.
func (c *Client) openStream(ctx context.Context, k call) (*stream, *callError) {
	if c.bad != nil {
		return nil, invalid("%s: %v", k.doing, c.bad)
	}
	k.where, k.received = c.target.display, c.cfg.MaxReceive
	for {
		s, err := c.tryStream(ctx, k)
		if !errors.Is(err, errFull) {
			return s, asCallError(err)
		}
	}
}

func asCallError(err error) *callError {
	var e *callError
	if errors.As(err, &e) {
		return e
	}
	return nil
}

func (c *Client) tryStream(ctx context.Context, k call) (*stream, error) {
	limited, stop := context.WithTimeout(ctx, c.cfg.CallTimeout)
	defer stop()
	token, failure := c.token(ctx, limited, k.doing)
	if failure != nil {
		return nil, failure
	}
	k.redactor = redactor(token)
	cn, err := c.pool.forStream()
	if err != nil {
		return nil, c.failure(ctx, k, err)
	}
	s := &stream{client: c, call: k, conn: cn, first: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(authorized(noDeadline{ctx}, token))
	if err := cn.ready(limited); err != nil {
		s.close()
		return nil, c.failure(ctx, k, err)
	}
	if err := s.begin(); err != nil {
		full := errors.Is(context.Cause(s.ctx), errFull)
		s.close()
		if full && ctx.Err() == nil {
			return nil, errFull
		}
		return nil, c.failure(ctx, k, err)
	}
	s.watching.Go(s.guard)
	return s, nil
}

// begin sends the request. gRPC lets a stream above the server's limit wait for
// another to end, which may be hours; s then gives up with errFull.
func (s *stream) begin() error {
	timer := time.AfterFunc(quotaWait, func() {
		if s.conn.cc.GetState() == connectivity.Ready {
			s.client.pool.full(s.conn)
			s.cancel(errFull)
		}
	})
	defer timer.Stop()
	var err error
	s.grpc, err = s.conn.cc.NewStream(s.ctx, &grpc.StreamDesc{ServerStreams: true}, jobspb.WatchPath)
	if err != nil {
		return err
	}
	// A failure to send shows, with its reason, at the first receive.
	if err := s.grpc.SendMsg(&jobspb.JobRequest{JobId: s.call.job}); err == nil {
		_ = s.grpc.CloseSend()
	}
	return nil
}

// receive returns the next message. ctx is the caller's.
func (s *stream) receive(ctx context.Context) (*Job, *callError) {
	answer := &jobspb.JobResponse{}
	err := s.grpc.RecvMsg(answer)
	if err == nil && answer.GetJob() == nil {
		return nil, s.call.withoutJob()
	}
	if err == nil {
		if s.heard.Swap(time.Now().UnixNano()) == 0 {
			close(s.first)
		}
		return jobFrom(answer.GetJob(), s.call.redactor), nil
	}
	switch {
	case s.client.closed():
		return nil, closedError(s.call.doing)
	case ctx.Err() != nil:
		return nil, s.call.fromContext(ctx.Err(), nil)
	case s.found.Load() != nil:
		return s.found.Swap(nil), nil
	case errors.Is(context.Cause(s.ctx), errSilent):
		return nil, s.call.transient(fmt.Sprintf("the jobs daemon at %s does not answer any more", s.call.where))
	case errors.Is(err, io.EOF):
		return nil, s.call.transient("the jobs daemon ended the watch before the job has ended")
	}
	return nil, s.client.failure(ctx, s.call, err)
}

// guard ends the stream when the daemon does not answer: no first state within
// CallTimeout, or a long silence and no answer to a question beside it. It uses
// a call, since servers close connections whose HTTP/2 pings come more often
// than every five minutes.
func (s *stream) guard() {
	if !s.firstState() {
		return
	}
	for {
		silentAt := time.Unix(0, s.heard.Load()).Add(s.client.cfg.LivenessInterval)
		if wait := time.Until(silentAt); wait > 0 {
			if !s.rest(wait) {
				return
			}
			continue
		}
		if !s.alive() {
			return
		}
	}
}

// firstState waits for the first message.
func (s *stream) firstState() bool {
	timer := time.NewTimer(s.client.cfg.CallTimeout)
	defer timer.Stop()
	select {
	case <-s.first:
		return true
	case <-s.ctx.Done():
	case <-timer.C:
		s.fail()
	}
	return false
}

func (s *stream) rest(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// alive asks for the job beside the watch. If the daemon knows more than the
// watch has told, the watch is dead though the daemon lives.
func (s *stream) alive() bool {
	before := s.heard.Load()
	// The caller's deadline may be far away: the question has its own.
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	job, err := s.client.get(ctx, s.client.cfg.LivenessInterval/3, s.call.job)
	switch {
	case s.ctx.Err() != nil:
		return false
	case errors.Is(err, ErrUnavailable):
		s.fail()
		return false
	case err == nil && job.Ended() && s.heard.Load() == before:
		return s.report(job)
	}
	s.heard.CompareAndSwap(before, time.Now().UnixNano())
	return true
}

// report hands over a final state that the watch did not bring, after a moment
// in which it still may.
func (s *stream) report(job *Job) bool {
	if !s.rest(min(time.Second, s.client.cfg.LivenessInterval/3)) {
		return false
	}
	s.found.Store(job)
	s.cancel(errSilent)
	return false
}

func (s *stream) fail() {
	s.client.pool.retire(s.conn)
	s.cancel(errSilent)
}

func (s *stream) close() {
	s.cancel(nil)
	s.watching.Wait()
	s.client.pool.releaseStream(s.conn)
}
