//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/tool"
)

func TestPrinterSeparatesWhatDoesNotBelongTogether(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out, false)
	ok := fantasy.ToolResultOutputContentText{Text: "a\n\nb\n"}
	err := errors.Join(
		p.text("", "Two "), p.text("", "calls"), p.endText(""),
		p.call(fantasy.ToolCallContent{ToolCallID: "x", ToolName: "ls", Input: `{"args": [ "a  b" ]}`}),
		p.call(fantasy.ToolCallContent{ToolCallID: "y", ToolName: "l\x1bs", Input: "{\nbroken"}),
		p.result(fantasy.ToolResultContent{ToolCallID: "y", Result: ok}),
		p.result(fantasy.ToolResultContent{ToolCallID: "x", Result: ok}),
		p.text("", "Do"),
	)
	p.retry(nil, 0)
	err = errors.Join(err, p.text("", "Done"), p.endText(""), p.footer(&fantasy.AgentResult{}))
	if err != nil {
		t.Fatal(err)
	}
	want := `Two calls

[1] ls {"args":["a  b"]}
[2] l�s { broken
[2] answered
    a

    b
[1] answered
    a

    b

Do

the service cannot be reached; asking again in 0s

Done

steps: 0; calls: 2, 0 of them failed
`
	if diff := cmp.Diff(want, strings.TrimPrefix(out.String(), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPrinterPaintsLinesOneByOne(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out, false)
	p.color = true
	if err := p.result(fantasy.ToolResultContent{Result: fantasy.ToolResultOutputContentError{Error: errors.New("a\nb")}}); err != nil {
		t.Fatal(err)
	}
	want := "\n\x1b[1;31m[0] refused\x1b[0m\n\x1b[2m    a\x1b[0m\n\x1b[2m    b\x1b[0m\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutcome(t *testing.T) {
	text := fantasy.ToolResultOutputContentText{Text: "t"}
	failure := fantasy.ToolResultOutputContentError{Error: errors.New("e")}
	for _, tc := range []struct {
		name     string
		result   fantasy.ToolResultOutputContent
		metadata any
		want     outcome
	}{
		{"a program that ended well", text, tool.Result{DurationMS: 1204, StdoutBytes: 10, StderrBytes: 2},
			outcome{summary: "exit code 0, 1.204s, 12 bytes", text: "t"}},
		{"a program that failed", failure, tool.Result{ExitCode: 3}, outcome{failed: true, summary: "exit code 3, 0s, 0 bytes", text: "e"}},
		{"a program that was killed", failure, tool.Result{ExitCode: -1, Signal: "SIGKILL"}, outcome{failed: true, summary: "killed by SIGKILL, 0s, 0 bytes", text: "e"}},
		{"a program that took too long", failure, tool.Result{ExitCode: -1, Signal: "SIGTERM", TimedOut: true}, outcome{failed: true, summary: "timed out, 0s, 0 bytes", text: "e"}},
		{"a program that was interrupted", fantasy.ToolResultOutputContentError{Error: context.Canceled}, tool.Result{ExitCode: -1, Cancelled: true},
			outcome{failed: true, summary: "cancelled, 0s, 0 bytes"}},
		{"an image", fantasy.ToolResultOutputContentMedia{Data: "AA==", MediaType: "image/png"}, tool.Result{StdoutBytes: 1, MediaType: "image/png"},
			outcome{summary: "exit code 0, 0s, 1 bytes of image/png", text: "(image/png, which the model sees)"}},
		{"a job that was submitted", fantasy.ToolResultOutputContentText{Text: `{"job_id":"job_1"}`}, tool.JobResult{JobID: "job_1", Status: "pending"},
			outcome{summary: "job pending", text: `{"job_id":"job_1"}`}},
		{"a job that runs", fantasy.ToolResultOutputContentText{Text: `{"job_id":"job_1","status":"running","stdout":"a\nb\n","stderr":"","note":"wait"}`},
			tool.JobResult{JobID: "job_1", Status: "running", ElapsedMS: 1704, StdoutBytes: 4},
			outcome{summary: "job running, 2s, 4 bytes", text: "a\nb\nnote: wait"}},
		{"a job that failed", fantasy.ToolResultOutputContentText{Text: `{"job_id":"job_1","status":"done","exit_code":2,"stdout":"","stderr":"no\n"}`},
			tool.JobResult{JobID: "job_1", Status: "done", ExitCode: 2, StderrBytes: 3},
			outcome{summary: "job done, exit code 2, 0s, 3 bytes", text: "stderr:\nno"}},
		{"a job without output", fantasy.ToolResultOutputContentText{Text: `{"status":"done"}`}, tool.JobResult{Status: "done"},
			outcome{summary: "job done, exit code 0, 0s, 0 bytes", text: `{"status":"done"}`}},
		{"a list of jobs", fantasy.ToolResultOutputContentText{Text: "[]"}, tool.ListResult{}, outcome{summary: "answered", text: "[]"}},
		{"a peer that answered", text, pilot.Metadata{Verb: "query", Runs: 1, DurationMS: 70, Outcome: pilot.Answered}, outcome{summary: "answered, 70ms", text: "t"}},
		{"a message that was handed over", text, pilot.Metadata{Verb: "send", Runs: 1, Outcome: pilot.HandedOver}, outcome{summary: "handed over, 0s", text: "t"}},
		{"a Pilot call that failed", failure, pilot.Metadata{Verb: "send", Runs: 2, Code: "not_found"}, outcome{failed: true, summary: "not found, 0s", text: "e"}},
		{"a Pilot call that was refused", failure, pilot.Metadata{Verb: "send", Code: "invalid_argument"}, outcome{failed: true, summary: "refused", text: "e"}},
		{"metadata of another kind", text, []int{1}, outcome{summary: "answered", text: "t"}},
		{"a tool that runs no program", text, nil, outcome{summary: "answered", text: "t"}},
		{"a call that was refused", failure, nil, outcome{failed: true, summary: "refused", text: "e"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var metadata string
			if tc.metadata != nil {
				metadata = fantasy.WithResponseMetadata(fantasy.ToolResponse{}, tc.metadata).Metadata
			}
			got := newOutcome(fantasy.ToolResultContent{Result: tc.result, ClientMetadata: metadata})
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParallelResultsAreNotMixed(t *testing.T) {
	dir := t.TempDir()
	var script strings.Builder
	const calls = 20
	for i := range calls {
		fmt.Fprintf(&script, "sh {\"args\":[\"-c\",\"echo %d; echo %d\"]}\n", i+1, i+1)
	}
	script.WriteString("\n> Done.\n")
	tools, played := filepath.Join(dir, "tools.yaml"), filepath.Join(dir, "script.txt")
	for path, content := range map[string]string{
		tools:  "tools: [{name: sh, description: A shell., binary: sh, parallel: true}]",
		played: script.String(),
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"-tools", tools, "-script", played}, &stdout, &stderr); status != exitOK {
		t.Fatalf("exit status %d\n%s", status, stderr.String())
	}
	out := normalise(stdout.String())
	for i := range calls {
		n := i + 1
		want := fmt.Sprintf("\n[%d] exit code 0, 5ms, %d bytes\n    %d\n    %d\n", n, 2*len(fmt.Sprintln(n)), n, n)
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}
