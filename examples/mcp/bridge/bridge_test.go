package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fantasytools/fantasytools/examples/mcp/bridge"
	"github.com/fantasytools/fantasytools/tool"
)

// limit bounds what takes moments, on a machine that is busy.
const limit = time.Minute

// fake is a tool of which everything can be chosen.
type fake struct {
	info fantasy.ToolInfo
	run  func(context.Context, fantasy.ToolCall) (fantasy.ToolResponse, error)
}

func (f *fake) Info() fantasy.ToolInfo                       { return f.info }
func (f *fake) ProviderOptions() fantasy.ProviderOptions     { return nil }
func (f *fake) SetProviderOptions(_ fantasy.ProviderOptions) {}
func (f *fake) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	return f.run(ctx, call)
}

// answers is a tool that answers the response.
func answers(resp fantasy.ToolResponse, err error) *fake {
	return &fake{
		info: fantasy.ToolInfo{Name: "fake", Description: "Fakes."},
		run: func(context.Context, fantasy.ToolCall) (fantasy.ToolResponse, error) {
			return resp, err
		},
	}
}

// blocks is a tool whose calls say on begun that they have begun, and end when their
// context does or something comes on end.
func blocks(name string, parallel bool, begun chan<- string, end <-chan struct{}) *fake {
	return &fake{
		info: fantasy.ToolInfo{Name: name, Description: "Blocks.", Parallel: parallel},
		run: func(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
			begun <- name + call.Input
			select {
			case <-end:
				return fantasy.NewTextResponse("ended"), nil
			case <-ctx.Done():
				return fantasy.ToolResponse{}, ctx.Err()
			}
		},
	}
}

func list(tools ...*fake) []fantasy.AgentTool {
	out := make([]fantasy.AgentTool, len(tools))
	for i, t := range tools {
		out[i] = t
	}
	return out
}

// serve serves the tools to a client in memory.
func serve(t testing.TB, tools []fantasy.AgentTool, opts *bridge.Options, client *mcp.ClientOptions) (*mcp.ClientSession, *bridge.Bridge) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	b, err := bridge.Add(server, tools, opts)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, server, client), b
}

