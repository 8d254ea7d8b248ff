package typed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/internal/text"
	"github.com/fantasytools/fantasytools/internal/typed"
)

// answering returns a tool whose function returns resp and err.
func answering(opts typed.Options, resp fantasy.ToolResponse, err error) fantasy.AgentTool {
	return typed.New("answer", "Answers.", opts, func(context.Context, struct{}, fantasy.ToolCall) (fantasy.ToolResponse, error) {
		return resp, err
	})
}

func TestAnswersAreFitForAModel(t *testing.T) {
	text := fantasy.NewTextResponse
	tests := []struct {
		name     string
		opts     typed.Options
		in, want fantasy.ToolResponse
	}{
		{"text as it is", typed.Options{}, text("hello\n"), text("hello\n")},
		{"the zero answer", typed.Options{}, fantasy.ToolResponse{}, text("(no output)")},
		{"blank text", typed.Options{}, text(" \n"), text("(no output)")},
		{"text that is blank once it is cleaned", typed.Options{}, text("\x1b[0m\x00"), text("(no output)")},
		{"blank text, uncut", typed.Options{MaxOutput: -1}, text("\x00"), text("(no output)")},
		{"an error without a text", typed.Options{}, fantasy.NewTextErrorResponse(""), fantasy.NewTextErrorResponse("the call failed and gave no reason")},
		{"an error without a type", typed.Options{}, fantasy.ToolResponse{Content: "x", IsError: true}, fantasy.NewTextErrorResponse("x")},
		{"bad bytes and NUL", typed.Options{}, text("a\xffb\x00c"), text("a\uFFFDbc")},
		{"bad bytes and NUL, uncut", typed.Options{MaxOutput: -1}, text("a\xffb\x00c\x1b"), text("a\uFFFDbc\x1b")},
		{"an image", typed.Options{}, fantasy.NewImageResponse([]byte{0, 0xff}, "image/png"), fantasy.NewImageResponse([]byte{0, 0xff}, "image/png")},
		{"media", typed.Options{}, fantasy.NewMediaResponse([]byte{0}, "audio/wav"), fantasy.NewMediaResponse([]byte{0}, "audio/wav")},
		{"an image with a text", typed.Options{}, fantasy.ToolResponse{Type: "image", Data: []byte{1}, MediaType: "image/png", Content: "a\x00"}, fantasy.ToolResponse{Type: "image", Data: []byte{1}, MediaType: "image/png", Content: "a"}},
		{
			"metadata and the end of the turn", typed.Options{},
			fantasy.ToolResponse{Type: "text", Content: "x", Metadata: `{"a":"\u0000"}`, StopTurn: true},
			fantasy.ToolResponse{Type: "text", Content: "x", Metadata: `{"a":"\u0000"}`, StopTurn: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := answering(tt.opts, tt.in, nil).Run(context.Background(), fantasy.ToolCall{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongAnswersAreCutAndSaySo(t *testing.T) {
	long := "first " + strings.Repeat("é", text.DefaultMax) + " last"
	const notice = 100 // bytes
	tests := []struct {
		name     string
		max      int
		shortest int
		longest  int
	}{
		{"at the default", 0, text.DefaultMax / 2, text.DefaultMax + notice},
		{"at the tool's own bound", 1000, 500, 1000 + notice},
		{"not at all", -1, len(long), len(long)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, resp := range []fantasy.ToolResponse{fantasy.NewTextResponse(long), fantasy.NewTextErrorResponse(long)} {
				got, err := answering(typed.Options{MaxOutput: tt.max}, resp, nil).Run(context.Background(), fantasy.ToolCall{})
				if err != nil {
					t.Fatal(err)
				}
				if n := len(got.Content); n < tt.shortest || n > tt.longest {
					t.Errorf("the answer has %d bytes, want %d to %d", n, tt.shortest, tt.longest)
				}
				if !strings.HasPrefix(got.Content, "first ") || !strings.HasSuffix(got.Content, " last") || !utf8.ValidString(got.Content) {
					t.Errorf("head or tail is lost: %.40q … %q", got.Content, got.Content[len(got.Content)-40:])
				}
				if cut := len(got.Content) < len(long); cut != strings.Contains(got.Content, "bytes") {
					t.Errorf("cut: %t, but the answer does not say so", cut)
				}
			}
		})
	}
}

func TestAnErrorIsAnAnswerAndNeverAGoError(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"a plain error", errors.New("the file is locked; try again"), "the file is locked; try again"},
		{"an errno, which would make the agent call the model again", fmt.Errorf("starting: %w", syscall.E2BIG), "starting: argument list too long"},
		{"an error of a URL", &url.Error{Op: "Get", URL: "http://x", Err: os.ErrDeadlineExceeded}, `Get "http://x": i/o timeout`},
		{"an error with control characters", errors.New("\x1b[31mred\x1b[0m \xff\x00"), "red \uFFFD"},
		{"an error without a text", errors.New("\x00 "), "the call failed and gave no reason"},
		{"a deadline of the tool's own", fmt.Errorf("waiting: %w", context.DeadlineExceeded), "waiting: context deadline exceeded"},
		{"a cancellation of the tool's own", context.Canceled, "context canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := answering(typed.Options{}, fantasy.NewTextResponse("dropped"), tt.err).Run(context.Background(), fantasy.ToolCall{})
			if err != nil {
				t.Fatalf("a Go error: %v", err)
			}
			if diff := cmp.Diff(fantasy.NewTextErrorResponse(tt.want), got); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALongErrorIsCut(t *testing.T) {
	got, err := answering(typed.Options{}, fantasy.ToolResponse{}, errors.New(strings.Repeat("x", 1<<20))).Run(context.Background(), fantasy.ToolCall{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Content) > 5<<10 {
		t.Errorf("the error has %d bytes", len(got.Content))
	}
}

func TestOnlyTheErrorOfAnEndedContextIsAGoError(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	because := errors.New("the user pressed Ctrl-C")
	caused, cancelCause := context.WithCancelCause(context.Background())
	cancelCause(because)
	late, cancelLate := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancelLate()

	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want error
	}{
		{"cancelled", cancelled, context.Canceled, context.Canceled},
		{"cancelled, wrapped", cancelled, fmt.Errorf("calling: %w", context.Canceled), context.Canceled},
		{"cancelled for a reason", caused, fmt.Errorf("calling: %w", because), context.Canceled},
		{"too late", late, fmt.Errorf("calling: %w", context.DeadlineExceeded), context.DeadlineExceeded},
		{"cancelled, but the error is another", cancelled, errors.New("no such file"), nil},
		{"cancelled, but the function was done", cancelled, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := answering(typed.Options{}, fantasy.NewTextResponse("done"), tt.err).Run(tt.ctx, fantasy.ToolCall{})
			if fmt.Sprint(err) != fmt.Sprint(tt.want) {
				t.Errorf("Run returned the error %v, want %v", err, tt.want)
			}
			if tt.want != nil && resp.Content != "done" {
				t.Errorf("beside the error %v the answer is %q", err, resp.Content)
			}
		})
	}
}

func TestAPanicIsAnErrorAnswerThatHidesTheStackFromTheModel(t *testing.T) {
	for _, value := range []any{"boom\x00", errors.New("boom"), 7} {
		tool := typed.New("panics", "Panics.", typed.Options{}, func(context.Context, struct{}, fantasy.ToolCall) (fantasy.ToolResponse, error) {
			panic(value)
		})
		resp, err := tool.Run(context.Background(), fantasy.ToolCall{})
		if err != nil || !resp.IsError {
			t.Fatalf("Run returned %+v, %v; want an error answer", resp, err)
		}
		if !strings.Contains(resp.Content, "internal error") || strings.Contains(resp.Content, "boom") || strings.Contains(resp.Content, "goroutine") {
			t.Errorf("the model reads %q", resp.Content)
		}
		var host typed.Panic
		if err := json.Unmarshal([]byte(resp.Metadata), &host); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSuffix(fmt.Sprint(value), "\x00"); host.Value != want || !strings.Contains(host.Stack, "tool_test.go") {
			t.Errorf("the host reads %+v, want the value %q and the stack", host, want)
		}
	}
}

// nilError panics where a nil one is asked for its text.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

func TestANilPointerAsAnErrorIsAnErrorAnswer(t *testing.T) {
	resp, err := answering(typed.Options{}, fantasy.ToolResponse{}, (*nilError)(nil)).Run(context.Background(), fantasy.ToolCall{})
	if err != nil || !resp.IsError || !strings.Contains(resp.Content, "internal error") || resp.Metadata == "" {
		t.Errorf("Run = %+v, %v; want an error answer with the stack for the host", resp, err)
	}
}

func TestAFunctionReceivesTheCallAsItIs(t *testing.T) {
	want := fantasy.ToolCall{ID: "call_1", Name: "other", Input: ` {"limit": "5"} `}
	tool := typed.New("keep", "Keeps the call.", typed.Options{Parallel: true}, func(_ context.Context, in page, got fantasy.ToolCall) (fantasy.ToolResponse, error) {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the call (-want +got):\n%s", diff)
		}
		return fantasy.NewTextResponse(fmt.Sprint(in.Limit)), nil
	})
	resp, err := tool.Run(context.Background(), want)
	if err != nil || resp.Content != "5" {
		t.Errorf("Run = %+v, %v; want 5", resp, err)
	}
	if !tool.Info().Parallel {
		t.Error("Info() does not say that the tool is parallel")
	}
}
