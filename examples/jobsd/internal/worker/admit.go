package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// admit decides what becomes of a delivery, and returns its job if this slot has
// to run it.
func (w *worker) admit(ctx context.Context, d *store.Delivery) *job {
	j := w.reserve(d)
	if j == nil {
		return nil // another slot has it, and the newer delivery now
	}
	fate := w.claim(ctx, j, d)
	if fate == claimed {
		return j
	}
	d = w.release(j)
	switch fate {
	case drop:
		w.done(d)
	case ask:
		w.back(d, w.confirmation())
	default:
		w.back(d, store.AckWait/2)
	}
	return nil
}

// fate is what becomes of a delivery.
type fate int

const (
	undecided fate = iota // the record has to be looked at
	claimed               // the slot runs it
	drop                  // it has ended, or was withdrawn
	wait                  // another worker has it
	ask                   // its worker seems dead, which has to be seen twice
)

// claim tries what the delivery suggests, a pending job, and looks at the record
// when that turns out to be wrong.
func (w *worker) claim(ctx context.Context, j *job, d *store.Delivery) fate {
	r, rev := d.Record, d.Revision
	for {
		f, err := w.try(ctx, j, r, rev)
		if f != undecided {
			return f
		}
		if err == nil || errors.Is(err, store.ErrConflict) {
			r, rev, err = w.Store.Get(ctx, j.agent, j.id)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			return drop
		case err != nil:
			w.Logger.Warn("a job could not be claimed; it comes back", zap.String("job", j.id), zap.Error(err))
			return wait
		}
	}
}

// try acts on a record as it was at a revision.
func (w *worker) try(ctx context.Context, j *job, r *jobsdpb.Record, rev uint64) (fate, error) {
	switch status := r.GetStatus(); {
	case store.Terminal(status):
		return drop, nil
	case status == store.Pending:
		return w.begin(ctx, j, r, rev)
	case r.GetWorker() == w.id:
		// It was claimed in this worker's name, whose slots do not run it: the answer
		// to the claim was lost, or the end could not be written.
		return w.orphan(ctx, r, rev)
	}
	alive, err := w.Store.Alive(ctx, r.GetWorker())
	switch {
	case err != nil:
		return undecided, err
	case alive:
		w.trust(j.id)
		return wait, nil
	case !w.suspect(j.id):
		return ask, nil
	}
	return w.orphan(ctx, r, rev)
}

// begin makes a pending job running, or, if it cannot be run here, an error.
func (w *worker) begin(ctx context.Context, j *job, r *jobsdpb.Record, rev uint64) (fate, error) {
	next := proto.CloneOf(r)
	next.Worker = w.id
	bin, problem := w.lookUp(r)
	if problem != "" {
		next.Status, next.Error, next.Finished = store.Failed, problem, time.Now().UnixNano()
		if _, err := w.Store.Update(ctx, next, rev); err != nil {
			return undecided, err
		}
		w.Logger.Warn("a job cannot be run", zap.String("job", j.id), zap.String("agent", j.agent), zap.String("error", problem))
		return drop, nil
	}
	next.Status, next.Started = store.Running, time.Now().UnixNano()
	rev, err := w.Store.Update(ctx, next, rev)
	if err != nil {
		return undecided, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	j.claimed, j.record, j.revision, j.bin = true, next, rev, bin
	return claimed, nil
}

// lookUp finds what a job runs, or says what prevents it.
func (w *worker) lookUp(r *jobsdpb.Record) (bin *agents.Bin, problem string) {
	agent, ok := w.Agents.ByName(r.GetAgent())
	if !ok {
		return nil, fmt.Sprintf("nothing was run: the worker that took the job knows no agent %q; add it to that worker's agents, then submit the job again", r.GetAgent())
	}
	bin, ok = agent.Bins[r.GetBin()]
	if !ok {
		return nil, fmt.Sprintf("nothing was run: BIN %q is not declared for agent %q where the job was taken; add it there, or submit one of: %s",
			r.GetBin(), r.GetAgent(), names(agent))
	}
	for i, arg := range r.GetArgs() {
		if strings.ContainsRune(arg, 0) {
			return nil, fmt.Sprintf("nothing was run: args[%d] holds a NUL character, which no program can receive; submit the job again without it", i)
		}
	}
	return bin, ""
}

func names(a *agents.Agent) string {
	if len(a.Bins) == 0 {
		return "(none)"
	}
	return strings.Join(a.BinNames(), ", ")
}

// orphan ends a job that nobody runs any more and that must not run again.
func (w *worker) orphan(ctx context.Context, r *jobsdpb.Record, rev uint64) (fate, error) {
	if err := w.Store.Orphan(ctx, proto.CloneOf(r), rev); err != nil {
		return undecided, err
	}
	w.trust(r.GetId())
	return drop, nil
}

// maxSuspects bounds what is remembered of jobs that other workers look after
// in the end.
const maxSuspects = 4096

// confirmation is how long a worker without a lease may take to be seen again: one
// that was cut off from JetStream renews its lease within half of that.
func (w *worker) confirmation() time.Duration { return w.Store.LeaseTTL / 3 }

// suspect notes that the worker of a job has no lease, and reports whether that
// was so some time ago already.
func (w *worker) suspect(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, noted := w.suspects[id]
	if noted {
		return time.Since(since) >= w.confirmation()*9/10
	}
	if len(w.suspects) >= maxSuspects {
		clear(w.suspects)
	}
	w.suspects[id] = time.Now()
	return false
}

// trust forgets a suspicion.
func (w *worker) trust(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.suspects, id)
}
