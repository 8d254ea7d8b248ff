package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/internal/scripted"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

var bins = map[string]jobstest.Bin{
	"echo":  jobstest.Echo(),
	"sleep": jobstest.Blocks(nil, ""),
	"fail": {Run: func(_ context.Context, p *jobstest.Process) int {
		_, _ = p.Stderr.Write([]byte("no such table\n"))
		return 3
	}},
}

// set is a set of job tools on a client of its own.
type set struct {
	t     *testing.T
	d     *jobstest.Daemon
	jobs  *jobTools
	tools []fantasy.AgentTool
}

func newSet(t *testing.T, change func(*jobsclient.Config)) *set {
	t.Helper()
	d := jobstest.New(t, jobstest.Options{Bins: bins})
	cfg := d.Config()
	if change != nil {
		change(&cfg)
	}
	c := jobsclient.New(cfg)
	t.Cleanup(func() { _ = c.Close() })
	j := newJobTools(c)
	return &set{t: t, d: d, jobs: j, tools: j.all()}
}

// impatient makes calls give a hung daemon up soon.
func impatient(cfg *jobsclient.Config) { cfg.CallTimeout = 2 * time.Second }

func (s *set) run(ctx context.Context, name, input string) (fantasy.ToolResponse, error) {
	s.t.Helper()
	for _, tool := range s.tools {
		if tool.Info().Name == name {
			return tool.Run(ctx, fantasy.ToolCall{ID: "1", Name: name, Input: input})
		}
	}
	s.t.Fatalf("there is no tool %s", name)
	return fantasy.ToolResponse{}, nil
}

// ok runs a tool and decodes its answer.
func (s *set) ok(ctx context.Context, name, input string) map[string]any {
	s.t.Helper()
	answer, err := s.run(ctx, name, input)
	if err != nil || answer.IsError {
		s.t.Fatalf("%s %s: %q, %v", name, input, answer.Content, err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(answer.Content), &got); err != nil {
		s.t.Fatalf("%s: %v in %s", name, err, answer.Content)
	}
	return got
}

// refused runs a tool and returns the text of its error.
func (s *set) refused(ctx context.Context, name, input string) string {
	s.t.Helper()
	answer, err := s.run(ctx, name, input)
	if err != nil || !answer.IsError {
		s.t.Fatalf("%s %s: %q, %v; want an error answer", name, input, answer.Content, err)
	}
	for _, word := range []string{"rpc error", "code =", "transport", "grpc:", "jobsclient.", "context deadline", "context canceled", s.d.Token(), "\x00"} {
		if strings.Contains(answer.Content, word) {
			s.t.Errorf("%s shows %q: %s", name, word, answer.Content)
		}
	}
	return answer.Content
}

func id(job string) string { return fmt.Sprintf(`{"job_id":%q}`, job) }

func names(tools []fantasy.AgentTool) []string {
	var all []string
	for _, tool := range tools {
		all = append(all, tool.Info().Name)
	}
	return all
}

func TestTheEnvironmentDecidesWhetherThereAreJobTools(t *testing.T) {
	tests := []struct {
		name, url, token string
		want             []string
		warning          string
	}{
		{"both variables", "unix:///run/d.sock", "t0ken", []string{"job_submit", "job_status", "job_wait"}, ""},
		{"no token", "unix:///run/d.sock", "", nil, jobsclient.EnvAgentToken},
		{"a blank token", "unix:///run/d.sock", " \n", nil, jobsclient.EnvAgentToken},
		{"no address", "", "t0ken", nil, jobsclient.EnvDaemonURL},
		{"neither", "", "", nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			core, logs := observer.New(zapcore.WarnLevel)
			t.Cleanup(zap.ReplaceGlobals(zap.New(core)))
			t.Setenv(jobsclient.EnvDaemonURL, test.url)
			t.Setenv(jobsclient.EnvAgentToken, test.token)
			tools := BuildJobTools()
			if diff := cmp.Diff(test.want, names(tools)); diff != "" || (tools == nil) != (test.want == nil) {
				t.Error(diff)
			}
			switch {
			case test.warning == "" && logs.Len() > 0:
				t.Errorf("warned: %v", logs.All())
			case test.warning != "" && (logs.Len() != 1 || logs.All()[0].ContextMap()["missing"] != test.warning):
				t.Errorf("warned: %v", logs.All())
			}
		})
	}
}

func TestAClientOfTheCallersHasAllSixTools(t *testing.T) {
	c := jobsclient.New(jobsclient.Config{})
	t.Cleanup(func() { _ = c.Close() })
	tools := NewJobTools(c)
	if diff := cmp.Diff([]string{"job_submit", "job_status", "job_wait", "job_cancel", "job_list", "job_watch"}, names(tools)); diff != "" {
		t.Error(diff)
	}
	for _, tool := range tools {
		if n := utf8.RuneCountInString(tool.Info().Description); n > 1024 {
			t.Errorf("%s is described in %d characters", tool.Info().Name, n)
		}
		answer, err := tool.Run(context.Background(), fantasy.ToolCall{Input: `{"job_id":"j","bin":"b"}`})
		if err != nil || !answer.IsError {
			t.Errorf("%s without a daemon: %+v, %v", tool.Info().Name, answer, err)
		}
	}
}

