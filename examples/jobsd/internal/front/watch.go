package front

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// watch sends a job's row as it is, again after each change, and ends after the
// one that says how the job ended.
func (f *Front) watch(ctx context.Context, r *connect.Request[jobsdpb.JobRequest], stream *connect.ServerStream[jobsdpb.JobResponse]) error {
	started := time.Now()
	f.count(1)
	err := f.watchAs(ctx, callerOf(ctx), r.Msg.GetJobId(), stream)
	f.count(-1)
	f.observe(jobsdpb.WatchPath, err, started)
	return err
}

func (f *Front) count(more int) {
	f.watches.Lock()
	defer f.watches.Unlock()
	f.watches.open += more
	f.Observer.Watches(f.watches.open)
}

func (f *Front) watchAs(ctx context.Context, who caller, id string, stream *connect.ServerStream[jobsdpb.JobResponse]) error {
	if err := who.may(agents.Watch); err != nil {
		return err
	}
	if id == "" {
		return invalid(noID)
	}
	key := feedKey{who.scope(), id}
	inner, cancel := context.WithTimeout(ctx, f.limits.store)
	defer cancel()
	if who.operator() { // feeds are found by their agent, too
		record, _, err := f.Store.Get(inner, "", id)
		if err != nil {
			return f.answer(ctx, "watching a job", err)
		}
		key.agent = record.GetAgent()
	}
	feed := f.attach(key)
	if feed == nil {
		return refusal(connect.CodeUnavailable, goingDown)
	}
	defer f.detach(feed)
	// Now that no change can be missed: what the job is at least.
	record, rev, err := f.Store.Get(inner, key.agent, id)
	if err != nil {
		return f.answer(ctx, "watching a job", err)
	}
	if store.Terminal(record.GetStatus()) { // all of it is read now, and not only what a running job adds
		if err := f.reserve(ctx, f.most(record)); err != nil {
			return err
		}
	}
	feed.offer(record, rev)
	return f.follow(ctx, who, feed, rev, stream)
}

// follow sends what a feed shows from a revision on: a client that has seen that
// is never sent an older one. While one message is on its way to a slow client
// any number of others may be skipped.
func (f *Front) follow(ctx context.Context, who caller, feed *feed, from uint64, stream *connect.ServerStream[jobsdpb.JobResponse]) error {
	for sent := uint64(0); ; {
		now, changed := feed.seen()
		switch {
		case now.gone && sent == 0:
			return refusal(connect.CodeNotFound, noJob)
		case now.gone:
			return refusal(connect.CodeNotFound, "job %q vanished while watching — likely the agent was removed", feed.key.id)
		case now.version > sent && (now.last || now.rev >= from):
			if err := f.send(ctx, shownTo(who, now.row), stream); err != nil {
				return err
			}
			if now.last {
				return nil
			}
			sent = now.version
			continue // it may have changed meanwhile
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ended(ctx)
		case <-f.going:
			return refusal(connect.CodeUnavailable, "%s: watch the job again once it is back; it is not touched", goingDown)
		}
	}
}

type deadlineKey struct{}

// send sends a row once there is room for it. A client that does not take it in
// time is let go: what it leaves lying is missing to others.
func (f *Front) send(ctx context.Context, row *jobsdpb.Job, stream *connect.ServerStream[jobsdpb.JobResponse]) error {
	if h := inHand(ctx); h.held == 0 { // otherwise it was reserved
		inner, cancel := context.WithTimeout(ctx, f.limits.move)
		defer cancel()
		defer h.keep(0)
		if h.take(inner, proto.Size(row)) != nil {
			if ctx.Err() != nil {
				return ended(ctx)
			}
			return refusal(connect.CodeUnavailable, "this caller does not read what its other watches are sent; watch the job again when it does")
		}
	}
	if deadline, ok := ctx.Value(deadlineKey{}).(*http.ResponseController); ok {
		_ = deadline.SetWriteDeadline(time.Now().Add(f.limits.move))
		defer deadline.SetWriteDeadline(time.Time{}) //nolint:errcheck // where there is none nobody is let go
	}
	return stream.Send(&jobsdpb.JobResponse{Job: row})
}
