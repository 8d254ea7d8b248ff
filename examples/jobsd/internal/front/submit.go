package front

import (
	"context"
	"errors"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

const (
	// MaxLabels is how many labels a job may have.
	MaxLabels = 64

	// readyTime is how long a submission waits for the connection to JetStream to
	// come back, in which time it is certain that nothing was submitted.
	readyTime = 3 * time.Second
)

// submit stores a job. Once it has begun it goes on for up to storeTime, also if
// the client goes away: so no job is left that is stored but in no queue.
func (f *Front) submit(ctx context.Context, who caller, in *jobsdpb.SubmitRequest) (*jobsdpb.SubmitResponse, error) {
	if err := who.may(agents.Submit); err != nil {
		return nil, err
	}
	agent, err := f.submitter(who, in)
	if err != nil {
		return nil, err
	}
	if err := f.check(in); err != nil {
		return nil, err
	}
	// What is certain not to have been submitted is not Unavailable, which a client
	// takes for an answer that was lost.
	if f.draining.Load() || !f.enter() {
		return nil, refusal(connect.CodeFailedPrecondition, "%s: nothing was submitted", goingDown)
	}
	defer f.inflight.Done()
	if err := f.ready(ctx); err != nil {
		return nil, err
	}
	return f.store(ctx, agent, in)
}

func (f *Front) store(ctx context.Context, agent *agents.Agent, in *jobsdpb.SubmitRequest) (*jobsdpb.SubmitResponse, error) {
	r := &jobsdpb.Record{
		Id: "job_" + uuid.NewString(), Agent: agent.Name, Bin: in.GetBin(), Args: in.GetArgs(), Labels: in.GetLabels(),
	}
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.limits.store)
	defer cancel()
	err := f.Store.Submit(inner, r, []byte(in.GetStdin()))
	if err == nil {
		f.Observer.Submitted(agent.Name)
		return &jobsdpb.SubmitResponse{JobId: r.GetId()}, nil
	}
	if ctx.Err() == nil && errors.Is(err, store.ErrUnavailable) {
		f.trouble("submitting a job", err, zap.String("job", r.GetId()))
		return nil, refusal(connect.CodeUnavailable, "the daemon's store of jobs did not answer: the job may have been submitted or not, as %s; list the jobs before submitting it again", r.GetId())
	}
	return nil, f.answer(ctx, "submitting a job", err)
}

// submitter is the agent that the job will be of.
func (f *Front) submitter(who caller, in *jobsdpb.SubmitRequest) (*agents.Agent, error) {
	agent := who.agent
	if who.operator() {
		if in.GetAgentRef() == "" {
			return nil, invalid("agent_ref is required")
		}
		named, found := f.Agents.ByName(in.GetAgentRef())
		if !found {
			return nil, refusal(connect.CodeNotFound, "agent %q not found", shown(in.GetAgentRef()))
		}
		agent = named
	}
	if in.GetBin() == "" {
		return nil, invalid("bin is required")
	}
	if _, declared := agent.Bins[in.GetBin()]; !declared {
		names := strings.Join(agent.BinNames(), ", ")
		if names == "" {
			names = "(none)"
		}
		return nil, invalid("BIN %q is not declared in agent %s — add it to the agent or pick one of: %s", shown(in.GetBin()), agent.Name, names)
	}
	return agent, nil
}

// check refuses what could not run, or is above a bound.
func (f *Front) check(in *jobsdpb.SubmitRequest) error {
	if n := len(in.GetStdin()); n > f.MaxStdin {
		return invalid("stdin has %d bytes, at most %d are accepted: put the data into a file that the BIN can read", n, f.MaxStdin)
	}
	if n := len(in.GetLabels()); n > MaxLabels {
		return invalid("the job has %d labels, at most %d are accepted", n, MaxLabels)
	}
	size := 0
	for i, arg := range in.GetArgs() {
		size += len(arg) + 1 // the NUL that ends it
		if strings.IndexByte(arg, 0) >= 0 {
			return invalid("argument %d of %s holds a NUL, which no process can be given: pass it on stdin", i+1, in.GetBin())
		}
	}
	for key, value := range in.GetLabels() {
		size += len(key) + len(value)
	}
	if size > f.MaxArgs {
		return invalid("args and labels have %d bytes together, at most %d are accepted: pass what is long on stdin", size, f.MaxArgs)
	}
	return nil
}

// ready waits a moment for JetStream.
func (f *Front) ready(ctx context.Context) error {
	err := f.Store.Ready()
	if err == nil {
		return nil
	}
	ticker := time.NewTicker(25 * time.Millisecond)
	defer ticker.Stop()
	for give := time.After(f.limits.ready); ; {
		select {
		case <-ticker.C:
			if f.Store.Ready() == nil {
				return nil
			}
		case <-give:
			f.trouble("refusing a job", err)
			return refusal(connect.CodeFailedPrecondition, "the daemon's store of jobs cannot be reached at the moment: nothing was submitted; try again later")
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}
