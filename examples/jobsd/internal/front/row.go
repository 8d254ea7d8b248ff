package front

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// AgentLabel is added to the labels of the jobs that the operator sees: clients
// show labels, but not whose job it is.
const AgentLabel = "io.fantasytools.agent"

// newRow makes a job's row without stdin and output.
func newRow(r *jobsdpb.Record) *jobsdpb.Job {
	return &jobsdpb.Job{
		Id: r.GetId(), AgentId: r.GetAgent(), Bin: r.GetBin(), Args: r.GetArgs(), Labels: r.GetLabels(),
		Status: r.GetStatus(), Handle: r.GetHandle(), ExitCode: r.GetExitCode(),
		Error:     strings.ToValidUTF8(r.GetError(), replacement),
		CreatedAt: seconds(r.GetCreated()), StartedAt: seconds(r.GetStarted()), FinishedAt: seconds(r.GetFinished()),
	}
}

// seconds are whole ones, as the wire has them.
func seconds(ns int64) int64 { return ns / int64(time.Second) }

// shownTo returns the row as the caller sees it. A row may be shared; it is not
// changed.
func shownTo(who caller, row *jobsdpb.Job) *jobsdpb.Job {
	if !who.operator() {
		return row
	}
	labels := make(map[string]string, len(row.GetLabels())+1)
	maps.Copy(labels, row.GetLabels())
	labels[AgentLabel] = row.GetAgentId()
	return &jobsdpb.Job{
		Id: row.GetId(), AgentId: row.GetAgentId(), Bin: row.GetBin(), Args: row.GetArgs(), Labels: labels, Stdin: row.GetStdin(),
		Status: row.GetStatus(), Handle: row.GetHandle(), ExitCode: row.GetExitCode(),
		Stdout: row.GetStdout(), Stderr: row.GetStderr(), Error: row.GetError(),
		CreatedAt: row.GetCreatedAt(), StartedAt: row.GetStartedAt(), FinishedAt: row.GetFinishedAt(),
	}
}

// row reads all that belongs to a job's row.
func (f *Front) row(ctx context.Context, r *jobsdpb.Record) (*jobsdpb.Job, error) {
	row := newRow(r)
	var err error
	if row.Stdin, err = f.stdin(ctx, r); err != nil {
		return nil, err
	}
	for stream, text := range map[store.Stream]*string{store.Stdout: &row.Stdout, store.Stderr: &row.Stderr} {
		output, err := f.Store.Output(ctx, r, stream)
		if err != nil {
			return nil, err
		}
		*text = f.bounds().text(output, !store.Terminal(r.GetStatus()))
	}
	return row, nil
}

// stdin reads a job's standard input. One that has left the store is announced.
func (f *Front) stdin(ctx context.Context, r *jobsdpb.Record) (string, error) {
	stdin, err := f.Store.Stdin(ctx, r)
	switch {
	case err == nil:
		return valid(stdin), nil
	case ctx.Err() != nil, errors.Is(err, store.ErrUnavailable):
		return "", err
	}
	return fmt.Sprintf("[%d bytes of stdin are not stored any more]", r.GetStdinSize()), nil
}

// bounds are those of the store: text is never longer than what it keeps.
func (f *Front) bounds() bounds { return bounds{f.Store.HeadBytes, f.Store.TailBytes} }
