package front

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// Refusals in the words of the original daemon, which clients know.
const (
	noJob      = "async job not found"
	noID       = "job_id is required"
	notRunning = "async job not currently running"
)

// goingDown ends watches, and refuses submissions, once the daemon ends.
const goingDown = "the jobs daemon is shutting down"

func refusal(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

func invalid(format string, args ...any) error {
	return refusal(connect.CodeInvalidArgument, format, args...)
}

// answer makes of an error of the store what a client is told. What JetStream
// says is for the log.
func (f *Front) answer(ctx context.Context, doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.Is(err, store.ErrNotFound):
		return refusal(connect.CodeNotFound, noJob)
	case errors.Is(err, store.ErrQueueFull):
		return refusal(connect.CodeResourceExhausted, "the queue is full: at most %d jobs may be pending or running at once; submit the job again when some have ended", f.Store.MaxQueue)
	case errors.Is(err, store.ErrTooLarge):
		return invalid("the job is too large for the daemon's store: shorten its args, or pass what is long on stdin")
	}
	f.trouble(doing, err)
	switch {
	case errors.Is(err, store.ErrFull):
		return refusal(connect.CodeResourceExhausted, "the daemon's store of jobs is full: ended jobs leave it with time; try again later, or ask its operator for more room")
	case errors.Is(err, store.ErrUnavailable):
		return refusal(connect.CodeUnavailable, "the daemon's store of jobs cannot be reached at the moment; try again")
	}
	return refusal(connect.CodeInternal, "%s: the daemon met an error of its own, which its log tells", doing)
}

// ended is the answer to a client that has gone, or whose time is over.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return connect.NewError(connect.CodeDeadlineExceeded, ctx.Err())
	}
	return connect.NewError(connect.CodeCanceled, ctx.Err())
}
