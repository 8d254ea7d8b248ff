package scripted_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/internal/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shout is a tool that answers its input in capitals.
func shout() fantasy.AgentTool {
	type in struct {
		Text string `json:"text" description:"What to shout"`
	}
	return fantasy.NewAgentTool("shout", "Shouts.", func(_ context.Context, in in, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		return fantasy.NewTextResponse(strings.ToUpper(in.Text)), nil
	})
}

func newModel() *scripted.Model {
	return &scripted.Model{Turns: []scripted.Turn{
		{Text: "Two calls at once.", Calls: []scripted.Call{{Tool: "shout", Input: `{"text":"é b"}`}, {Tool: "shout", Input: `{"text":"c"}`}}},
		{Calls: []scripted.Call{{Tool: "shout", Input: `{}`}}},
		{Text: "All is done."},
	}}
}

// checkRequests checks that the model was asked three times, each time with
// the tool, and with the results of what it had called.
func checkRequests(t *testing.T, m *scripted.Model) {
	t.Helper()
	requests := m.Requests()
	if len(requests) != 3 {
		t.Fatalf("the model was asked %d times, want 3", len(requests))
	}
	for _, r := range requests {
		if len(r.Tools) != 1 || r.Tools[0].GetName() != "shout" {
			t.Errorf("the tools of a request are %v, want shout", r.Tools)
		}
	}
	var results []string
	ids := map[string]bool{}
	for _, message := range requests[2].Prompt {
		for _, part := range message.Content {
			result, ok := fantasy.AsMessagePart[fantasy.ToolResultPart](part)
			if !ok {
				continue
			}
			ids[result.ToolCallID] = true
			switch output := result.Output.(type) {
			case fantasy.ToolResultOutputContentText:
				results = append(results, output.Text)
			case fantasy.ToolResultOutputContentError:
				results = append(results, "an error")
			}
		}
	}
	if diff := cmp.Diff([]string{"É B", "C", "an error"}, results); diff != "" {
		t.Errorf("the results the model is told (-want +got):\n%s", diff)
	}
	if len(ids) != 3 {
		t.Errorf("the ids of the calls are %v, want 3 different ones", ids)
	}
}

func TestGeneratePlaysTheScriptInTheRealAgent(t *testing.T) {
	m := newModel()
	result, err := fantasy.NewAgent(m, fantasy.WithTools(shout())).Generate(context.Background(), fantasy.AgentCall{Prompt: "Go."})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Response.Content.Text(); got != "All is done." {
		t.Errorf("the last text is %q", got)
	}
	checkRequests(t, m)
}

func TestStreamFiresTheCallbacksThatProvidersFire(t *testing.T) {
	m := newModel()
	var text, input strings.Builder
	count := map[string]int{}
	counting := func(name string) func(string) error {
		return func(string) error { count[name]++; return nil }
	}
	result, err := fantasy.NewAgent(m, fantasy.WithTools(shout())).Stream(context.Background(), fantasy.AgentStreamCall{
		Prompt:      "Go.",
		OnTextStart: counting("text start"),
		OnTextDelta: func(_, delta string) error {
			count["text delta"]++
			text.WriteString(delta)
			return nil
		},
		OnTextEnd:        counting("text end"),
		OnToolInputStart: func(_, name string) error { count["input start"]++; return nil },
		OnToolInputDelta: func(_, delta string) error { input.WriteString(delta); return nil },
		OnToolInputEnd:   counting("input end"),
		OnToolCall:       func(fantasy.ToolCallContent) error { count["call"]++; return nil },
		OnToolResult:     func(fantasy.ToolResultContent) error { count["result"]++; return nil },
		OnStreamFinish: func(_ fantasy.Usage, reason fantasy.FinishReason, _ fantasy.ProviderMetadata) error {
			count[string(reason)]++
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Response.Content.Text(); got != "All is done." {
		t.Errorf("the last text is %q", got)
	}
	if got, want := text.String(), "Two calls at once.All is done."; got != want {
		t.Errorf("the streamed text is %q, want %q", got, want)
	}
	if got, want := input.String(), `{"text":"é b"}{"text":"c"}{}`; got != want {
		t.Errorf("the streamed input is %q, want %q", got, want)
	}
	want := map[string]int{
		"text start": 2, "text delta": 7, "text end": 2, "input start": 3, "input end": 3, "call": 3, "result": 3,
		"tool-calls": 2, "stop": 1,
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("callbacks (-want +got):\n%s", diff)
	}
	checkRequests(t, m)
}

func TestAScriptThatIsOverSaysSo(t *testing.T) {
	m := &scripted.Model{Turns: []scripted.Turn{{Text: "Only this."}}}
	ctx := context.Background()
	if _, err := m.Generate(ctx, fantasy.Call{}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Generate(ctx, fantasy.Call{}); !errors.Is(err, scripted.ErrOver) {
		t.Errorf("Generate returned the error %v, want ErrOver", err)
	}
	if _, err := m.Stream(ctx, fantasy.Call{}); !errors.Is(err, scripted.ErrOver) {
		t.Errorf("Stream returned the error %v, want ErrOver", err)
	}
	if got := len(m.Requests()); got != 3 {
		t.Errorf("%d requests were kept, want 3", got)
	}
}

func TestACancelledRequestPlaysNothing(t *testing.T) {
	m := &scripted.Model{Turns: []scripted.Turn{{Text: "One two three."}, {Text: "Last."}}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := m.Stream(ctx, fantasy.Call{})
	if err != nil {
		t.Fatal(err)
	}
	var last fantasy.StreamPart
	for part := range stream {
		last = part
		cancel()
	}
	if last.Type != fantasy.StreamPartTypeError || !errors.Is(last.Error, context.Canceled) {
		t.Errorf("the last part is %+v, want the error of the context", last)
	}
	if _, err := m.Generate(ctx, fantasy.Call{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Generate returned the error %v, want the context's", err)
	}
	resp, err := m.Generate(context.Background(), fantasy.Call{})
	if err != nil || resp.Content.Text() != "Last." {
		t.Errorf("the next turn is %v, %v; want the last one", resp, err)
	}
}

func TestConcurrentRequestsGetDifferentTurns(t *testing.T) {
	const n = 50
	m := &scripted.Model{}
	for range n {
		m.Turns = append(m.Turns, scripted.Turn{Calls: []scripted.Call{{Tool: "a", Input: "{}"}, {Tool: "b", Input: "{}"}}})
	}
	var mu sync.Mutex
	ids := map[string]bool{}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			resp, err := m.Generate(context.Background(), fantasy.Call{})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, c := range resp.Content.ToolCalls() {
				ids[c.ToolCallID] = true
			}
		})
	}
	wg.Wait()
	if len(ids) != 2*n {
		t.Errorf("%d different ids, want %d", len(ids), 2*n)
	}
}

func TestAScriptedModelMakesNoObjects(t *testing.T) {
	var m scripted.Model
	if _, err := m.GenerateObject(context.Background(), fantasy.ObjectCall{}); !errors.Is(err, scripted.ErrNoObjects) {
		t.Errorf("GenerateObject returned the error %v", err)
	}
	if _, err := m.StreamObject(context.Background(), fantasy.ObjectCall{}); !errors.Is(err, scripted.ErrNoObjects) {
		t.Errorf("StreamObject returned the error %v", err)
	}
	if m.Provider() != "scripted" || m.Model() != "script" {
		t.Errorf("the model is %s/%s", m.Provider(), m.Model())
	}
}
