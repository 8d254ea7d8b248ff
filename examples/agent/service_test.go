//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"charm.land/fantasy"
)

const testKey = "sk-test-0123456789abcdef"

// completionRequest is what the tests look at in a request for a completion.
type completionRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name        string         `json:"name"`
			Description string         `json:"description"`
			Parameters  map[string]any `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	key string
}

// fakeService speaks the chat completions protocol: it keeps each request and
// lets answer answer the n-th one, counted from 0.
type fakeService struct {
	*httptest.Server
	mu       sync.Mutex
	requests []completionRequest
}

func newService(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *fakeService {
	t.Helper()
	s := &fakeService{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req completionRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		req.key = r.Header.Get("Authorization")
		s.mu.Lock()
		n := len(s.requests)
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// command is the agent with this service in its environment.
func (s *fakeService) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, append([]string{"-model", "test-model"}, args...)...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+s.URL+"/v1", "OPENAI_API_KEY="+testKey+"\n")
	return cmd
}

// stream sends chunks of a completion as server-sent events.
func stream(w http.ResponseWriter, chunks ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, c := range chunks {
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"test-model\",%s}\n\n", c)
		w.(http.Flusher).Flush()
	}
}

// finish ends a completion, with what it has cost.
func finish(w http.ResponseWriter, reason string) {
	stream(w, `"choices":[{"index":0,"delta":{},"finish_reason":"`+reason+`"}]`,
		`"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}`)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func streamText(w http.ResponseWriter, words ...string) {
	for _, word := range words {
		content, _ := json.Marshal(word)
		stream(w, `"choices":[{"index":0,"delta":{"role":"assistant","content":`+string(content)+`}}]`)
	}
}

// streamCall sends a call in two pieces, as services do.
func streamCall(w http.ResponseWriter, index int, id, tool, input string) {
	piece := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	stream(w, fmt.Sprintf(`"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}}]`,
		index, id, tool, piece(input[:5])),
		fmt.Sprintf(`"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}}]`, index, piece(input[5:])))
}

func TestAServicesModelCallsTheTools(t *testing.T) {
	service := newService(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 0 {
			streamText(w, "I ", "look.")
			streamCall(w, 0, "call_a", "grep", `{"args":["-n","cedar","plants.txt"]}`)
			streamCall(w, 1, "call_b", "sh", `{"args":["-c","env; exit 3"]}`)
			finish(w, "tool_calls")
			return
		}
		streamText(w, "It is in ", "line 3.\x1b[2J")
		finish(w, "stop")
	})
	cmd := service.command(t, "-full", "Where is the cedar?")
	writeFiles(t, cmd.Dir, map[string]string{"plants.txt": "ash\nbirch\ncedar\n"})
	stdout, stderr, status := output(t, cmd)
	if status != exitOK || stderr != "" {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
	for _, want := range []string{
		"model:   test-model of 127.0.0.1:",
		"prompt:  Where is the cedar?\n",
		"\nI look.\n\n[1] grep {\"args\":[\"-n\",\"cedar\",\"plants.txt\"]}\n[2] sh {\"args\":[\"-c\",\"env; exit 3\"]}\n",
		"[1] exit code 0, ", ", 8 bytes\n    3:cedar\n",
		"[2] exit code 3, ",
		"\nIt is in line 3.�[2J\n\nsteps: 2; calls: 2, 1 of them failed; tokens: 200 read, 40 written\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, testKey) {
		t.Error("the key is shown")
	}
	service.checkRequests(t)
}

