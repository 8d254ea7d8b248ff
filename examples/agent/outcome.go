package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/tool"
)

// outcome is a tool's answer as a reader wants to see it.
type outcome struct {
	failed  bool
	summary string // how it ended, in how long, with how much output
	text    string // what the model reads
}

func newOutcome(r fantasy.ToolResultContent) outcome {
	o := outcome{text: resultText(r.Result)}
	_, o.failed = fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentError](r.Result)
	var ran tool.Result
	if r.ClientMetadata == "" || json.Unmarshal([]byte(r.ClientMetadata), &ran) != nil {
		o.summary = "answered" // and ran no program
		if o.failed {
			o.summary = "refused"
		}
		return o
	}
	o.summary = fmt.Sprintf("%s, %v, %d bytes", ending(ran),
		time.Duration(ran.DurationMS)*time.Millisecond, ran.StdoutBytes+ran.StderrBytes)
	if ran.MediaType != "" {
		o.summary += " of " + ran.MediaType
	}
	return o
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
