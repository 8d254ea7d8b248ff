package providers

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
	"charm.land/fantasy/providers/google"
	"charm.land/fantasy/providers/openai"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/tool"
)

type step struct {
	Bin  string   `json:"bin" jsonschema:"description=BIN name (sh, jq, kubectl), as installed"`
	Args []string `json:"args,omitempty" jsonschema:"description=Arguments, one a list element"`
}

type submitInput struct {
	step
	Steps   []step            `json:"steps,omitempty" jsonschema:"description=Further steps, in order"`
	Labels  map[string]string `json:"labels,omitempty" jsonschema:"description=Labels, by name"`
	Filters map[string]any    `json:"filters,omitempty" jsonschema:"description=Filters, whatever the agent takes"`
	Raw     json.RawMessage   `json:"raw,omitempty" jsonschema:"description=Any JSON, passed on as it is"`
	Status  string            `json:"status,omitempty" jsonschema:"description=State, one of them,enum=running,enum=done,default=done"`
	Limit   int               `json:"limit,omitempty" jsonschema:"description=How many, at most,minimum=1,maximum=100,default=20"`
	Ratio   *float64          `json:"ratio" jsonschema:"description=A ratio, as a fraction,minimum=0,maximum=1"`
	Follow  bool              `json:"follow,omitempty" jsonschema:"description=Follow, or not"`
}

func submit(_ context.Context, in submitInput, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
	return fantasy.NewTextResponse("submitted " + in.Bin), nil
}

