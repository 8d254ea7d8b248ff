package worker

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// conclude stores what is left of the output and then the end of the job. It
// reports whether the end is in the record. It tries until it is, until the job
// turns out to have been ended by others, or until the worker's life ends.
func (w *worker) conclude(life context.Context, j *job, out *output) bool {
	if errors.Is(context.Cause(j.ctx), errDeclared) {
		j.record.Status, j.record.Error = store.Orphaned, errDeclared.Error()
		return false
	}
	r := j.record
	r.Stdout, r.Stderr = out.finish(life, true)
	r.Error = joinText(r.GetError(), out.lost())
	spilled := false
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		_, err := w.Store.Update(life, r, j.revision)
		switch {
		case err == nil:
			return true
		case errors.Is(err, store.ErrConflict):
			return w.overruled(life, j)
		case life.Err() != nil:
			w.Logger.Error("the end of a job could not be written; it will be orphaned", zap.String("job", j.id), zap.String("result", r.GetStatus()), zap.Error(err))
			r.Status = store.Orphaned
			return false
		case errors.Is(err, store.ErrTooLarge) && !spilled:
			spilled = true
			r.Stdout, r.Stderr = out.finish(life, false)
			continue
		}
		w.Logger.Warn("the end of a job cannot be written yet", zap.String("job", j.id), zap.Error(err))
		pause(life, wait)
	}
}

// overruled looks at a record that has another revision than expected: the write
// took place after all, or somebody else ended the job.
func (w *worker) overruled(life context.Context, j *job) bool {
	current, _, err := w.Store.Get(life, j.agent, j.id)
	if err == nil && proto.Equal(current, j.record) {
		return true
	}
	w.Logger.Warn("a job was ended by others while this worker seemed dead; its result is dropped",
		zap.String("job", j.id), zap.String("status", current.GetStatus()), zap.String("result", j.record.GetStatus()), zap.Error(err))
	j.record.Status = store.Orphaned
	return false
}

func joinText(texts ...string) string {
	var set []string
	for _, t := range texts {
		if t != "" {
			set = append(set, t)
		}
	}
	return strings.Join(set, "; ")
}
