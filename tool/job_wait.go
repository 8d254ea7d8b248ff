package tool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/typed"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// wait is job_wait. It promises that a job does not outlive a turn that was
// cancelled while it waited; a deadline that passes is no cancel.
func (j *jobTools) wait(ctx context.Context, in JobIDInput, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
	answer, err := j.await(ctx, in.id(), "job_wait")
	if errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled) {
		j.abandon(ctx, in.id())
	}
	return answer, err
}

// watch is job_watch, which leaves the job alone.
func (j *jobTools) watch(ctx context.Context, in JobIDInput, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
	return j.await(ctx, in.id(), "job_watch")
}

func (j *jobTools) await(ctx context.Context, id, name string) (fantasy.ToolResponse, error) {
	begin := time.Now()
	patience, cancel := context.WithTimeout(ctx, j.patience(ctx))
	defer cancel()
	job, err := j.client.Wait(patience, id)
	switch {
	case err == nil:
		return describe(job, endNote(job)), nil
	case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
		return typed.Failure(ctx, err)
	case job == nil:
		return fantasy.NewTextErrorResponse(fmt.Sprintf(
			"The state of job %s could not be read within %v: the jobs daemon did not answer in time. The job is not touched; call %s again.",
			shownID(id), time.Since(begin).Round(100*time.Millisecond), name)), nil
	}
	note := fmt.Sprintf("still %s after waiting %v; the job goes on, call %s again to go on waiting",
		shownStatus(job), time.Since(begin).Round(100*time.Millisecond), name)
	if errors.Is(err, jobsclient.ErrUnavailable) {
		note = fmt.Sprintf("the jobs daemon could not be reached any more when the wait of %v was over: this is the last state that was seen; call %s again to go on waiting",
			time.Since(begin).Round(100*time.Millisecond), name)
	}
	return describe(job, note), nil
}

// patience is how long to wait: MaxWait, but with time left for the answer
// before the turn's deadline.
func (j *jobTools) patience(ctx context.Context) time.Duration {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return j.maxWait
	}
	left := time.Until(deadline)
	return min(j.maxWait, left-min(deadlineGap, left/2))
}

// abandon cancels a job whose turn was cancelled. It has its own time, since the
// turn's is over; what comes of it nobody can be told.
func (j *jobTools) abandon(ctx context.Context, id string) {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelLimit)
	defer cancel()
	_ = j.client.Cancel(short, id)
}

func endNote(job *jobsclient.Job) string {
	if job.Status == jobsclient.Orphaned {
		return statusNote(job)
	}
	return ""
}
