package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/internal/scripted"
	"github.com/fantasytools/fantasytools/tool"
)

// countingTool returns a tool that counts its calls.
func countingTool(calls *int) fantasy.AgentTool {
	return tool.NewParallel("count", "Counts its calls.", func(context.Context, struct{}, fantasy.ToolCall) (fantasy.ToolResponse, error) {
		*calls++
		return fantasy.NewTextResponse("counted"), nil
	})
}

func TestAGuardedCallIsMadeOnlyIfTheCheckAllowsIt(t *testing.T) {
	tests := []struct {
		name  string
		check error
		want  fantasy.ToolResponse
		calls int
	}{
		{"allowed", nil, fantasy.NewTextResponse("counted"), 1},
		{"refused", errors.New("not on Sundays; wait until tomorrow"), fantasy.NewTextErrorResponse("not on Sundays; wait until tomorrow"), 0},
		{"refused in words that need cleaning", errors.New("\x1b[31mno\x00\xff"), fantasy.NewTextErrorResponse("no\uFFFD"), 0},
		{"refused without words", errors.New(" "), fantasy.NewTextErrorResponse("the call failed and gave no reason"), 0},
		{"refused with the end of the turn", fmt.Errorf("the user said no: %w", tool.ErrStopTurn), fantasy.ToolResponse{Type: "text", Content: "the user said no: the turn ends here", IsError: true, StopTurn: true}, 0},
		{"the check's own limit is no Go error", fmt.Errorf("asking: %w", context.DeadlineExceeded), fantasy.NewTextErrorResponse("asking: context deadline exceeded"), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var calls int
			want := fantasy.ToolCall{ID: "7", Name: "count", Input: " {} "}
			tools := tool.Guard([]fantasy.AgentTool{countingTool(&calls)}, func(_ context.Context, info fantasy.ToolInfo, call fantasy.ToolCall) error {
				if info.Name != "count" || call != want {
					t.Errorf("the check is told of %+v %+v", info, call)
				}
				return tt.check
			})
			got, err := tools[0].Run(context.Background(), want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
			if calls != tt.calls {
				t.Errorf("the tool was called %d times, want %d", calls, tt.calls)
			}
		})
	}
}

func TestACheckThatWaitsEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var calls int
	tools := tool.Guard([]fantasy.AgentTool{countingTool(&calls)}, func(ctx context.Context, _ fantasy.ToolInfo, _ fantasy.ToolCall) error {
		cancel()
		<-ctx.Done()
		return fmt.Errorf("waiting for the user: %w", ctx.Err())
	})
	resp, err := tools[0].Run(ctx, fantasy.ToolCall{})
	if !errors.Is(err, context.Canceled) || !cmp.Equal(resp, fantasy.ToolResponse{}) || calls != 0 {
		t.Errorf("Run = %+v, %v after %d calls; want the context's error and no call", resp, err, calls)
	}
}

func TestACheckThatPanicsRefusesTheCall(t *testing.T) {
	var calls int
	tools := tool.Guard([]fantasy.AgentTool{countingTool(&calls)}, func(context.Context, fantasy.ToolInfo, fantasy.ToolCall) error {
		panic("boom")
	})
	resp, err := tools[0].Run(context.Background(), fantasy.ToolCall{})
	if err != nil || !resp.IsError || calls != 0 {
		t.Fatalf("Run = %+v, %v after %d calls; want a refusal", resp, err, calls)
	}
	if strings.Contains(resp.Content, "boom") || !strings.Contains(resp.Content, "not made") {
		t.Errorf("the model reads %q", resp.Content)
	}
	var host tool.Panic
	if err := json.Unmarshal([]byte(resp.Metadata), &host); err != nil || host.Value != "boom" || !strings.Contains(host.Stack, "guard_test.go") {
		t.Errorf("the host reads %+v, %v", host, err)
	}
}

func TestAGuardedToolIsTheSameToolBesides(t *testing.T) {
	var calls int
	inner := countingTool(&calls)
	guarded := tool.Guard([]fantasy.AgentTool{inner}, func(context.Context, fantasy.ToolInfo, fantasy.ToolCall) error { return nil })[0]
	if diff := cmp.Diff(inner.Info(), guarded.Info()); diff != "" {
		t.Errorf("Info (-inner +guarded):\n%s", diff)
	}
	guarded.SetProviderOptions(fantasy.ProviderOptions{"a": nil})
	if !cmp.Equal(inner.ProviderOptions(), guarded.ProviderOptions()) || len(inner.ProviderOptions()) != 1 {
		t.Errorf("ProviderOptions are %v inside and %v outside", inner.ProviderOptions(), guarded.ProviderOptions())
	}
}

