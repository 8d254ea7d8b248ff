package tool

import (
	"context"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/typed"
	"github.com/fantasytools/fantasytools/jobsclient"
)

func (j *jobTools) status(ctx context.Context, in JobIDInput, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
	job, err := j.client.Get(withoutDeadline(ctx), in.id())
	if err != nil {
		return typed.Failure(ctx, err)
	}
	return describe(job, statusNote(job)), nil
}

func statusNote(job *jobsclient.Job) string {
	switch job.Status {
	case jobsclient.Pending:
		return "still queued; call job_wait to wait for the end"
	case jobsclient.Orphaned:
		return "the jobs daemon was restarted while the job ran: how it ended is not known, and its process may still run"
	}
	if !job.Ended() {
		return "still running; call job_wait to wait for the end instead of asking again"
	}
	return ""
}
