package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"charm.land/fantasy"
	"golang.org/x/term"

	"github.com/fantasytools/fantasytools/internal/scripted"
	"github.com/fantasytools/fantasytools/tool"
)

// maxInput is how many bytes of input call takes from standard input: far more
// than a model writes.
const maxInput = 8 << 20

// result is what a call came to, as call prints it with -json.
type result struct {
	Tool       string          `json:"tool"`
	IsError    bool            `json:"is_error"`
	Type       string          `json:"type"`                 // text, image or media
	Text       string          `json:"text"`                 // what the model reads
	MediaType  string          `json:"media_type,omitempty"` // of an image or other media
	Bytes      int             `json:"bytes,omitempty"`      // of it
	Data       []byte          `json:"data,omitempty"`       // it, in base64; not where -o has it
	File       string          `json:"file,omitempty"`       // of -o, if it was written
	Metadata   json.RawMessage `json:"metadata,omitempty"`   // what the tool tells its host, if it is JSON
	DurationMS int64           `json:"duration_ms"`          // of the tool; 0 if it was not run

	ran bool
}

// call runs a tool once.
func (a *app) call(ctx context.Context) error {
	set, err := a.load()
	if err != nil {
		return err
	}
	defer set.Close() //nolint:errcheck // the call is over
	chosen, err := a.find(set, a.opts.args[0])
	if err != nil {
		return err
	}
	input, err := a.input(ctx)
	if err != nil {
		return err
	}
	file, err := openResult(a.opts.output)
	if err != nil {
		return refused(err)
	}
	defer file.abandon()
	r, err := callOnce(ctx, chosen, input)
	if err != nil {
		return err
	}
	unwritten := file.write(r)
	if err := errors.Join(a.printResult(r), unwritten); err != nil {
		return err
	}
	if r.IsError {
		return errReported
	}
	return nil
}

// input is what the tool is called with. Nothing on the command line is an empty
// input, as models send it to tools without parameters.
func (a *app) input(ctx context.Context) (string, error) {
	switch {
	case len(a.opts.args) < 2:
		return "", nil
	case a.opts.args[1] != "-":
		return a.opts.args[1], nil
	}
	if f, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		a.note("reading the input, a JSON object; Ctrl-D ends it")
	}
	type read struct {
		input []byte
		err   error
	}
	done := make(chan read, 1)
	go func() { // of a standard input that never ends it lasts as long as the process
		input, err := io.ReadAll(io.LimitReader(a.stdin, maxInput+1))
		done <- read{input, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-done:
		switch {
		case r.err != nil:
			return "", refused(fmt.Errorf("reading the input: %w", r.err))
		case len(r.input) > maxInput:
			return "", refused(fmt.Errorf("the input is longer than %d bytes; nothing was run", maxInput))
		}
		return string(r.input), nil
	}
}

// callOnce lets an agent call the tool as if a model had asked for it. The
// error is the context's: whatever else goes wrong is a result.
func callOnce(ctx context.Context, chosen fantasy.AgentTool, input string) (*result, error) {
	name := chosen.Info().Name
	timed := &timedTool{AgentTool: chosen}
	model := &scripted.Model{Turns: []scripted.Turn{{Calls: []scripted.Call{{Tool: name, Input: input}}}}}
	agent := fantasy.NewAgent(model, fantasy.WithTools(timed),
		fantasy.WithStopConditions(fantasy.StepCountIs(1)), fantasy.WithMaxRetries(0))
	var got *result
	_, err := agent.Stream(ctx, fantasy.AgentStreamCall{
		Prompt:         "Call the tool.",
		RepairToolCall: tool.RepairToolCall,
		OnToolResult: func(r fantasy.ToolResultContent) error {
			got = newResult(r)
			return nil
		},
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case got == nil:
		return nil, errors.New("the agent gave no result")
	}
	got.DurationMS, got.ran = timed.took.Milliseconds(), timed.ran
	return got, nil
}

// timedTool measures the tool alone, without the loop around it.
type timedTool struct {
	fantasy.AgentTool
	took time.Duration
	ran  bool
}

func (t *timedTool) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	t.ran = true
	began := time.Now()
	defer func() { t.took = time.Since(began) }()
	return t.AgentTool.Run(ctx, call)
}

func newResult(content fantasy.ToolResultContent) *result {
	r := &result{Tool: content.ToolName, Type: "text"}
	if json.Valid([]byte(content.ClientMetadata)) {
		r.Metadata = json.RawMessage(content.ClientMetadata)
	}
	if text, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentText](content.Result); ok {
		r.Text = text.Text
	}
	if failed, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentError](content.Result); ok {
		r.IsError, r.Text = true, failed.Error.Error()
	}
	if media, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentMedia](content.Result); ok {
		r.Type, r.MediaType, r.Text = "media", media.MediaType, media.Text
		if strings.HasPrefix(r.MediaType, "image/") {
			r.Type = "image"
		}
		r.Data, _ = base64.StdEncoding.DecodeString(media.Data) // the agent has just made it
		r.Bytes = len(r.Data)
	}
	return r
}

// printResult prints the result on standard output, and what is not for the
// model on standard error.
func (a *app) printResult(r *result) error {
	if a.opts.json {
		return a.printJSON(r)
	}
	if err := a.printf("%s", shown(r)); err != nil {
		return err
	}
	side := painterFor(a.stderr)
	if r.Metadata != nil {
		_, _ = fmt.Fprintln(a.stderr, side.in(faint, "metadata: "+string(r.Metadata)))
	}
	duration := fmt.Sprintf("duration: %dms", r.DurationMS)
	if !r.ran {
		duration = "the tool was not run: the agent refuses this input"
	}
	_, _ = fmt.Fprintln(a.stderr, side.in(faint, duration))
	return nil
}

// shown is the text of a result, or what stands for it. The last line is ended
// if it is not.
func shown(r *result) string {
	text := r.Text
	if r.Type != "text" {
		where := "-o FILE writes it"
		if r.File != "" {
			where = "written to " + r.File
		}
		text = strings.TrimLeft(fmt.Sprintf("%s\n(%s, %d bytes; %s)", text, r.MediaType, r.Bytes, where), "\n")
	} else if r.File != "" {
		text = fmt.Sprintf("(text, %d bytes; written to %s)", len(r.Text), r.File)
	}
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// resultFile is the file of -o. It is opened before the tool is run, since a
// result that cannot be kept would be lost.
type resultFile struct {
	path string
	file *os.File
	made bool // by us
	kept bool
}

// openResult opens the file of a path; "" is none.
func openResult(path string) (*resultFile, error) {
	if path == "" {
		return &resultFile{}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		return &resultFile{path: path, file: f, made: true}, nil
	}
	if f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		return nil, fmt.Errorf("writing the result: %w; nothing was run", err)
	}
	return &resultFile{path: path, file: f}, nil
}

// write keeps a result. An error result is shown instead, and leaves the file
// as it was.
func (f *resultFile) write(r *result) error {
	if f.file == nil || r.IsError {
		return nil
	}
	data := r.Data
	if r.Type == "text" {
		data = []byte(r.Text)
	}
	info, err := f.file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = f.file.Truncate(0)
	}
	if err == nil {
		_, err = f.file.Write(data)
	}
	if closing := f.file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	f.kept = true
	r.File, r.Data = f.path, nil
	if r.Type == "text" {
		r.Bytes = len(data)
	}
	return nil
}

// abandon removes a file that was made and has no result.
func (f *resultFile) abandon() {
	if f.file == nil || f.kept {
		return
	}
	_ = f.file.Close()
	if f.made {
		_ = os.Remove(f.path)
	}
}