// handWritten is a tool whose Info leaves out what it does not have.
type handWritten struct{ fantasy.AgentTool }

func (handWritten) Info() fantasy.ToolInfo {
	return fantasy.ToolInfo{Name: "hand", Description: "Hand-written."}
}

func TestTheSchemaOfAGuardedHandWrittenToolHoldsNoNull(t *testing.T) {
	allow := func(context.Context, fantasy.ToolInfo, fantasy.ToolCall) error { return nil }
	var calls int
	tools := tool.Guard([]fantasy.AgentTool{handWritten{countingTool(&calls)}}, allow)
	m := &scripted.Model{Turns: []scripted.Turn{{Text: "Done."}}}
	if _, err := fantasy.NewAgent(m, fantasy.WithTools(tools...)).Generate(context.Background(), fantasy.AgentCall{Prompt: "Go."}); err != nil {
		t.Fatal(err)
	}
	schema, err := json.Marshal(m.Requests()[0].Tools[0].(fantasy.FunctionTool).InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"properties":{},"required":[],"type":"object"}`; string(schema) != want {
		t.Errorf("the schema is %s, want %s", schema, want)
	}
}

func TestTheOutermostGuardIsAskedFirst(t *testing.T) {
	var asked []string
	check := func(name string, err error) func(context.Context, fantasy.ToolInfo, fantasy.ToolCall) error {
		return func(context.Context, fantasy.ToolInfo, fantasy.ToolCall) error {
			asked = append(asked, name)
			return err
		}
	}
	var calls int
	tools := tool.Guard([]fantasy.AgentTool{countingTool(&calls)}, check("inner", nil))
	tools = tool.Guard(tools, check("outer", errors.New("no")))
	if _, err := tools[0].Run(context.Background(), fantasy.ToolCall{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"outer"}, asked); diff != "" || calls != 0 {
		t.Errorf("%d calls; asked (-want +got):\n%s", calls, diff)
	}
}

func TestGuardLetsNoMistakePassEverything(t *testing.T) {
	allow := func(context.Context, fantasy.ToolInfo, fantasy.ToolCall) error { return nil }
	if got := tool.Guard(nil, allow); got == nil || len(got) != 0 {
		t.Errorf("no tools are %#v, want an empty list", got)
	}
	for name, f := range map[string]func(){
		"tool.Guard: check is nil":  func() { tool.Guard(nil, nil) },
		"tool.Guard: a tool is nil": func() { tool.Guard([]fantasy.AgentTool{nil}, allow) },
	} {
		func() {
			defer func() {
				if got := recover(); got != name {
					t.Errorf("Guard panicked with %v, want %q", got, name)
				}
			}()
			f()
		}()
	}
}

func TestErrStopTurnEndsTheTurnOfTheRealAgent(t *testing.T) {
	var calls int
	tools := tool.Guard([]fantasy.AgentTool{countingTool(&calls)}, func(context.Context, fantasy.ToolInfo, fantasy.ToolCall) error {
		return fmt.Errorf("the user said no: %w", tool.ErrStopTurn)
	})
	newModel := func() *scripted.Model {
		return &scripted.Model{Turns: []scripted.Turn{{Calls: []scripted.Call{{Tool: "count", Input: "{}"}}}, {Text: "Never said."}}}
	}
	check := func(m *scripted.Model, result *fantasy.AgentResult, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(m.Requests()); n != 1 || calls != 0 || len(result.Steps) != 1 {
			t.Errorf("%d requests, %d calls, %d steps; want one request and one step", n, calls, len(result.Steps))
		}
		results := result.Response.Content.ToolResults()
		if len(results) != 1 || !strings.Contains(fmt.Sprint(results[0].Result), "the user said no") {
			t.Errorf("the results are %+v", results)
		}
	}
	m := newModel()
	result, err := fantasy.NewAgent(m, fantasy.WithTools(tools...)).Generate(context.Background(), fantasy.AgentCall{Prompt: "Go."})
	check(m, result, err)
	m = newModel()
	result, err = fantasy.NewAgent(m, fantasy.WithTools(tools...)).Stream(context.Background(), fantasy.AgentStreamCall{Prompt: "Go."})
	check(m, result, err)
}