// checkRequests checks what the service was sent in the run above.
func (s *fakeService) checkRequests(t *testing.T) {
	t.Helper()
	if len(s.requests) != 2 {
		t.Fatalf("%d requests", len(s.requests))
	}
	first, second := s.requests[0], s.requests[1]
	if first.key != "Bearer "+testKey || first.Model != "test-model" || !first.Stream {
		t.Errorf("sent key %q, model %q, stream %v", first.key, first.Model, first.Stream)
	}
	var sent []string
	for _, tool := range first.Tools {
		sent = append(sent, tool.Function.Name)
		properties, _ := tool.Function.Parameters["properties"].(map[string]any)
		if tool.Function.Description == "" || len(properties) == 0 {
			t.Errorf("sent tool %+v", tool)
		}
		for name, p := range properties {
			if p.(map[string]any)["description"] == "" {
				t.Errorf("%s of %s has no description", name, tool.Function.Name)
			}
		}
	}
	want := "sh grep find wc sort head git job_submit job_status job_wait job_cancel job_list job_watch"
	if got := strings.ReplaceAll(strings.Join(sent, " "), " git ", " "); got != strings.ReplaceAll(want, " git ", " ") { // git may not be installed
		t.Errorf("sent tools %s, want %s", got, want)
	}
	messages, err := json.Marshal(second.Messages)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Where is the cedar?", "3:cedar", "exit code 3"} {
		if !bytes.Contains(messages, []byte(want)) {
			t.Errorf("%q is missing in %s", want, messages)
		}
	}
	if bytes.Contains(messages, []byte(testKey)) {
		t.Errorf("the child saw the key: %s", messages)
	}
}

func TestAServiceThatFailsIsExplainedInOneSentence(t *testing.T) {
	answer := func(status int, body string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, tc := range []struct {
		name   string
		answer func(int, http.ResponseWriter, *http.Request)
		want   string
	}{
		{"a refused key", answer(401, `{"error":{"message":"Incorrect API key provided: `+testKey+`.","type":"invalid_request_error"}}`),
			"agent: HOST does not accept the key in OPENAI_API_KEY: Incorrect API key provided: (the key).\n"},
		{"an unknown model", answer(404, `{"error":{"message":"The model does not exist"}}`),
			"agent: HOST does not know the model test-model, or the path in OPENAI_BASE_URL is wrong; it often ends with /v1: The model does not exist\n"},
		{"no credit", answer(429, `{"error":{"message":"You exceeded your quota"}}`),
			"agent: HOST has had enough requests for now, or the account has no credit left: You exceeded your quota\n"},
		{"a fault of the service", answer(500, `{"error":{"message":"line one\n\nline\ttwo \u001b[31m"}}`),
			"agent: HOST answered 500 Internal Server Error: line one line two �[31m\n"},
		{"a fault in the stream", func(_ int, w http.ResponseWriter, _ *http.Request) {
			streamText(w, "I ")
			_, _ = io.WriteString(w, "data: {\"error\":{\"message\":\"overloaded, key "+testKey+"\",\"type\":\"server_error\"}}\n\n")
		}, "agent: HOST did not answer as it should: stream error: overloaded, key (the key)\n"},
		{"a stream that is cut", func(_ int, w http.ResponseWriter, _ *http.Request) {
			streamText(w, "I ")
			panic(http.ErrAbortHandler)
		}, "agent: HOST did not answer as it should: stream transport error: unexpected EOF\n"},
		{"an answer that is cut", func(_ int, w http.ResponseWriter, _ *http.Request) {
			streamText(w, "I ")
			finish(w, "length")
		}, "agent: the answer is not complete: it reached the model's limit of tokens\n"},
		{"an answer that is filtered", func(_ int, w http.ResponseWriter, _ *http.Request) {
			finish(w, "content_filter")
		}, "agent: the answer is not complete: a filter of the service held it back\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service := newService(t, tc.answer)
			stdout, stderr, status := output(t, service.command(t, "-retries", "0"))
			stderr = strings.Replace(stderr, service.Listener.Addr().String(), "HOST", 1)
			if status != exitFailed || stderr != tc.want {
				t.Errorf("exit status %d, stderr\n%s, want\n%s", status, stderr, tc.want)
			}
			if strings.Contains(stdout, testKey) || !strings.HasSuffix(stdout, "\n") {
				t.Errorf("stdout:\n%s", stdout)
			}
		})
	}
}

func TestAServiceThatIsNotThereIsExplained(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "-model", "m", "-retries", "0")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL=http://user:sesame@"+address+"/v1")
	stdout, stderr, status := output(t, cmd)
	if status != exitFailed || !strings.HasPrefix(stderr, "agent: cannot reach "+address+": ") ||
		!strings.Contains(stderr, "refused") || strings.Contains(stdout+stderr, "sesame") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
}

