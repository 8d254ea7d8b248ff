package tool

import (
	"context"
	"errors"
	"maps"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/typed"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// SubmitJobInput is the input of job_submit.
type SubmitJobInput struct {
	Bin    string            `json:"bin" jsonschema:"description=Name of the BIN to run, exactly as it is declared for this agent"`
	Args   []string          `json:"args,omitempty" jsonschema:"description=Arguments, one string each; no shell reads them, so no quoting, pipes or wildcards"`
	Stdin  string            `json:"stdin,omitempty" jsonschema:"description=Text for the standard input; empty: none"`
	Labels map[string]string `json:"labels,omitempty" jsonschema:"description=Names and values by which the job can be told from others"`
}

func (j *jobTools) submit(ctx context.Context, in SubmitJobInput, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
	labels := in.Labels
	if session := sessionOf(ctx); session != "" {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[SessionLabel] = session
	}
	// The limit is the client's own, which tells apart what became of the job.
	id, err := j.client.Submit(withoutDeadline(ctx), jobsclient.SubmitRequest{Bin: in.Bin, Args: in.Args, Stdin: in.Stdin, Labels: labels})
	switch {
	case errors.Is(err, jobsclient.ErrAnswerLost):
		// Also when the turn was cancelled: that a job may run must be said.
		return fantasy.NewTextErrorResponse(err.Error() + j.whereToLook()), nil
	case err != nil:
		return typed.Failure(ctx, err)
	}
	id = shownID(id)
	return jobAnswer(submitted{JobID: id}, JobResult{JobID: id, Status: string(jobsclient.Pending)}), nil
}

type submitted struct {
	JobID string `json:"job_id"`
}

func (j *jobTools) whereToLook() string {
	if j.hasList {
		return "; job_list shows the newest first"
	}
	return "; there is no tool for that here, so tell the user"
}
