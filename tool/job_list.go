package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/text"
	"github.com/fantasytools/fantasytools/internal/typed"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// ListJobsInput is the input of job_list.
type ListJobsInput struct {
	AllSessions bool   `json:"all_sessions,omitempty" jsonschema:"description=Also jobs of other sessions of this agent"`
	Status      string `json:"status,omitempty" jsonschema:"description=Only jobs in this state,enum=pending,enum=running,enum=done,enum=error,enum=cancelled,enum=orphaned"`
	Limit       int    `json:"limit,omitempty" jsonschema:"description=How many jobs at most,minimum=1,maximum=100,default=20"`
}

// listedJob is one element of the answer; the last may be a note alone.
type listedJob struct {
	JobID    string `json:"job_id,omitempty"`
	Status   string `json:"status,omitempty"`
	Bin      string `json:"bin,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Elapsed  string `json:"elapsed,omitempty"`
	Note     string `json:"note,omitempty"`
}

// ListResult is the Metadata, as JSON, of job_list.
type ListResult struct {
	Found int `json:"found"` // jobs that fit
	Shown int `json:"shown"`
}

func (j *jobTools) list(ctx context.Context, in ListJobsInput, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
	o := jobsclient.ListOptions{Status: jobsclient.Status(in.Status)}
	if session := sessionOf(ctx); session != "" && !in.AllSessions {
		o.Labels = map[string]string{SessionLabel: session}
	}
	jobs, notes, err := j.readable(ctx, o)
	if err != nil {
		return typed.Failure(ctx, err)
	}
	slices.SortStableFunc(jobs, func(a, b *jobsclient.Job) int { return b.Created.Compare(a.Created) })
	limit := in.Limit
	if limit <= 0 {
		limit = 20
	}
	shown := make([]listedJob, 0, limit)
	for _, job := range jobs[:min(limit, len(jobs))] {
		shown = append(shown, listed(job))
	}
	result := ListResult{Found: len(jobs), Shown: len(shown)}
	if more := len(jobs) - len(shown); more > 0 {
		notes = append(notes, fmt.Sprintf("%d older jobs are not shown; choose by status or raise limit", more))
	}
	for _, note := range notes {
		shown = append(shown, listedJob{Note: note})
	}
	return fantasy.WithResponseMetadata(fantasy.NewTextResponse(encodeJSON(shown)), result), nil
}

func listed(job *jobsclient.Job) listedJob {
	l := listedJob{JobID: shownID(job.ID), Status: shownStatus(job), Bin: text.Line(job.Bin, 200)}
	if job.Status == jobsclient.Done {
		l.ExitCode = &job.ExitCode
	}
	if !job.Started.IsZero() {
		l.Elapsed = job.Elapsed(time.Now()).Round(time.Second).String()
	}
	return l
}

// readable lists the jobs. One job with output that cannot be sent, or too much
// of it, makes the daemon's whole list fail; then the states are asked for one by
// one, and what cannot be read is said.
func (j *jobTools) readable(ctx context.Context, o jobsclient.ListOptions) ([]*jobsclient.Job, []string, error) {
	jobs, err := j.client.List(withoutDeadline(ctx), o)
	if err == nil || o.Status != "" || !unlistable(err) {
		return jobs, nil, err
	}
	var notes []string
	for _, state := range []jobsclient.Status{jobsclient.Pending, jobsclient.Running, jobsclient.Done, jobsclient.Failed, jobsclient.Cancelled, jobsclient.Orphaned} {
		o.Status = state
		some, err := j.client.List(withoutDeadline(ctx), o)
		switch {
		case err == nil:
			jobs = append(jobs, some...)
		case unlistable(err):
			notes = append(notes, unlisted(state, err))
		default:
			return nil, nil, err
		}
	}
	return jobs, notes, nil
}

func unlisted(state jobsclient.Status, err error) string {
	reason := "one of them has output that is not text"
	if errors.Is(err, jobsclient.ErrTooLarge) {
		reason = "together they have more output than is read at once"
	}
	return fmt.Sprintf("jobs with status %s cannot be listed: %s; look at single jobs by their ids with job_status", state, reason)
}

func unlistable(err error) bool {
	return errors.Is(err, jobsclient.ErrUnreadable) || errors.Is(err, jobsclient.ErrTooLarge)
}
