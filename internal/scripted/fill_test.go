package scripted_test

import (
	"context"
	"errors"
	"testing"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/scripted"
)

// told is a prompt with these results of calls, in this order.
func told(results ...string) fantasy.Prompt {
	prompt := fantasy.Prompt{fantasy.NewUserMessage(`{"job_id":"of the user"}`)}
	for _, r := range results {
		prompt = append(prompt, fantasy.Message{Role: fantasy.MessageRoleTool, Content: []fantasy.MessagePart{
			fantasy.ToolResultPart{Output: fantasy.ToolResultOutputContentText{Text: r}},
		}})
	}
	return prompt
}

func TestAStringStandsForAFieldOfAnEarlierResult(t *testing.T) {
	failed := fantasy.Message{Role: fantasy.MessageRoleTool, Content: []fantasy.MessagePart{
		fantasy.ToolResultPart{Output: fantasy.ToolResultOutputContentError{Error: errors.New(`{"job_id":"of an error"}`)}},
	}}
	for _, tc := range []struct {
		name, input string
		prompt      fantasy.Prompt
		want        string
	}{
		{"a field of the only result", `{"job_id":"$job_id"}`, told(`{"job_id":"job_1"}`), `{"job_id":"job_1"}`},
		{"a field of the last result that has it", `{"job_id":"$job_id"}`, told(`{"job_id":"1"}`, `{"job_id":"2"}`, `{"status":"done"}`, `text`), `{"job_id":"2"}`},
		{"two fields", `["$a", "$b"]`, told(`{"a":"1","b":"2"}`), `["1", "2"]`},
		{"a field with characters that JSON escapes", `["$a"]`, told(`{"a":"\"\\n$1"}`), `["\"\\n$1"]`},
		{"a number, with all of its digits", `{"n":"$n"}`, told(`{"n":12345678901234567890}`), `{"n":12345678901234567890}`},
		{"an object", `{"o":"$o"}`, told(`{"o":{"a":[1]}}`), `{"o":{"a":[1]}}`},
		{"a field that no result has", `{"job_id":"$job_id"}`, told(`{"status":"done"}`, `[{"job_id":"1"}]`, ``), `{"job_id":"$job_id"}`},
		{"what a failed call says", `{"job_id":"$job_id"}`, append(told(), failed), `{"job_id":"$job_id"}`},
		{"a part of a string", `["$a b", "${a}", "\"$a\""]`, told(`{"a":"1"}`), `["$a b", "${a}", "\"$a\""]`},
		{"no JSON at all", `broken "$a`, told(`{"a":"1"}`), `broken "$a`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			turns := []scripted.Turn{{Calls: []scripted.Call{{Tool: "t", Input: tc.input}}}}
			m := &scripted.Model{Turns: turns}
			resp, err := m.Generate(context.Background(), fantasy.Call{Prompt: tc.prompt})
			if err != nil {
				t.Fatal(err)
			}
			if got := resp.Content.ToolCalls()[0].Input; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if turns[0].Calls[0].Input != tc.input {
				t.Errorf("the script itself was changed to %s", turns[0].Calls[0].Input)
			}
		})
	}
}

func TestTheRealAgentPassesOnWhatAResultHeld(t *testing.T) {
	m := &scripted.Model{Turns: []scripted.Turn{
		{Calls: []scripted.Call{{Tool: "shout", Input: `{"text":"{\"a\":\"hello\"}"}`}}}, // answers {"A":"HELLO"}
		{Calls: []scripted.Call{{Tool: "shout", Input: `{"text":"$A"}`}}},
		{Text: "Done."},
	}}
	var inputs []string
	_, err := fantasy.NewAgent(m, fantasy.WithTools(shout())).Stream(context.Background(), fantasy.AgentStreamCall{
		Prompt:     "Go.",
		OnToolCall: func(c fantasy.ToolCallContent) error { inputs = append(inputs, c.Input); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(inputs) != 2 || inputs[1] != `{"text":"HELLO"}` {
		t.Errorf("the calls had the inputs %q", inputs)
	}
}
