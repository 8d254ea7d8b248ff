// Package typed makes tools for [charm.land/fantasy] agents out of Go
// functions whose input is a struct. It is the base of every tool of this
// module; its public face is tool.New.
//
//	type input struct {
//		Path  string   `json:"path" jsonschema:"description=File to read, relative to the project"`
//		Lines int      `json:"lines,omitempty" jsonschema:"description=How many lines,minimum=1,maximum=1000,default=50"`
//		Match []string `json:"match,omitempty" jsonschema:"description=Words of which a line must hold one"`
//	}
//
// # What a model is shown
//
// The fields of the struct are the parameters of the tool. The json tag gives
// the name, the jsonschema tag the rest:
//
//	description=TEXT   required of every field; its commas need no escape
//	enum=VALUE         once for each value; of strings only
//	minimum=N          of numbers only
//	maximum=N          of numbers only
//	default=VALUE      of strings, numbers and booleans; makes the parameter optional
//	required           makes a pointer, omitempty or omitzero field required
//	-                  the field is none of the model's (as is json:"-")
//
// A comma begins a new key only if one of these keys follows it at once. The
// tag jsonschema_description holds nothing but a description.
//
// A parameter is required unless it is a pointer, has a default, or its json
// tag has omitempty or omitzero. The fields of an embedded struct are as its
// own. Strings, booleans, integers, floats, structs, slices, and maps with
// string keys may be put together; any and [encoding/json.RawMessage] take
// any JSON value (some providers show it as a string, so prefer
// map[string]any where an object will do).
//
// Of JSON schema only type, description, properties, required, items, enum
// and, in a map, additionalProperties are used, which every provider accepts.
// Limits, default and choices are repeated in words at the end of the
// description: keywords for the former are not accepted everywhere, and
// fantasy's Google provider drops enum.
//
// # What a model may send
//
// Models call tools with odd input. What is unambiguous is accepted:
//
//   - an empty input, and null, for {}
//   - null for a parameter that was not sent
//   - a list or an object as JSON inside a string
//   - a number or a boolean where a string is wanted, its digits unchanged
//   - "10", 10.0 and 1e1 where an integer is wanted, "1.5" where a number is
//   - "true" and "false", in any case of letters, where a boolean is wanted
//
// Everything else is refused before anything is run: unknown keys (they are
// compared with regard to case), keys sent twice, missing required ones,
// values of another type, out of their limits or not among their choices, and
// what is not one JSON object in valid UTF-8. The model reads the path of the
// value (filters.limit, args[2]), what is wanted, what came, and an example.
//
// Numbers in any, json.RawMessage and map[string]any keep all their digits, as
// [encoding/json.Number]. An input is at most 64 MiB long and 200 levels deep.
//
// # What a function receives
//
// A parameter that was not sent has its default, or else the zero value of its
// type. To tell a zero that was sent from one that was not, use a pointer: it
// is nil if nothing was sent and there is no default. A list or a map that was
// sent is not nil, even if it is empty.
//
// # What a function returns
//
// An error becomes an error answer with its text, except the error of a
// context that has ended, which Run returns. So write errors for the model:
// what is wrong and what to do next. A panic becomes an error answer that says
// no more than that; value and stack are in its Metadata, as a [Panic].
//
// Text is cleaned, cut at [Options.MaxOutput] and never empty. Media, Metadata
// and StopTurn pass as they are.
//
// # What this does not protect
//
// The agent of fantasy looks at an input first: unless its RepairToolCall is
// set (by fantasy.WithRepairToolCall for Generate, in the AgentStreamCall for
// Stream), it completes broken JSON by itself. An input that was cut off, such
// as {"args":["rm","/tmp/a, then reaches the tool as a whole one, only shorter.
// A host whose tools do harm sets a RepairToolCall that returns an error. The
// agent also answers an empty input by itself, before the tool could take it
// for {}.
//
// Decoding checks the shape of an input, not what it means: a path may point
// anywhere, a string may hold a NUL or a script. The text of an error and of
// an answer goes to the model as the function wrote it, secrets included.
package typed
