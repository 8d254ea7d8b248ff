package tool

import (
	"context"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/typed"
)

// Panic is the Metadata, as JSON, of the answer of a tool whose function
// panicked: what it panicked with and the stack. The model reads of an internal
// error only.
type Panic = typed.Panic

// New returns a tool that runs a Go function. In is a struct whose fields are
// the tool's parameters:
//
//	type Input struct {
//		Path  string `json:"path" jsonschema:"description=File to read, relative to the project"`
//		Lines int    `json:"lines,omitempty" jsonschema:"description=How many lines,minimum=1,maximum=1000,default=50"`
//	}
//
// # Parameters
//
// The json tag gives a parameter its name. Pointers, omitempty, omitzero and a
// default make it optional. The jsonschema tag has its description, which every
// parameter must have, and may have more keys after commas: enum=VALUE (strings
// only, once for each value), minimum=N, maximum=N, default=VALUE, required. A
// description may hold commas; only a comma with one of these keys right behind
// it ends it. Limits, default and choices are also put in words at the end of
// the description, because not every provider passes on the keywords. The tag
// jsonschema_description holds only a description. Fields tagged json:"-" or
// jsonschema:"-" are hidden from the model.
//
// Types may be strings, booleans, integers, floats, structs, slices, maps with
// string keys, any, [encoding/json.RawMessage], and pointers to them. Embedded
// structs are flattened. A map is shown as an object with additionalProperties.
//
// # Input
//
// An empty input and null are {}, null for a parameter is as if it were not
// sent, and what is unambiguous is accepted: a JSON list or object inside a
// string, a number or boolean for a string, "10" or 10.0 for an integer, "true"
// for a boolean. All else is refused, and run is not called: unknown keys,
// keys sent twice, missing parameters, other types, values out of their limits.
// The model reads which parameter is wrong, what is wanted, what came, and an
// example. Names are case-sensitive. Numbers in free-form values
// keep all their digits, as [encoding/json.Number].
//
// An agent checks a call before the tool does: fantasy itself answers, in words
// of its own, an input that is no JSON object, and one that lacks the key of a
// required parameter. Give the agent [RepairToolCall] too: without it fantasy
// completes broken JSON, also where an input was cut off, and refuses the empty
// input.
//
// A parameter that was not sent has its default or the zero value; a pointer
// tells a zero that was sent from one that was not.
//
// # Answers
//
// Text is cleaned of control characters and terminal sequences, cut at 32 KiB
// with a notice, and never empty. Images and media, Metadata and StopTurn pass
// as they are. An error of run becomes an error answer with its text, so
// write it for the model and keep secrets out; only if ctx has ended and the
// error is caused by that, Run returns the context's error. A panic of run becomes
// an error answer whose Metadata is a [Panic].
//
// # Panics
//
// New panics if a model could not use the tool, so that a test catches it: a
// name that does not match ^[A-Za-z_][A-Za-z0-9_-]{0,63}$, an empty description
// or one over [MaxDescription], an input that is not a struct, a field without
// json name or description, an unsupported or recursive type, two parameters
// with one name, or a default out of its limits. The message names the tool and
// the field.
//
// The tool is safe for concurrent use if run is. Calls of one step are made one
// after the other; see [NewParallel].
func New[In any](name, description string, run func(ctx context.Context, in In, call fantasy.ToolCall) (fantasy.ToolResponse, error)) fantasy.AgentTool {
	return typed.New(name, description, typed.Options{}, run)
}

// NewParallel is [New] for a tool without side effects: an agent may run it
// beside other calls of the same step, also of itself.
func NewParallel[In any](name, description string, run func(ctx context.Context, in In, call fantasy.ToolCall) (fantasy.ToolResponse, error)) fantasy.AgentTool {
	return typed.New(name, description, typed.Options{Parallel: true}, run)
}
