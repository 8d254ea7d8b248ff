//go:build unix

package tool

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"path/filepath"
	"slices"
	"testing"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/internal/scripted"
)

// runs are the two ways in which a host runs an agent.
var runs = map[string]func(context.Context, fantasy.Agent) (*fantasy.AgentResult, error){
	"Generate": func(ctx context.Context, a fantasy.Agent) (*fantasy.AgentResult, error) {
		return a.Generate(ctx, fantasy.AgentCall{Prompt: "Go."})
	},
	"Stream": func(ctx context.Context, a fantasy.Agent) (*fantasy.AgentResult, error) {
		return a.Stream(ctx, fantasy.AgentStreamCall{Prompt: "Go."})
	},
}

// results are the tool results that the model was shown in a request.
func results(request fantasy.Call) []fantasy.ToolResultPart {
	var found []fantasy.ToolResultPart
	for _, message := range request.Prompt {
		for _, part := range message.Content {
			if result, ok := fantasy.AsMessagePart[fantasy.ToolResultPart](part); ok {
				found = append(found, result)
			}
		}
	}
	return found
}

// shownText is a tool result as text, errors among them.
func shownText(t *testing.T, result fantasy.ToolResultPart) string {
	t.Helper()
	if text, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentText](result.Output); ok {
		return text.Text
	}
	failure, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentError](result.Output)
	if !ok {
		t.Fatalf("a result of type %T", result.Output)
	}
	return "error: " + failure.Error.Error()
}

func TestAnAgentGoesOnAfterFailuresOfAllKinds(t *testing.T) {
	tools, err := LoadTools([]Def{
		{Name: "sh", Description: "Runs a shell.", Binary: "/bin/sh", Parallel: true},
		{Name: "none", Description: "Fails.", Binary: "false"},
	}, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			model := &scripted.Model{Turns: []scripted.Turn{
				{Calls: []scripted.Call{
					{Tool: "sh", Input: `{"args":["-c","echo one"]}`},
					{Tool: "sh", Input: `{"args":["-c","echo why >&2; exit 3"]}`},
					{Tool: "none", Input: `{"args":["x"]}`},
					{Tool: "sh", Input: `{"arguments":["--dry-run"]}`},
					{Tool: "sh", Input: `{}`},
				}},
				{Text: "Done."},
			}}
			if _, err := run(t.Context(), fantasy.NewAgent(model, fantasy.WithTools(tools...))); err != nil {
				t.Fatal(err)
			}
			requests := model.Requests()
			if len(requests) != 2 {
				t.Fatalf("%d requests, want 2", len(requests))
			}
			var got []string
			for _, result := range results(requests[1]) {
				got = append(got, shownText(t, result))
			}
			want := []string{
				"one\n",
				"error: exit code 3\n\nstderr:\nwhy\n",
				"error: exit code 1, no output",
				`error: Nothing was run: the input has the unknown key "arguments"; the keys are "args", "stdin".`,
				"error: Nothing was run: provide args, stdin, or both.",
			}
			slices.Sort(got) // the order of parallel calls is the agent's
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheModelIsShownTheParametersAndAnImage(t *testing.T) {
	var pixels bytes.Buffer
	if err := png.Encode(&pixels, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	tool := load(t, Def{Name: "decode", Description: "Decodes, with commas, all of it.", Binary: "base64", Args: []string{"-d"}})
	input, err := json.Marshal(Input{Stdin: base64.StdEncoding.EncodeToString(pixels.Bytes())})
	if err != nil {
		t.Fatal(err)
	}
	model := &scripted.Model{Turns: []scripted.Turn{{Calls: []scripted.Call{{Tool: "decode", Input: string(input)}}}, {Text: "Done."}}}
	if _, err := fantasy.NewAgent(model, fantasy.WithTools(tool)).Generate(t.Context(), fantasy.AgentCall{Prompt: "Go."}); err != nil {
		t.Fatal(err)
	}
	requests := model.Requests()
	want := fantasy.FunctionTool{
		Name: "decode", Description: "Decodes, with commas, all of it.",
		InputSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{
				"args": map[string]any{
					"type": "array", "items": map[string]any{"type": "string"},
					"description": "Arguments of the program, one list element each. There is no shell: quotes, wildcards, variables, pipes and redirections are not interpreted.",
				},
				"stdin": map[string]any{"type": "string", "description": "Text for the program's standard input. It is empty if this is left out."},
			},
			"required": []string{},
		},
	}
	if diff := cmp.Diff([]fantasy.Tool{want}, requests[0].Tools); diff != "" {
		t.Errorf("the tool as the model sees it (-want +got):\n%s", diff)
	}
	media, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentMedia](results(requests[1])[0].Output)
	if !ok || media.MediaType != "image/png" || media.Data != base64.StdEncoding.EncodeToString(pixels.Bytes()) {
		t.Errorf("the image arrived as %+v", results(requests[1])[0].Output)
	}
}

func TestCancellingAnAgentStopsItsProgram(t *testing.T) {
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			work := t.TempDir()
			tools, err := LoadTools([]Def{{Name: "sh", Description: "Runs a shell.", Binary: "/bin/sh"}}, work, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer cancel()
				awaitFile(filepath.Join(work, "started"))
			}()
			model := &scripted.Model{Turns: []scripted.Turn{
				{Calls: []scripted.Call{{Tool: "sh", Input: `{"args":["-c","touch started; exec sleep 300"]}`}}},
				{Text: "never said"},
			}}
			_, err = run(ctx, fantasy.NewAgent(model, fantasy.WithTools(tools...)))
			// Generate drops the step and returns no error.
			if name == "Stream" && !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the cancellation", err)
			}
			if n := len(model.Requests()); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
}
