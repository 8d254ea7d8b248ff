//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/openai"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/examples/internal/toolset"
)

func TestSchemaShowsOneToolOrAll(t *testing.T) {
	everything(t)
	all := toolbox(t, "", "schema", "-tools", "my.yaml")
	if all.status != exitOK || all.stderr != "" {
		t.Errorf("status %d, stderr %q", all.status, all.stderr)
	}
	golden(t, here, "schema.json", all.stdout)
	tools := decode[[]sent](t, all)
	if len(tools) != 2+6+21 {
		t.Errorf("%d tools", len(tools))
	}
	for _, want := range tools {
		one := toolbox(t, "", "schema", want.Name, "-json", "-tools", "my.yaml")
		if diff := cmp.Diff(want, decode[sent](t, one)); diff != "" {
			t.Errorf("%s (-in all +alone):\n%s", want.Name, diff)
		}
	}
}

func TestSchemaIsTheFormOfFantasyAndWhatAProviderIsSent(t *testing.T) {
	everything(t)
	shown := decode[[]map[string]any](t, toolbox(t, "", "schema", "-tools", "my.yaml"))
	set, err := toolset.Load(toolset.Options{ToolsFile: "my.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	var form []map[string]any
	for _, tool := range set.All() {
		info := tool.Info()
		f := fantasy.FunctionTool{Name: info.Name, Description: info.Description, InputSchema: map[string]any{
			"type": "object", "properties": info.Parameters, "required": info.Required,
		}}
		form = append(form, through(t, f)["data"].(map[string]any))
	}
	if diff := cmp.Diff(form, shown); diff != "" {
		t.Errorf("-fantasy's +shown:\n%s", diff)
	}
	var request []map[string]any
	for _, s := range shown {
		request = append(request, map[string]any{"type": "function", "function": map[string]any{
			"name": s["name"], "description": s["description"], "parameters": s["input_schema"], "strict": false,
		}})
	}
	if diff := cmp.Diff(request, sentToOpenAI(t, set.All())); diff != "" {
		t.Errorf("-shown +sent:\n%s", diff)
	}
}

// sentToOpenAI lets an agent ask a server, and returns the tools of the request.
func sentToOpenAI(t *testing.T, tools []fantasy.AgentTool) []map[string]any {
	t.Helper()
	var request struct {
		Tools []map[string]any `json:"tools"`
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}]}`)
	}))
	defer server.Close()
	provider, err := openai.New(openai.WithBaseURL(server.URL), openai.WithHTTPClient(server.Client()), openai.WithAPIKey("none"))
	if err != nil {
		t.Fatal(err)
	}
	model, err := provider.LanguageModel(t.Context(), "gpt-4o")
	if err != nil {
		t.Fatal(err)
	}
	agent := fantasy.NewAgent(model, fantasy.WithTools(tools...), fantasy.WithMaxRetries(0))
	if _, err := agent.Generate(t.Context(), fantasy.AgentCall{Prompt: "Go."}); err != nil {
		t.Fatal(err)
	}
	return request.Tools
}

func through(t *testing.T, v any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
