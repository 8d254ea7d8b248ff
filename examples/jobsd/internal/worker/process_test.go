package worker

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
	"github.com/fantasytools/fantasytools/internal/run"
)

func TestTheEndOfAProcessIsTheEndOfItsJob(t *testing.T) {
	stop := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		return ctx
	}
	free := context.Background()
	for _, tc := range []struct {
		name   string
		ctx    context.Context
		res    run.Result
		status string
		text   string
	}{
		{"an exit", free, run.Result{ExitCode: 3}, store.Done, ""},
		{"a large exit code", free, run.Result{ExitCode: math.MaxUint32}, store.Done, ""},
		{"an exit as the client cancelled", stop(errCancelled), run.Result{ExitCode: 3}, store.Done, ""},
		{"a signal", free, run.Result{ExitCode: -1, Signal: "SIGBUS"}, store.Failed, "killed by SIGBUS"},
		{"no exit code and no signal", free, run.Result{ExitCode: -1}, store.Failed, "how the process ended is not known"},
		{"a timeout", free, run.Result{ExitCode: -1, Signal: "SIGTERM", TimedOut: true}, store.Failed, "stopped after the run time limit of 1h0m0s"},
		{"a cancel", stop(errCancelled), run.Result{ExitCode: -1, Signal: "SIGTERM", Cancelled: true}, store.Cancelled, ""},
		{"a shutdown", stop(errAborted), run.Result{ExitCode: 0, Cancelled: true}, store.Cancelled, errAborted.Error()},
		{"a process that cannot be killed", stop(errCancelled), run.Result{PID: 7, ExitCode: -1, Cancelled: true, GivenUp: true},
			store.Failed, "the process 7 could not be killed and may still run; end it on the worker's machine"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, text := ended(tc.ctx, &tc.res, time.Hour)
			if status != tc.status || text != tc.text {
				t.Errorf("got %s, %q", status, text)
			}
		})
	}
}

func TestAProgramThatDidNotStartSaysWhy(t *testing.T) {
	if status, text := unstarted(context.Background(), errors.New("there is none")); status != store.Failed || text != "there is none" {
		t.Errorf("got %s, %q", status, text)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errAborted)
	if status, text := unstarted(ctx, ctx.Err()); status != store.Cancelled || !strings.Contains(text, "shut down") {
		t.Errorf("got %s, %q", status, text)
	}
}