func pending(context.Context, struct{}, fantasy.ToolCall) (fantasy.ToolResponse, error) {
	return fantasy.ToolResponse{}, nil
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tools are the tools whose way to the models is tested. Add every toolset of
// the module here.
func tools(t *testing.T) []fantasy.AgentTool {
	t.Helper()
	binaries, err := tool.LoadTools([]tool.Def{{Name: "sort", Description: "Sorts lines, in many ways.", Binary: os.Args[0]}}, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := jobsclient.New(jobsclient.Config{URL: "unix:///never-dialled.sock", Token: "none"})
	t.Cleanup(func() { _ = client.Close() })
	return slices.Concat(
		[]fantasy.AgentTool{
			tool.New("submit", "Submits a job, and waits for nothing.", submit),
			tool.NewParallel("pending", "Lists what is pending.", pending),
		},
		binaries,
		tool.NewJobTools(client),
		pilot.NewTools(&pilot.Client{}),
	)
}

// vendor is a provider and what its requests and answers look like.
type vendor struct {
	name     string
	provider func(server *httptest.Server) (fantasy.Provider, error)
	// answers are what the server sends: a call of the tool pending, then a text.
	answers [2]string
	// declared finds the tools in a request.
	declared func(request map[string]any) []declared
	// form is what fantasy's conversion makes of a schema; nil: nothing else.
	form func(schema map[string]any)
}

// declared is a tool as a request has it.
type declared struct {
	name, description string
	schema            map[string]any
}

func vendors() []vendor {
	return []vendor{
		{
			name: "OpenAI chat completions",
			provider: func(server *httptest.Server) (fantasy.Provider, error) {
				return openai.New(openai.WithBaseURL(server.URL), openai.WithHTTPClient(server.Client()), openai.WithAPIKey("none"))
			},
			answers: [2]string{
				`{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"pending","arguments":"{}"}}]}}]}`,
				`{"id":"2","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}]}`,
			},
			declared: func(request map[string]any) []declared {
				var out []declared
				for _, t := range list(request, "tools") {
					f := object(t, "function")
					out = append(out, declared{str(f, "name"), str(f, "description"), object(f, "parameters")})
				}
				return out
			},
		},
		{
			name: "OpenAI responses",
			provider: func(server *httptest.Server) (fantasy.Provider, error) {
				return openai.New(openai.WithBaseURL(server.URL), openai.WithHTTPClient(server.Client()), openai.WithAPIKey("none"),
					openai.WithUseResponsesAPI(), openai.WithResponsesAPIFunc(func(string) bool { return true }))
			},
			answers: [2]string{
				`{"id":"1","object":"response","status":"completed","model":"m","output":[{"type":"function_call","id":"f1","call_id":"c1","name":"pending","arguments":"{}","status":"completed"}]}`,
				`{"id":"2","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Done.","annotations":[]}]}]}`,
			},
			declared: func(request map[string]any) []declared {
				var out []declared
				for _, t := range list(request, "tools") {
					out = append(out, declared{str(t, "name"), str(t, "description"), object(t, "parameters")})
				}
				return out
			},
		},
		{
			name: "Anthropic",
			provider: func(server *httptest.Server) (fantasy.Provider, error) {
				return anthropic.New(anthropic.WithBaseURL(server.URL), anthropic.WithHTTPClient(server.Client()), anthropic.WithAPIKey("none"))
			},
			answers: [2]string{
				`{"id":"1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"c1","name":"pending","input":{}}],"usage":{"input_tokens":1,"output_tokens":1}}`,
				`{"id":"2","type":"message","role":"assistant","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":1,"output_tokens":1}}`,
			},
			declared: func(request map[string]any) []declared {
				var out []declared
				for _, t := range list(request, "tools") {
					out = append(out, declared{str(t, "name"), str(t, "description"), object(t, "input_schema")})
				}
				return out
			},
		},
		{
			name: "Google",
			provider: func(server *httptest.Server) (fantasy.Provider, error) {
				return google.New(google.WithBaseURL(server.URL), google.WithHTTPClient(server.Client()), google.WithGeminiAPIKey("none"))
			},
			answers: [2]string{
				`{"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[{"functionCall":{"name":"pending","args":{}}}]}}],"usageMetadata":{}}`,
				`{"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[{"text":"Done."}]}}],"usageMetadata":{}}`,
			},
			declared: func(request map[string]any) []declared {
				var out []declared
				for _, t := range list(request, "tools") {
					for _, f := range list(t, "functionDeclarations") {
						out = append(out, declared{str(f, "name"), str(f, "description"), object(f, "parameters")})
					}
				}
				return out
			},
			form: googleForm,
		},
	}
}

func TestEveryProviderSendsWholeSchemasInTheSafeSubset(t *testing.T) {
	for _, v := range vendors() {
		t.Run(v.name, func(t *testing.T) {
			tools := tools(t)
			requests := runAgent(t, v, tools)
			if len(requests) != 2 {
				t.Fatalf("%d requests arrived, want 2", len(requests))
			}
			for _, request := range requests {
				got := v.declared(request)
				if len(got) != len(tools) {
					t.Fatalf("%d tools are declared, want %d", len(got), len(tools))
				}
				for i, tool := range tools {
					checkDeclared(t, v, tool.Info(), got[i])
				}
			}
			sent := marshal(t, requests[1])
			for _, want := range []string{
				"BIN name (sh, jq, kubectl), as installed", "How many, at most. From 1 to 100; default 20.",
				`State, one of them. One of \"running\", \"done\"; default \"done\".`,
				"(no output)", // what an empty answer of a tool must arrive as
			} {
				if !strings.Contains(sent, want) {
					t.Errorf("%q did not arrive in %s", want, sent)
				}
			}
		})
	}
}

// runAgent runs the real agent on the vendor's provider and returns the bodies
// of its requests.
func runAgent(t *testing.T, v vendor, tools []fantasy.AgentTool) []map[string]any {
	t.Helper()
	var mu sync.Mutex
	var requests []map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var request map[string]any
		if err := json.Unmarshal(body, &request); err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		answer := v.answers[min(len(requests), 1)]
		requests = append(requests, request)
		w.Header().Set("Content-Type", "application/json")
		if _, err := io.WriteString(w, answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()

	provider, err := v.provider(server)
	if err != nil {
		t.Fatal(err)
	}
	model, err := provider.LanguageModel(context.Background(), "gpt-4o")
	if err != nil {
		t.Fatal(err)
	}
	agent := fantasy.NewAgent(model, fantasy.WithTools(tools...), fantasy.WithMaxRetries(0))
	result, err := agent.Generate(context.Background(), fantasy.AgentCall{Prompt: "Go."})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Response.Content.Text(); got != "Done." {
		t.Errorf("the agent's last text is %q", got)
	}
	mu.Lock()
	defer mu.Unlock()
	return requests
}

func checkDeclared(t *testing.T, v vendor, info fantasy.ToolInfo, got declared) {
	t.Helper()
	if got.name != info.Name || got.description != info.Description {
		t.Errorf("declared is %q, %q; want %q, %q", got.name, got.description, info.Name, info.Description)
	}
	want := decode(t, map[string]any{"type": "object", "properties": info.Parameters, "required": info.Required})
	if v.form != nil {
		v.form(want)
	}
	checkKeywords(t, info.Name, got.schema)
	if diff := cmp.Diff(want, got.schema); diff != "" {
		t.Errorf("%s: the schema (-want +got):\n%s", info.Name, diff)
	}
}

// checkKeywords checks that a schema, at any depth, is described and has only
// the keywords that every vendor accepts.
func checkKeywords(t *testing.T, path string, s map[string]any) {
	t.Helper()
	for key := range s {
		switch key {
		case "type", "description", "items", "enum", "additionalProperties", "required":
		case "properties":
			for name, child := range object(s, "properties") {
				if str(child, "description") == "" {
					t.Errorf("%s.%s has no description", path, name)
				}
				checkKeywords(t, path+"."+name, child.(map[string]any))
			}
		default:
			t.Errorf("%s has the keyword %q", path, key)
		}
		if s[key] == nil {
			t.Errorf("%s has the keyword %q with null", path, key)
		}
	}
	if items, ok := s["items"]; ok {
		checkKeywords(t, path+"[]", items.(map[string]any))
	}
}

// googleForm makes s what fantasy's Google provider sends: types in capitals, a
// string where there is no type, of a parameter only type, description,
// properties and items, and no empty properties. Choices are lost, so descriptions have them in words.
func googleForm(s map[string]any) {
	kind := strings.ToUpper(str(s, "type"))
	if kind == "" {
		kind = "STRING"
	}
	s["type"] = kind
	for _, p := range object(s, "properties") {
		p := p.(map[string]any)
		delete(p, "enum")
		delete(p, "additionalProperties")
		delete(p, "required")
		googleForm(p)
	}
	if items, ok := s["items"].(map[string]any); ok {
		delete(items, "required")
		googleForm(items)
	}
	if len(object(s, "properties")) == 0 {
		delete(s, "properties")
	}
	if len(list(s, "required")) == 0 {
		delete(s, "required")
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func decode(t *testing.T, v any) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(marshal(t, v)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func object(v any, key string) map[string]any {
	m, _ := v.(map[string]any)
	out, _ := m[key].(map[string]any)
	return out
}

func list(v any, key string) []any {
	m, _ := v.(map[string]any)
	out, _ := m[key].([]any)
	return out
}

func str(v any, key string) string {
	m, _ := v.(map[string]any)
	out, _ := m[key].(string)
	return out
}
