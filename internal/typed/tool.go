package typed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"unicode/utf8"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/text"
)

// MaxDescription is how many characters a tool's description may have: OpenAI
// refuses a request that holds a longer one.
const MaxDescription = 1024

const namePattern = `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`

var nameRegexp = regexp.MustCompile(namePattern)

// ValidName reports whether every provider accepts name as the name of a tool
// or a parameter: at most 64 ASCII letters, digits, underscores and dashes,
// the first a letter or an underscore.
func ValidName(name string) bool { return nameRegexp.MatchString(name) }

// Options are what may differ between tools. The zero value is a good one.
type Options struct {
	// Parallel says that calls may run beside other calls of a step.
	Parallel bool

	// MaxOutput is how many bytes of text an answer may hold, the notice of
	// the cut aside. 0: [text.DefaultMax]. Negative: the answer is cleaned
	// and bounded already and passes as it is, but for invalid UTF-8 and NUL.
	MaxOutput int

	// LongDescription allows a description beyond MaxDescription.
	LongDescription bool
}

// function is what a tool runs.
type function[In any] = func(ctx context.Context, in In, call fantasy.ToolCall) (fantasy.ToolResponse, error)

// New returns a tool that decodes its input into an In, a struct, and answers
// what run returns. It panics if a model could not use the tool; the message
// names the tool and the field.
func New[In any](name, description string, opts Options, run func(ctx context.Context, in In, call fantasy.ToolCall) (fantasy.ToolResponse, error)) fantasy.AgentTool {
	in, err := describe[In]()
	if err != nil {
		panic(fmt.Sprintf("tool %q: %v", name, err))
	}
	return in.New(name, description, opts, run)
}

// Input is what is known of the input of tools: it is worth sharing between
// many tools with the same In.
type Input[In any] struct {
	param  *param
	schema map[string]any // cloned for whoever asks
}

// Describe returns what New finds out about an In. It panics as New does.
func Describe[In any]() *Input[In] {
	in, err := describe[In]()
	if err != nil {
		panic(err.Error())
	}
	return in
}

func describe[In any]() (*Input[In], error) {
	typ := reflect.TypeFor[In]()
	if typ.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the input %s is not a struct", typ)
	}
	param, err := newParam(typ, nil)
	if err != nil {
		return nil, fmt.Errorf("the input %s: %w", typ, err)
	}
	schema, err := schemaOf(param)
	if err != nil {
		return nil, fmt.Errorf("the input %s: %w", typ, err)
	}
	return &Input[In]{param: param, schema: schema}, nil
}

// New is like the function New.
func (in *Input[In]) New(name, description string, opts Options, run func(ctx context.Context, in In, call fantasy.ToolCall) (fantasy.ToolResponse, error)) fantasy.AgentTool {
	if err := checkTool(name, description, opts); err != nil {
		panic(fmt.Sprintf("tool %q: %v", name, err))
	}
	if run == nil {
		panic(fmt.Sprintf("tool %q: there is no function to run", name))
	}
	return &tool[In]{Input: in, name: name, description: description, opts: opts, run: run}
}

func checkTool(name, description string, opts Options) error {
	switch {
	case !ValidName(name):
		return fmt.Errorf("the name does not match %s", namePattern)
	case strings.TrimSpace(description) == "":
		return errors.New("the description is empty")
	case !utf8.ValidString(description) || strings.Contains(description, "\x00"):
		return errors.New("the description is not UTF-8 without NUL")
	case !opts.LongDescription && utf8.RuneCountInString(description) > MaxDescription:
		return fmt.Errorf("the description has more than %d characters", MaxDescription)
	}
	return nil
}

type tool[In any] struct {
	*Input[In]
	name, description string
	opts              Options
	run               function[In]

	mu       sync.Mutex
	provider fantasy.ProviderOptions
}

// Info describes the tool. Maps and slices are fresh: an agent writes into them.
func (t *tool[In]) Info() fantasy.ToolInfo {
	schema := clone(t.schema)
	return fantasy.ToolInfo{
		Name:        t.name,
		Description: t.description,
		Parameters:  schema["properties"].(map[string]any),
		Required:    schema["required"].([]string),
		Parallel:    t.opts.Parallel,
	}
}

