package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/tool"
)

// outcome is a tool's answer as a reader wants to see it.
type outcome struct {
	failed  bool
	summary string // how it ended, in how long, with how much output
	text    string // what the model reads; of a job without the JSON around it
}

// metadata is what a tool of the library adds to its answer for the host: a
// [tool.Result], a [tool.JobResult] or a [pilot.Metadata], told apart by the one
// field that is always there.
type metadata struct {
	ExitCode *int    `json:"exit_code"`
	JobID    *string `json:"job_id"`
	Verb     *string `json:"verb"`
}

func newOutcome(r fantasy.ToolResultContent) outcome {
	o := outcome{text: resultText(r.Result)}
	_, o.failed = fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentError](r.Result)
	raw := []byte(r.ClientMetadata)
	var m metadata
	_ = json.Unmarshal(raw, &m) // other tools may write there what they like
	switch {
	case m.Verb != nil:
		o.summary = pilotSummary(decoded[pilot.Metadata](raw), o.failed)
	case m.JobID != nil:
		o.summary, o.text = jobSummary(decoded[tool.JobResult](raw)), jobText(o.text)
	case m.ExitCode != nil:
		o.summary = programSummary(decoded[tool.Result](raw))
	case o.failed:
		o.summary = "refused"
	default:
		o.summary = "answered"
	}
	return o
}

func decoded[T any](raw []byte) T {
	var v T
	_ = json.Unmarshal(raw, &v) // what does not fit stays zero, and is only shown
	return v
}

func programSummary(r tool.Result) string {
	s := fmt.Sprintf("%s, %v, %d bytes", ending(r), milliseconds(r.DurationMS), r.StdoutBytes+r.StderrBytes)
	if r.MediaType != "" {
		s += " of " + r.MediaType
	}
	return s
}

// ending says how a program ended.
func ending(r tool.Result) string {
	switch {
	case r.Cancelled:
		return "cancelled"
	case r.TimedOut:
		return "timed out"
	case r.Signal != "":
		return "killed by " + r.Signal
	}
	return fmt.Sprintf("exit code %d", r.ExitCode)
}

func jobSummary(r tool.JobResult) string {
	ended := "job " + r.Status
	switch jobsclient.Status(r.Status) {
	case jobsclient.Pending:
		return ended
	case jobsclient.Done:
		ended += fmt.Sprintf(", exit code %d", r.ExitCode)
	}
	elapsed := milliseconds(r.ElapsedMS).Round(time.Second) // the daemon counts no finer
	return fmt.Sprintf("%s, %v, %d bytes", ended, elapsed, r.StdoutBytes+r.StderrBytes)
}

// jobText shows the JSON of a job by its texts, which have lines. What has none
// of them stays as it is.
func jobText(answer string) string {
	var job struct{ Stdout, Stderr, Error, Note string }
	_ = json.Unmarshal([]byte(answer), &job)
	var parts []string
	if job.Stdout != "" {
		parts = append(parts, strings.TrimRight(job.Stdout, "\n"))
	}
	for _, p := range []struct{ label, text string }{{"stderr:\n", job.Stderr}, {"error: ", job.Error}, {"note: ", job.Note}} {
		if p.text != "" {
			parts = append(parts, p.label+strings.TrimRight(p.text, "\n"))
		}
	}
	if len(parts) == 0 {
		return answer
	}
	return strings.Join(parts, "\n")
}

func pilotSummary(m pilot.Metadata, failed bool) string {
	ended := string(m.Outcome)
	switch {
	case failed && m.Runs == 0:
		return "refused"
	case failed && m.Code != "":
		ended = m.Code
	case failed:
		ended = "failed"
	case ended == "":
		ended = "answered"
	}
	return fmt.Sprintf("%s, %v", strings.ReplaceAll(ended, "_", " "), milliseconds(m.DurationMS))
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func resultText(result fantasy.ToolResultOutputContent) string {
	if text, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentText](result); ok {
		return text.Text
	}
	if failure, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentError](result); ok {
		if errors.Is(failure.Error, context.Canceled) {
			return "" // the run ends here, and no model reads it
		}
		return failure.Error.Error()
	}
	if media, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentMedia](result); ok {
		return "(" + media.MediaType + ", which the model sees)"
	}
	return ""
}