func connect(t testing.TB, server *mcp.Server, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	serverSession, err := server.Connect(context.Background(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, opts).Connect(context.Background(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = serverSession.Wait()
	})
	return session
}

func call(t *testing.T, session *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func textOf(result *mcp.CallToolResult) string {
	if len(result.Content) != 1 {
		return fmt.Sprint(result.Content)
	}
	content, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return fmt.Sprint(result.Content)
	}
	return content.Text
}

func TestAnAnswerBecomesAResult(t *testing.T) {
	for _, tc := range []struct {
		name string
		resp fantasy.ToolResponse
		want *mcp.CallToolResult
	}{
		{"text", fantasy.NewTextResponse("hello"), &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}},
		{"an error", fantasy.NewTextErrorResponse("no"), &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "no"}}, IsError: true}},
		{"nothing", fantasy.ToolResponse{}, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "(no output)"}}}},
		{"blanks", fantasy.NewTextResponse(" \n"), &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "(no output)"}}}},
		{"no UTF-8, and NUL", fantasy.NewTextResponse("a\xffb\x00c"), &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a\uFFFDbc"}}}},
		{"an image", fantasy.NewImageResponse([]byte{1, 2}, "image/png"), &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}}}},
		{"an image with a text", fantasy.ToolResponse{Type: "image", Content: "a dot", Data: []byte{1}, MediaType: "image/gif"},
			&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a dot"}, &mcp.ImageContent{Data: []byte{1}, MIMEType: "image/gif"}}}},
		{"a sound", fantasy.NewMediaResponse([]byte{3}, "audio/wav"), &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{Data: []byte{3}, MIMEType: "audio/wav"}}}},
		{"a film", fantasy.NewMediaResponse([]byte{3}, "video/mp4"),
			&mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "tool:fake", MIMEType: "video/mp4", Blob: []byte{3}}}}}},
		{"metadata", fantasy.ToolResponse{Type: "text", Content: "x", Metadata: `{"exit_code":0}`},
			&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}}, Meta: mcp.Meta{bridge.MetadataKey: map[string]any{"exit_code": 0.0}}}},
		{"metadata that is no JSON", fantasy.ToolResponse{Type: "text", Content: "x", Metadata: `exit 0`},
			&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}}, Meta: mcp.Meta{bridge.MetadataKey: "exit 0"}}},
		{"the end of the turn", fantasy.ToolResponse{Type: "text", Content: "x", StopTurn: true},
			&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}}, Meta: mcp.Meta{bridge.StopTurnKey: true}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			session, _ := serve(t, list(answers(tc.resp, nil)), nil, nil)
			got := call(t, session, "fake", nil)
			delete(got.Meta, mcp.MetaKeyServerInfo)
			if len(got.Meta) == 0 {
				got.Meta = nil
			}
			want := *tc.want
			if diff := cmp.Diff([]any{want.Content, want.IsError, want.Meta, want.StructuredContent}, []any{got.Content, got.IsError, got.Meta, got.StructuredContent}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTheErrorOfAToolIsAResultThatAModelReads(t *testing.T) {
	for err, want := range map[error]string{errors.New("disk full"): "disk full", errors.New(" "): "The call failed and gave no reason."} {
		session, _ := serve(t, list(answers(fantasy.ToolResponse{}, err)), nil, nil)
		if got := call(t, session, "fake", nil); !got.IsError || textOf(got) != want {
			t.Errorf("the result of %v is %q", err, textOf(got))
		}
	}
}

func TestAPanicTakesNothingDown(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	panics := answers(fantasy.ToolResponse{}, nil)
	panics.run = func(context.Context, fantasy.ToolCall) (fantasy.ToolResponse, error) { panic("a secret cause") }
	session, _ := serve(t, list(panics), &bridge.Options{Logger: zap.New(core)}, nil)
	for range 2 {
		got := call(t, session, "fake", nil)
		if !got.IsError || !strings.Contains(textOf(got), "internal error") || strings.Contains(fmt.Sprint(got), "secret") {
			t.Errorf("the result is %+v", got)
		}
	}
	if n := logs.FilterMessage("a tool panicked").Len(); n != 2 {
		t.Errorf("%d panics are in the log", n)
	}
}

func TestArgumentsReachTheToolAsTheyAre(t *testing.T) {
	echo := answers(fantasy.ToolResponse{}, nil)
	echo.run = func(_ context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
		return fantasy.NewTextResponse(call.Name + " " + call.Input), nil
	}
	session, _ := serve(t, list(echo), nil, nil)
	for _, tc := range []struct {
		args any
		want string
	}{
		{nil, `fake {}`},
		{map[string]any{"n": 12345678901234567}, `fake {"n":12345678901234567}`},
		{map[string]any{"unknown": []any{}}, `fake {"unknown":[]}`},
	} {
		if got := textOf(call(t, session, "fake", tc.args)); got != tc.want {
			t.Errorf("the tool gets %s, and not %s", got, tc.want)
		}
	}
}

func TestToolsThatCannotBeServedAreNamedAndNoneIs(t *testing.T) {
	good := answers(fantasy.NewTextResponse("x"), nil)
	named := func(name string) *fake { return &fake{info: fantasy.ToolInfo{Name: name}} }
	unwritable := &fake{info: fantasy.ToolInfo{Name: "unwritable", Parameters: map[string]any{"f": func() {}}}}
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	_, err := bridge.Add(server, append(list(good, named(""), named("a b"), named("FAKE"), unwritable), nil), nil)
	for _, want := range []string{`tool 2 ("")`, `tool 3 ("a b")`, `tool 4 ("FAKE") has the name of tool 1`, `tool 5 ("unwritable"): the parameter "f"`, "tool 6 is nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	var wire *jsonrpc.Error
	session := connect(t, server, nil)
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fake"}); !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("the good tool was added all the same: %v", err)
	}
}

func TestASchemaIsWholeAndInOrder(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	var described []*mcp.Tool
	_, err := bridge.Add(server, []fantasy.AgentTool{
		&fake{info: fantasy.ToolInfo{Name: "nothing"}},
		&fake{info: fantasy.ToolInfo{Name: "ordered", Required: []string{"to", "from", "absent"}, Parameters: map[string]any{
			"a": map[string]any{"type": "string"}, "from": map[string]any{"type": "string"}, "to": map[string]any{"type": "integer", "description": "a <b> & c"},
		}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	session := connect(t, server, nil)
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		described = append(described, tool)
	}
	want := []map[string]any{
		{"type": "object", "properties": map[string]any{}, "required": []any{}},
		{"type": "object", "required": []any{"to", "from", "absent"}, "properties": map[string]any{
			"a": map[string]any{"type": "string"}, "from": map[string]any{"type": "string"}, "to": map[string]any{"type": "integer", "description": "a <b> & c"},
		}},
	}
	for i, tool := range described {
		if diff := cmp.Diff(any(want[i]), tool.InputSchema); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tool.Name, diff)
		}
	}
}

func TestAnnotationsAreCautious(t *testing.T) {
	yes, no := true, false
	for parallel, want := range map[bool]*mcp.ToolAnnotations{
		true:  {ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &yes},
		false: {DestructiveHint: &yes, OpenWorldHint: &yes},
	} {
		if diff := cmp.Diff(want, bridge.Annotate(fantasy.ToolInfo{Parallel: parallel})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestTheContextOfACallIsTheHosts(t *testing.T) {
	type key struct{}
	sees := answers(fantasy.ToolResponse{}, nil)
	sees.run = func(ctx context.Context, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		return fantasy.NewTextResponse(fmt.Sprint(ctx.Value(key{}))), nil
	}
	released := make(chan string, 1)
	session, _ := serve(t, list(sees), &bridge.Options{
		Context: func(ctx context.Context, req *mcp.CallToolRequest) (context.Context, context.CancelFunc) {
			return context.WithValue(ctx, key{}, "from the host"), func() { released <- req.Params.Name }
		},
	}, nil)
	if got := textOf(call(t, session, "fake", nil)); got != "from the host" || <-released != "fake" {
		t.Errorf("the tool sees %q", got)
	}
}

func TestAGuardCarriesOver(t *testing.T) {
	guarded := tool.Guard(list(answers(fantasy.NewTextResponse("done"), nil)), func(context.Context, fantasy.ToolInfo, fantasy.ToolCall) error {
		return fmt.Errorf("not today: %w", tool.ErrStopTurn)
	})
	session, _ := serve(t, guarded, nil, nil)
	got := call(t, session, "fake", nil)
	if !got.IsError || !strings.HasPrefix(textOf(got), "not today") || got.Meta[bridge.StopTurnKey] != true {
		t.Errorf("the result is %+v", got)
	}
}