// Run decodes the input and runs the tool's function. The error is the
// context's, and only if that has ended; the answer beside it is what the
// function had to say until then.
func (t *tool[In]) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	var in In
	if r := t.param.decodeInput(call.Input, reflect.ValueOf(&in).Elem()); r != nil {
		return fantasy.NewTextErrorResponse(r.String()), nil
	}
	return t.runSafely(ctx, in, call)
}

// runSafely also asks the error for its text and its kind: a nil pointer that
// was returned as an error panics then.
func (t *tool[In]) runSafely(ctx context.Context, in In, call fantasy.ToolCall) (resp fantasy.ToolResponse, err error) {
	defer func() {
		if v := recover(); v != nil {
			resp = Panicked("The tool stopped with an internal error; what it did until then may have taken effect. Check before you call it again.", v)
			err = nil
		}
	}()
	resp, err = t.run(ctx, in, call)
	if err == nil {
		return t.fit(resp), nil
	}
	failure, err := Failure(ctx, err)
	if err != nil && resp.Content != "" {
		return t.fit(resp), err
	}
	return failure, err
}

// ProviderOptions returns a copy of what SetProviderOptions was given.
func (t *tool[In]) ProviderOptions() fantasy.ProviderOptions {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.provider)
}

// SetProviderOptions sets what a provider is told besides.
func (t *tool[In]) SetProviderOptions(opts fantasy.ProviderOptions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.provider = maps.Clone(opts)
}

// fit makes an answer fit for a model. Data, MediaType, Metadata and StopTurn
// stay as they are.
func (t *tool[In]) fit(resp fantasy.ToolResponse) fantasy.ToolResponse {
	media := resp.Type == "image" || resp.Type == "media"
	if !media {
		resp.Type = "text"
	}
	resp.Content = t.fitText(resp.Content)
	switch {
	case strings.TrimSpace(resp.Content) != "":
	case resp.IsError:
		resp.Content = "the call failed and gave no reason"
	case !media:
		resp.Content = "(no output)"
	}
	return resp
}

func (t *tool[In]) fitText(s string) string {
	switch {
	case t.opts.MaxOutput == 0:
		return text.Cut(s, text.DefaultMax)
	case t.opts.MaxOutput > 0:
		return text.Cut(s, t.opts.MaxOutput)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// maxFailure is how many bytes of an error's text a model reads.
const maxFailure = 4 << 10

// Failure returns what a tool's Run returns for an error of its work: ctx's own
// error if that has ended and err comes of it, else an error answer.
func Failure(ctx context.Context, err error) (fantasy.ToolResponse, error) {
	if ended := ctx.Err(); ended != nil && comesOf(ctx, err) {
		return fantasy.ToolResponse{}, ended
	}
	message := strings.TrimSpace(text.Cut(err.Error(), maxFailure))
	if message == "" {
		message = "the call failed and gave no reason"
	}
	return fantasy.NewTextErrorResponse(message), nil
}

func comesOf(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Cause(ctx))
}

// Panic is the Metadata, as JSON, of the answer of a tool whose function
// panicked. It is for the host; the model reads of an internal error only.
type Panic struct {
	Value string `json:"panic"` // what was panicked with, at most 4 KiB
	Stack string `json:"stack"` // of the goroutine, at most 16 KiB
}

const (
	maxPanicValue = 4 << 10
	maxPanicStack = 16 << 10
)

// Panicked returns the answer in place of that of a function that panicked with
// value: the message for the model, the value and the stack for the host. It
// must be called by the deferred function that recovered.
func Panicked(message string, value any) fantasy.ToolResponse {
	resp := fantasy.NewTextErrorResponse(message)
	metadata, err := json.Marshal(Panic{
		Value: text.Cut(fmt.Sprint(value), maxPanicValue),
		Stack: text.Cut(string(debug.Stack()), maxPanicStack),
	})
	if err == nil {
		resp.Metadata = string(metadata)
	}
	return resp
}
