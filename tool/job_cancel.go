package tool

import (
	"context"
	"errors"
	"time"

	"charm.land/fantasy"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/internal/typed"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// settle is how long job_cancel waits for the job to be seen cancelled.
const settle = time.Second

func (j *jobTools) cancel(ctx context.Context, in JobIDInput, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
	id := in.id()
	err := j.client.Cancel(withoutDeadline(ctx), id)
	switch {
	case err == nil:
		return j.cancelled(ctx, id), nil
	case errors.Is(err, jobsclient.ErrNotRunning):
		return j.notRunning(ctx, id)
	case ctx.Err() == nil && status.Code(err) == codes.DeadlineExceeded:
		// The client's limit was over after the request had been sent.
		return unconfirmed(id), nil
	}
	return typed.Failure(ctx, err)
}

// cancelled answers the state that a job has a moment after its cancel.
func (j *jobTools) cancelled(ctx context.Context, id string) fantasy.ToolResponse {
	moment, stop := context.WithTimeout(ctx, settle)
	defer stop()
	job, err := j.client.Wait(moment, id)
	switch {
	case job == nil:
		return jobAnswer(jobText{JobID: shownID(id), Status: string(jobsclient.Running), Note: "cancel accepted; call job_status to see how the job ended"},
			JobResult{JobID: shownID(id), Status: string(jobsclient.Running)})
	case err != nil:
		return describe(job, "cancel accepted; the job is about to end, call job_status to see how")
	case job.Status == jobsclient.Cancelled:
		return describe(job, "cancelled")
	}
	return describe(job, "cancel accepted, but the job had just ended by itself")
}

// notRunning answers the state of a job that cannot be cancelled, which is no
// failure: what was wanted is so already, or not yet possible.
func (j *jobTools) notRunning(ctx context.Context, id string) (fantasy.ToolResponse, error) {
	job, err := j.client.Get(withoutDeadline(ctx), id)
	switch {
	case err != nil:
		return typed.Failure(ctx, err)
	case job.Status == jobsclient.Pending:
		return describe(job, "not cancelled: the job is still queued, and the daemon cancels only running jobs; try again once it runs"), nil
	case job.Status == jobsclient.Cancelled:
		return describe(job, "the job was cancelled already"), nil
	case job.Ended():
		return describe(job, "nothing to cancel: the job has ended already"), nil
	}
	return describe(job, "the job is being cancelled already"), nil
}

func unconfirmed(id string) fantasy.ToolResponse {
	return jobAnswer(struct {
		JobID string `json:"job_id"`
		Note  string `json:"note"`
	}{shownID(id), "cancel requested, not confirmed: the jobs daemon did not answer in time; call job_status to see the job's state"},
		JobResult{JobID: shownID(id)})
}