func TestJobToolsWithoutAClientAreAMistakeOfTheProgram(t *testing.T) {
	defer func() {
		if v := recover(); v != "tool.NewJobTools: the client is nil" {
			t.Errorf("got %v", v)
		}
	}()
	NewJobTools(nil)
}

func TestBuildingTheToolsStartsNothingAndTheFirstCallConnectsOnce(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: bins})
	d.Setenv(t)
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	j := jobToolsFromEnv() // as BuildJobTools, with a client that the test can close
	t.Cleanup(func() { _ = j.client.Close() })
	tools := j.basic()
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines more", n-goroutines)
	}
	if n := openDescriptors(t); n > descriptors {
		t.Errorf("%d descriptors more", n-descriptors)
	}
	if n := d.Accepts(); n != 0 {
		t.Errorf("%d connections before the first call", n)
	}
	for _, first := range []int{2, 1, 0} {
		for _, input := range []string{`{"job_id":"job_x"}`, `{"bin":"echo"}`} {
			if _, err := tools[first].Run(context.Background(), fantasy.ToolCall{Input: input}); err != nil {
				t.Error(err)
			}
		}
	}
	if n := d.Accepts(); n != 1 {
		t.Errorf("%d connections after calls of all tools", n)
	}
	d.Close()
}

func TestATokenThatChangesInTheEnvironmentIsFollowed(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: bins})
	d.Setenv(t)
	j := jobToolsFromEnv()
	t.Cleanup(func() { _ = j.client.Close() })
	s := &set{t: t, d: d, jobs: j, tools: j.basic()}
	ctx := context.Background()
	job := s.ok(ctx, "job_submit", `{"bin":"echo"}`)["job_id"].(string)
	t.Setenv(jobsclient.EnvAgentToken, d.Agent().Rotate())
	s.ok(ctx, "job_status", id(job))
	d.Agent().Rotate()
	if text := s.refused(ctx, "job_status", id(job)); !strings.Contains(text, "refused") || !strings.Contains(text, jobsclient.EnvAgentToken) {
		t.Error(text)
	}
}

func TestATokenThatWasTakenOutOfTheEnvironmentIsKept(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: bins})
	d.Setenv(t)
	j := jobToolsFromEnv()
	t.Cleanup(func() { _ = j.client.Close() })
	t.Setenv(jobsclient.EnvAgentToken, "")
	s := &set{t: t, d: d, jobs: j, tools: j.basic()}
	s.ok(context.Background(), "job_submit", `{"bin":"echo"}`)
}

func TestAnIDOfAnyLengthAndContentIsShownShort(t *testing.T) {
	s := newSet(t, nil)
	inputs := []string{`{"job_id":"a\u0000b\nc"}`, id(strings.Repeat("x", 1<<20)), `{"job_id":"\u202eü"}`}
	for _, input := range inputs {
		for _, name := range []string{"job_status", "job_wait", "job_cancel"} {
			if text := s.refused(context.Background(), name, input); len(text) > 500 || strings.ContainsAny(text, "\n\u202e") {
				t.Errorf("%s: %d bytes: %.100q", name, len(text), text)
			}
		}
	}
	slow := newSet(t, func(cfg *jobsclient.Config) { cfg.CallTimeout = 300 * time.Millisecond })
	slow.d.Inject(jobstest.Fault{Hang: true})
	for _, input := range inputs {
		for _, name := range []string{"job_status", "job_wait", "job_cancel"} {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			answer, err := slow.run(ctx, name, input)
			if err != nil || len(answer.Content) > 500 || strings.ContainsAny(answer.Content, "\n\u202e") {
				t.Errorf("%s of a daemon that does not answer: %d bytes: %.100q, %v", name, len(answer.Content), answer.Content, err)
			}
			cancel()
		}
	}
}

func TestWhatADaemonSaysOfAJobIsBounded(t *testing.T) {
	s := newSet(t, nil)
	long := strings.Repeat("x\n", 1<<19)
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Status(long), Bin: long, Error: long, Stdout: long})
	s.d.AddJob(s.d.Agent(), jobsclient.Job{ID: long, Status: jobsclient.Done})
	for name, input := range map[string]string{"job_status": id(job), "job_list": `{}`} {
		answer, err := s.run(context.Background(), name, input)
		if err != nil || answer.IsError || len(answer.Content) > 12<<10 || len(answer.Metadata) > 1<<10 {
			t.Errorf("%s: %d bytes, metadata of %d, %v", name, len(answer.Content), len(answer.Metadata), err)
		}
	}
}

