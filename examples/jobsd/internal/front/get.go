package front

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

func (f *Front) get(ctx context.Context, who caller, in *jobsdpb.JobRequest) (*jobsdpb.JobResponse, error) {
	if err := who.may(agents.Status); err != nil {
		return nil, err
	}
	inner, cancel := context.WithTimeout(ctx, f.limits.store)
	defer cancel()
	r, _, err := f.Store.Get(inner, who.scope(), in.GetJobId())
	if err != nil {
		return nil, f.answer(ctx, "reading a job", err)
	}
	if err := f.reserve(ctx, f.most(r)); err != nil {
		return nil, err
	}
	inner, cancel = context.WithTimeout(ctx, f.limits.store)
	defer cancel()
	row, err := f.read(inner, who.scope(), in.GetJobId())
	if err != nil {
		return nil, f.answer(ctx, "reading a job", err)
	}
	inHand(ctx).keep(proto.Size(row))
	return &jobsdpb.JobResponse{Job: shownTo(who, row)}, nil
}

// most is how many bytes the row of a record has at most.
func (f *Front) most(r *jobsdpb.Record) int {
	size := proto.Size(r) + int(r.GetStdinSize())
	for _, o := range []*jobsdpb.Output{r.GetStdout(), r.GetStderr()} {
		switch {
		case store.Terminal(r.GetStatus()):
			size += int(o.GetHead() + o.GetTail())
		case r.GetStatus() == store.Running:
			size += f.Store.HeadBytes + f.Store.TailBytes
		}
	}
	return size
}

// read reads a job and its output. A running one may end between the two, and
// short output moves into the record then: it is read again.
func (f *Front) read(ctx context.Context, agent, id string) (*jobsdpb.Job, error) {
	r, rev, err := f.Store.Get(ctx, agent, id)
	for err == nil {
		row, failure := f.row(ctx, r)
		if failure != nil || r.GetStatus() != store.Running {
			return row, failure
		}
		before := rev
		if r, rev, err = f.Store.Get(ctx, agent, id); err == nil && rev == before {
			return row, nil
		}
	}
	return nil, err
}