func TestAServiceThatFailsForAMomentIsAskedAgain(t *testing.T) {
	service := newService(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 0 {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		streamText(w, "Hello.")
		finish(w, "stop")
	})
	stdout, stderr, status := output(t, service.command(t))
	if status != exitOK || stderr != "" || !strings.Contains(stdout, "\nthe service answered 503; asking again in ") || !strings.Contains(stdout, "\nHello.\n") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
}

func TestAnInterruptEndsTheWaitForAService(t *testing.T) {
	asked := make(chan struct{})
	service := newService(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	cmd := service.command(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted || stderr.String() != "agent: interrupted\n" {
		t.Errorf("exit status %d, stderr %q", status, stderr.String())
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	openAI := services[1]
	for _, tc := range []struct {
		name   string
		status int
		key    string
		want   string
	}{
		{"no key where one is needed", 401, "", "OpenAI asks for a key, and there is none in OPENAI_API_KEY"},
		{"a key that is refused", 403, "k", "OpenAI does not accept the key in OPENAI_API_KEY"},
		{"a model that is not known", 404, "k", "OpenAI does not know the model m (-model chooses another)"},
		{"a status without a name", 599, "k", "OpenAI answered 599 (unknown status)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := openAI.refusal(tc.status, "m", tc.key); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOpenAIsSettingsGoToNobodyElse(t *testing.T) {
	var headers http.Header
	fake := newService(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		headers = r.Header.Clone()
		streamText(w, "Hello.")
		finish(w, "stop")
	})
	t.Setenv("OPENAI_ORG_ID", "org-1")
	t.Setenv("OPENAI_PROJECT_ID", "project-1")
	t.Setenv("OPENAI_ADMIN_KEY", "admin-1")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: gateway-1")
	t.Setenv("OTHER_KEY", "other-1")
	m, err := newServiceModel(t.Context(), service{name: "Other", keyVar: "OTHER_KEY", baseURL: fake.URL + "/v1"}, "m")
	if err != nil {
		t.Fatal(err)
	}
	result, err := fantasy.NewAgent(m).Stream(t.Context(), fantasy.AgentStreamCall{Prompt: "Hi"})
	if err != nil || result.Response.Content.Text() != "Hello." {
		t.Fatalf("%+v, %v", result, err)
	}
	if headers.Get("Authorization") != "Bearer other-1" {
		t.Error("the key of the service is not sent")
	}
	for name, values := range headers {
		if strings.HasSuffix(values[0], "-1") && name != "Authorization" {
			t.Errorf("sent %s: %s", name, values[0])
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestTheEnvironmentChoosesTheService(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"nothing is set", nil, nil, "none, a script plays its part (-h tells how to use one)"},
		{"a key is blank", map[string]string{"OPENAI_API_KEY": " \n"}, nil, "none, a script plays its part (-h tells how to use one)"},
		{"OpenAI", map[string]string{"OPENAI_API_KEY": "k"}, nil, "gpt-5-mini of OpenAI"},
		{"OpenRouter", map[string]string{"OPENROUTER_API_KEY": "k"}, nil, "openai/gpt-5-mini of OpenRouter"},
		{"Anthropic", map[string]string{"ANTHROPIC_API_KEY": "k"}, nil, "claude-haiku-4-5 of Anthropic"},
		{"Gemini", map[string]string{"GEMINI_API_KEY": "k"}, nil, "gemini-2.5-flash of Gemini"},
		{"a model of one's own", map[string]string{"GEMINI_API_KEY": "k"}, []string{"-model", "m"}, "m of Gemini"},
		{"an address comes before keys", map[string]string{"OPENAI_BASE_URL": "http://localhost:1", "ANTHROPIC_API_KEY": "k"}, []string{"-model", "m"}, "m of localhost:1"},
		{"offline is asked for", map[string]string{"OPENAI_API_KEY": "k"}, []string{"-offline"}, "none, a script plays its part (-h tells how to use one)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, s := range services {
				t.Setenv(s.variable(), tc.env[s.variable()])
			}
			opts, err := parseFlags(tc.args)
			if err != nil {
				t.Fatal(err)
			}
			m, err := chooseModel(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			if m.label != tc.want {
				t.Errorf("got %q, want %q", m.label, tc.want)
			}
		})
	}
}