func TestWhiteSpaceAroundAnIDIsIgnored(t *testing.T) {
	s := newSet(t, nil)
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done})
	for _, name := range []string{"job_status", "job_wait", "job_watch", "job_cancel"} {
		if got := s.ok(context.Background(), name, id(" "+job+"\n")); got["job_id"] != job {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestAJobIsSubmittedAndWaitedFor(t *testing.T) {
	s := newSet(t, nil)
	ctx := context.Background()
	job := s.ok(ctx, "job_submit", `{"bin":"echo","args":["a b"],"stdin":"in","labels":{"k":"v"}}`)["job_id"].(string)
	got := s.ok(ctx, "job_wait", id(job))
	delete(got, "elapsed")
	want := map[string]any{"job_id": job, "status": "done", "exit_code": 0.0, "stdout": "a b\nin", "stderr": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := s.ok(ctx, "job_status", id(job)); got["stdout"] != "a b\nin" || got["note"] != nil {
		t.Errorf("job_status: %v", got)
	}
}

func TestNoToolHangsOrReturnsAGoErrorWhileTheDaemonIsDownOrHangs(t *testing.T) {
	inputs := map[string]string{
		"job_submit": `{"bin":"echo"}`, "job_status": id("job_x"), "job_wait": id("job_x"), "job_watch": id("job_x"), "job_cancel": id("job_x"), "job_list": `{}`,
	}
	for what, fault := range map[string]func(*jobstest.Daemon){"down": (*jobstest.Daemon).Kill, "hung": (*jobstest.Daemon).Hang} {
		for name, input := range inputs {
			t.Run(name+" while it is "+what, func(t *testing.T) {
				t.Parallel()
				s := newSet(t, impatient)
				fault(s.d)
				answer, err := s.run(context.Background(), name, input)
				if err != nil || answer.Content == "" || !answer.IsError {
					t.Errorf("got %+v, %v", answer, err)
				}
			})
		}
	}
}

func TestALostSubmitSaysThatTheJobMayExistAndHowToLook(t *testing.T) {
	s := newSet(t, nil)
	s.d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, LoseAnswer: true})
	remove := s.d.Inject(jobstest.Fault{Method: jobstest.MethodList, Err: status.Error(codes.PermissionDenied, "no")})
	if text := s.refused(context.Background(), "job_submit", `{"bin":"echo"}`); !strings.Contains(text, "may exist") || !strings.Contains(text, "job_list") {
		t.Error(text)
	}
	remove()
	if got := s.ok(context.Background(), "job_submit", `{"bin":"echo"}`); got["job_id"] == "" {
		t.Errorf("got %v", got)
	}
}

func TestATooLargeStdinSaysTheLimit(t *testing.T) {
	s := newSet(t, nil)
	s.d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, Err: status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5242900 vs. 4194304)")})
	if text := s.refused(context.Background(), "job_submit", `{"bin":"echo","stdin":"x"}`); !strings.Contains(text, "the limit is 4194304") {
		t.Error(text)
	}
}

func TestInputThatIsWrongIsRefusedInPlainWords(t *testing.T) {
	s := newSet(t, nil)
	for name, inputs := range map[string][]string{
		"job_submit": {``, `{}`, `{"bin":""}`, `{"bin":"nope"}`, `{"bin":["x"]}`, `{"bin":"echo","args":{"a":1}}`, `{"bin":"echo","argv":[]}`, `{"bin":"echo","args":["a\u0000b"]}`},
		"job_status": {``, `{}`, `{"job_id":""}`, `{"job_id":"job_x"}`, `{"id":"x"}`},
		"job_wait":   {`{}`, `{"job_id":" "}`, `{"job_id":"job_x"}`},
		"job_watch":  {`{}`, `{"job_id":"job_x"}`},
		"job_cancel": {`{}`, `{"job_id":""}`},
	} {
		for _, input := range inputs {
			s.refused(context.Background(), name, input)
		}
	}
	if n := len(s.d.Jobs()); n != 0 {
		t.Errorf("%d jobs were made", n)
	}
}

func TestAnAgentSubmitsLooksAndWaits(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"sh": {Path: "/bin/sh"}}})
	c := jobsclient.New(d.Config())
	t.Cleanup(func() { _ = c.Close() })
	known := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: "earlier"})
	model := &scripted.Model{Turns: []scripted.Turn{
		{Calls: []scripted.Call{{Tool: "job_submit", Input: `{"bin":"sh","args":["-c","echo 42 rows"]}`}, {Tool: "job_status", Input: id(known)}}},
		{Calls: []scripted.Call{{Tool: "job_wait", Input: id(known)}, {Tool: "job_status", Input: id("job_x")}, {Tool: "job_list", Input: ``}}},
		{Text: "done"},
	}}
	agent := fantasy.NewAgent(model, fantasy.WithTools(NewJobTools(c)...))
	result, err := agent.Generate(context.Background(), fantasy.AgentCall{Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Response.Content.Text(); got != "done" {
		t.Errorf("the agent says %q", got)
	}
	if jobs := d.Jobs(); len(jobs) != 2 {
		t.Errorf("the daemon has %d jobs", len(jobs))
	}
}
