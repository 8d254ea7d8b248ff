package worker

import (
	"context"
	"errors"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// job is one that this worker claims or runs.
type job struct {
	id    string
	agent string
	ctx   context.Context // ends when the job is to end, with the reason as its cause
	stop  context.CancelCauseFunc

	// Guarded by the worker's mu.
	delivery *store.Delivery // the newest
	claimed  bool

	// Set by the claim.
	record   *jobsdpb.Record
	revision uint64
	bin      *agents.Bin
}

// reserve makes the job of a delivery this slot's. If another slot has it
// already, that one is given the newer delivery, and reserve returns nil.
func (w *worker) reserve(d *store.Delivery) *job {
	id := d.Record.GetId()
	w.mu.Lock()
	defer w.mu.Unlock()
	if j := w.jobs[id]; j != nil {
		j.delivery = d
		return nil
	}
	j := &job{id: id, agent: d.Record.GetAgent(), delivery: d}
	j.ctx, j.stop = context.WithCancelCause(context.Background())
	if w.stopped != nil {
		j.stop(w.stopped)
	}
	w.jobs[id] = j
	return j
}

// release gives up what reserve made, and returns the newest delivery.
func (w *worker) release(j *job) *store.Delivery {
	j.stop(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.jobs, j.id)
	return j.delivery
}

func (w *worker) find(id string) *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.jobs[id]
}

func (w *worker) running() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, j := range w.jobs {
		if j.claimed {
			n++
		}
	}
	return n
}

func (w *worker) deliveries() map[string]*store.Delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]*store.Delivery, len(w.jobs))
	for id, j := range w.jobs {
		all[id] = j.delivery
	}
	return all
}

func (w *worker) stopJobs(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = cause
	for _, j := range w.jobs {
		j.stop(cause)
	}
}

// lookAfter kills the jobs that someone has ended in their records while the
// worker seemed dead.
func (w *worker) lookAfter(life context.Context) {
	w.mu.Lock()
	jobs := maps.Clone(w.jobs)
	maps.DeleteFunc(jobs, func(_ string, j *job) bool { return !j.claimed })
	w.mu.Unlock()
	for id, j := range jobs {
		r, _, err := w.Store.Get(life, j.agent, id)
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			w.Logger.Warn("it is not known whether a job may go on; it does", zap.String("job", id), zap.Error(err))
		case err == nil && r.GetWorker() == w.id && r.GetStatus() != store.Orphaned: // it runs, or has just ended here
		case j.ctx.Err() == nil && w.find(id) == j:
			w.Logger.Warn("a job has ended in its record while this worker seemed dead; its process is killed",
				zap.String("job", id), zap.String("status", r.GetStatus()))
			j.stop(errDeclared)
		}
	}
}

// work runs a claimed job and takes it out of the queue when its end is written.
func (w *worker) work(life context.Context, j *job) {
	w.Observer.JobStarted()
	w.Logger.Info("a job starts", zap.String("job", j.id), zap.String("agent", j.record.GetAgent()), zap.String("bin", j.record.GetBin()),
		zap.Int("args", len(j.record.GetArgs())), zap.Int64("stdin_bytes", j.record.GetStdinSize()),
		zap.Duration("waited", time.Duration(j.record.GetStarted()-j.record.GetCreated())))

	out := newOutput(w.Store, w.Logger, j.id)
	w.process(life, j, out)
	written := w.conclude(life, j, out)
	d := w.release(j)
	if written {
		w.done(d)
		out.tidy(life, j.record)
	} else {
		w.back(d, 0) // whoever gets it next sees what became of it
	}
	w.report(j, out.size())
}

func (w *worker) report(j *job, output int64) {
	r := j.record
	ran := time.Duration(r.GetFinished() - r.GetStarted())
	w.Observer.JobEnded(r.GetStatus(), ran, output)
	w.Logger.Info("a job has ended", zap.String("job", j.id), zap.String("status", r.GetStatus()), zap.Int32("exit_code", r.GetExitCode()),
		zap.String("error", r.GetError()), zap.Duration("duration", ran), zap.Int64("output_bytes", output))
}

func (w *worker) done(d *store.Delivery) {
	if err := d.Done(); err != nil {
		w.Logger.Debug("an ended job stays in the queue until it comes back", zap.String("job", d.Record.GetId()), zap.Error(err))
	}
}

func (w *worker) back(d *store.Delivery, after time.Duration) {
	if err := d.Back(after); err != nil {
		w.Logger.Debug("a job comes back later than it should", zap.String("job", d.Record.GetId()), zap.Error(err))
	}
}
