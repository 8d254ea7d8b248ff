// Package scripted is a language model that plays a script: what it says and
// which tools it calls is written down beforehand. With it the real agent loop
// of [charm.land/fantasy] runs real tools without a network, in tests and in
// programs of examples/.
//
//	model := &scripted.Model{Turns: []scripted.Turn{
//		{Text: "Let me look.", Calls: []scripted.Call{{Tool: "ls", Input: `{"args":["-l"]}`}}},
//		{Text: "There are three files."},
//	}}
//	agent := fantasy.NewAgent(model, fantasy.WithTools(tools...))
//
// It keeps what it is asked: [Model.Requests] returns the prompts, with the
// results of the calls, and the tools as the agent described them.
//
// What cannot be written down beforehand, such as the id of a job, is taken from
// results. In the input of a call the string "$name" stands for the field name
// of the last result that is a JSON object with this field, whatever its type:
//
//	{Calls: []scripted.Call{{Tool: "job_submit", Input: `{"bin":"report"}`}}}, // answers {"job_id":"…"}
//	{Calls: []scripted.Call{{Tool: "job_wait", Input: `{"job_id":"$job_id"}`}}},
//
// Where no result has the field, the string is left as it is.
package scripted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"charm.land/fantasy"
)

// ErrOver is wrapped by the error of a model that has played its last turn.
var ErrOver = errors.New("the script is over")

// ErrNoObjects is returned by GenerateObject and StreamObject.
var ErrNoObjects = errors.New("a scripted model makes no objects")

// Call is a call of a tool. Input is passed on as it stands, JSON or not, save
// strings that stand for fields of results.
type Call struct{ Tool, Input string }

// Turn is what the model answers at once: a text, calls of tools, or both.
type Turn struct {
	Text  string
	Calls []Call
}

// Model plays its turns in order, one for each Generate and Stream; then they
// fail with ErrOver. Its methods are safe for concurrent use; Turns must not be
// changed once they are in use.
type Model struct {
	Turns []Turn

	mu       sync.Mutex
	requests []fantasy.Call
	played   int
	calls    int
}

var _ fantasy.LanguageModel = (*Model)(nil)

// Requests returns what the model was asked so far, also beyond the script.
func (m *Model) Requests() []fantasy.Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Provider returns "scripted".
func (m *Model) Provider() string { return "scripted" }

// Model returns "script".
func (m *Model) Model() string { return "script" }

// Generate answers with the next turn.
func (m *Model) Generate(ctx context.Context, call fantasy.Call) (*fantasy.Response, error) {
	turn, first, err := m.next(ctx, call)
	if err != nil {
		return nil, err
	}
	resp := &fantasy.Response{FinishReason: turn.finishReason()}
	if turn.Text != "" {
		resp.Content = append(resp.Content, fantasy.TextContent{Text: turn.Text})
	}
	for i, c := range turn.Calls {
		resp.Content = append(resp.Content, fantasy.ToolCallContent{ToolCallID: callID(first + i), ToolName: c.Tool, Input: c.Input})
	}
	return resp, nil
}

// Stream answers with the next turn in the parts that providers stream: text
// word by word, the input of a call in two halves.
func (m *Model) Stream(ctx context.Context, call fantasy.Call) (fantasy.StreamResponse, error) {
	turn, first, err := m.next(ctx, call)
	if err != nil {
		return nil, err
	}
	parts := turn.parts(first)
	return func(yield func(fantasy.StreamPart) bool) {
		for _, part := range parts {
			if err := ctx.Err(); err != nil {
				part = fantasy.StreamPart{Type: fantasy.StreamPartTypeError, Error: err}
			}
			if !yield(part) || part.Error != nil {
				return
			}
		}
	}, nil
}

// GenerateObject returns ErrNoObjects.
func (m *Model) GenerateObject(context.Context, fantasy.ObjectCall) (*fantasy.ObjectResponse, error) {
	return nil, ErrNoObjects
}

// StreamObject returns ErrNoObjects.
func (m *Model) StreamObject(context.Context, fantasy.ObjectCall) (fantasy.ObjectStreamResponse, error) {
	return nil, ErrNoObjects
}

// next takes the next turn, and the number of its first call of a tool.
func (m *Model) next(ctx context.Context, call fantasy.Call) (turn Turn, first int, err error) {
	if err := ctx.Err(); err != nil {
		return Turn{}, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	call.Prompt = slices.Clone(call.Prompt)
	call.Tools = slices.Clone(call.Tools)
	m.requests = append(m.requests, call)
	if m.played == len(m.Turns) {
		return Turn{}, 0, fmt.Errorf("%w: all of its %d turns were played", ErrOver, m.played)
	}
	turn, first = m.Turns[m.played].filled(call.Prompt), m.calls+1
	m.played++
	m.calls += len(turn.Calls)
	return turn, first, nil
}

func callID(n int) string { return fmt.Sprintf("call_%d", n) }

func (t Turn) finishReason() fantasy.FinishReason {
	if len(t.Calls) > 0 {
		return fantasy.FinishReasonToolCalls
	}
	return fantasy.FinishReasonStop
}

func (t Turn) parts(first int) []fantasy.StreamPart {
	var parts []fantasy.StreamPart
	if t.Text != "" {
		parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeTextStart, ID: "text"})
		for word := range strings.SplitAfterSeq(t.Text, " ") {
			parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeTextDelta, ID: "text", Delta: word})
		}
		parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeTextEnd, ID: "text"})
	}
	for i, c := range t.Calls {
		parts = append(parts, c.parts(callID(first+i))...)
	}
	return append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeFinish, FinishReason: t.finishReason()})
}

func (c Call) parts(id string) []fantasy.StreamPart {
	half := len(c.Input) / 2
	return []fantasy.StreamPart{
		{Type: fantasy.StreamPartTypeToolInputStart, ID: id, ToolCallName: c.Tool},
		{Type: fantasy.StreamPartTypeToolInputDelta, ID: id, Delta: c.Input[:half]},
		{Type: fantasy.StreamPartTypeToolInputDelta, ID: id, Delta: c.Input[half:]},
		{Type: fantasy.StreamPartTypeToolInputEnd, ID: id},
		{Type: fantasy.StreamPartTypeToolCall, ID: id, ToolCallName: c.Tool, ToolCallInput: c.Input},
	}
}
