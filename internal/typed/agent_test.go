package typed_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/internal/scripted"
	"github.com/fantasytools/fantasytools/internal/typed"
)

// runs are the two ways in which a host runs an agent.
var runs = map[string]func(fantasy.Agent) (*fantasy.AgentResult, error){
	"Generate": func(a fantasy.Agent) (*fantasy.AgentResult, error) {
		return a.Generate(context.Background(), fantasy.AgentCall{Prompt: "Go."})
	},
	"Stream": func(a fantasy.Agent) (*fantasy.AgentResult, error) {
		return a.Stream(context.Background(), fantasy.AgentStreamCall{Prompt: "Go."})
	},
}

func TestTheAgentGivesTheModelTheWholeSchema(t *testing.T) {
	tools := []fantasy.AgentTool{newTool[struct{}]("none"), newTool[commas]("commas"), newTool[optional]("optional"), newTool[flattened]("flat"), newTool[everything]("all")}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			m := &scripted.Model{Turns: []scripted.Turn{{Calls: []scripted.Call{{Tool: "none", Input: "{}"}}}, {Text: "Done."}}}
			if _, err := run(fantasy.NewAgent(m, fantasy.WithTools(tools...))); err != nil {
				t.Fatal(err)
			}
			requests := m.Requests()
			if len(requests) != 2 {
				t.Fatalf("%d requests, want 2", len(requests))
			}
			for _, r := range requests {
				checkTools(t, tools, r.Tools)
			}
		})
	}
}

// checkTools checks that the model is given the schema that Info has, and that
// every description in the source is whole in it.
func checkTools(t *testing.T, tools []fantasy.AgentTool, got []fantasy.Tool) {
	t.Helper()
	if len(got) != len(tools) {
		t.Fatalf("the model is given %d tools, want %d", len(got), len(tools))
	}
	for i, tool := range tools {
		info, function := tool.Info(), got[i].(fantasy.FunctionTool)
		want := fantasy.FunctionTool{
			Name: info.Name, Description: info.Description,
			InputSchema: map[string]any{"type": "object", "properties": info.Parameters, "required": info.Required},
		}
		if diff := cmp.Diff(want, function); diff != "" {
			t.Errorf("tool %s (-want +got):\n%s", info.Name, diff)
		}
	}
	sent, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []reflect.Type{reflect.TypeFor[everything](), reflect.TypeFor[page](), reflect.TypeFor[filters](), reflect.TypeFor[inner](), reflect.TypeFor[embedded]()} {
		for f := range in.Fields() {
			_, description, _ := strings.Cut(f.Tag.Get("jsonschema"), "description=")
			for _, key := range []string{",minimum=", ",maximum=", ",enum=", ",default="} {
				description, _, _ = strings.Cut(description, key)
			}
			if !strings.Contains(string(sent), `"description":"`+description) {
				t.Errorf("the description %q of %s.%s does not reach the model", description, in, f.Name)
			}
		}
	}
}

func TestTheModelReadsWhyItsCallWasRefusedAndTheTurnGoesOn(t *testing.T) {
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			var ran []filters
			tool := typed.New("list", "Lists.", typed.Options{}, func(_ context.Context, in filters, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
				ran = append(ran, in)
				if in.Limit == 100 {
					panic("too many")
				}
				return fantasy.ToolResponse{}, nil
			})
			m := &scripted.Model{Turns: []scripted.Turn{
				{Calls: []scripted.Call{{Tool: "list", Input: `{"limit":"ten"}`}, {Tool: "list", Input: `{"limit":1,"tag":"a"}`}, {Tool: "list", Input: `{"limit":null}`}}},
				{Calls: []scripted.Call{{Tool: "list", Input: `{"limit":"10","tags":"[\"a\"]"}`}, {Tool: "list", Input: `{"limit":100}`}}},
				{Text: "Done."},
			}}
			result, err := run(fantasy.NewAgent(m, fantasy.WithTools(tool)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, step := range result.Steps {
				for _, r := range step.Content.ToolResults() {
					switch output := r.Result.(type) {
					case fantasy.ToolResultOutputContentError:
						got = append(got, "error: "+output.Error.Error())
					case fantasy.ToolResultOutputContentText:
						got = append(got, output.Text)
					}
				}
			}
			want := []string{
				`error: Nothing was run: limit must be an integer from 1 to 100, not the text "ten". For example: {"limit": 1}`,
				`error: Nothing was run: the input has the unknown key "tag"; the keys are "limit", "tags".`,
				`error: Nothing was run: the input lacks "limit" (an integer from 1 to 100). For example: {"limit": 1}`,
				"(no output)",
				"error: The tool stopped with an internal error; what it did until then may have taken effect. Check before you call it again.",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what the model reads (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]filters{{Limit: 10, Tags: []string{"a"}}, {Limit: 100}}, ran); diff != "" {
				t.Errorf("what was run (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyAgentsShareTheTools(t *testing.T) {
	tools := []fantasy.AgentTool{newTool[everything]("all"), newTool[struct{}]("none")}
	var wg sync.WaitGroup
	for range 4 {
		for _, run := range runs {
			wg.Go(func() {
				m := &scripted.Model{Turns: []scripted.Turn{{Calls: []scripted.Call{{Tool: "all", Input: `{"args":["a"]}`}, {Tool: "none", Input: "{}"}}}, {Text: "Done."}}}
				if _, err := run(fantasy.NewAgent(m, fantasy.WithTools(tools...))); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

func TestAHostCanKeepTheAgentFromCompletingInputThatWasCutOff(t *testing.T) {
	refuse := func(context.Context, fantasy.ToolCallRepairOptions) (*fantasy.ToolCallContent, error) {
		return nil, errors.New("the input is not repaired")
	}
	for name, run := range map[string]func(fantasy.Agent) (*fantasy.AgentResult, error){
		"Generate": runs["Generate"],
		"Stream": func(a fantasy.Agent) (*fantasy.AgentResult, error) {
			return a.Stream(context.Background(), fantasy.AgentStreamCall{Prompt: "Go.", RepairToolCall: refuse})
		},
	} {
		t.Run(name, func(t *testing.T) {
			tool := typed.New("remove", "Removes.", typed.Options{}, func(_ context.Context, in everything, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
				t.Errorf("the tool was run with %q", in.Args)
				return fantasy.ToolResponse{}, nil
			})
			m := &scripted.Model{Turns: []scripted.Turn{{Calls: []scripted.Call{{Tool: "remove", Input: `{"args":["-r","/tmp/a`}}}, {Text: "Done."}}}
			agent := fantasy.NewAgent(m, fantasy.WithTools(tool), fantasy.WithRepairToolCall(refuse))
			if _, err := run(agent); err != nil {
				t.Fatal(err)
			}
		})
	}
}
