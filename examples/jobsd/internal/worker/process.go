package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
	"github.com/fantasytools/fantasytools/internal/program"
	"github.com/fantasytools/fantasytools/internal/run"
)

// process runs the program of a claimed job and says in its record how it ended.
func (w *worker) process(life context.Context, j *job, out *output) {
	limit := j.bin.Timeout(w.MaxRunTime)
	flushed := out.flush(life)
	res, err := w.start(j, limit, out)
	flushed()
	r := j.record
	r.Finished = time.Now().UnixNano()
	if err != nil {
		r.Status, r.Error = unstarted(j.ctx, err)
		return
	}
	r.Handle = strconv.Itoa(res.PID)
	r.Status, r.Error = ended(j.ctx, res, limit)
	if r.GetStatus() == store.Done {
		r.ExitCode = int32(min(res.ExitCode, math.MaxInt32))
	}
}

func (w *worker) start(j *job, limit time.Duration, out *output) (*run.Result, error) {
	stdin, err := w.Store.Stdin(j.ctx, j.record)
	if err != nil {
		return nil, fmt.Errorf("nothing was run: reading stdin: %w; submit the job again", err)
	}
	b := j.bin
	return run.Run(j.ctx, run.Command{
		Path: b.Path, Name: name(b), Args: slices.Concat(b.Def.Args, j.record.GetArgs()),
		Dir: b.Dir, Env: program.Environment(b.Def.Env, b.Dir), Stdin: string(stdin),
		Timeout: limit, Stdout: out.stdout.write, Stderr: out.stderr.write,
	})
}

// name is argv[0], as package tool gives it.
func name(b *agents.Bin) string {
	if program.IsBare(b.Def.Binary) {
		return b.Def.Binary
	}
	return b.Path
}

// unstarted is how a job ended whose program did not run.
func unstarted(ctx context.Context, err error) (status, text string) {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	return store.Failed, err.Error()
}

// stopped is how a job ended that was told to.
func stopped(ctx context.Context) (status, text string) {
	if cause := context.Cause(ctx); !errors.Is(cause, errCancelled) {
		return store.Cancelled, cause.Error()
	}
	return store.Cancelled, ""
}

// ended is how a job ended whose program ran.
func ended(ctx context.Context, res *run.Result, limit time.Duration) (status, text string) {
	switch {
	case res.GivenUp:
		return store.Failed, fmt.Sprintf("the process %d could not be killed and may still run; end it on the worker's machine", res.PID)
	case res.TimedOut:
		return store.Failed, fmt.Sprintf("stopped after the run time limit of %s", limit)
	case res.Cancelled:
		return stopped(ctx)
	case res.Signal != "":
		return store.Failed, "killed by " + res.Signal
	case res.ExitCode < 0:
		return store.Failed, "how the process ended is not known"
	}
	return store.Done, ""
}
