package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
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

func newSet(t *testing.T, o jobstest.Options, change func(*jobsclient.Config)) *set {
	t.Helper()
	if o.Bins == nil {
		o.Bins = bins
	}
	d := jobstest.New(t, o)
	cfg := d.Config()
	if change != nil {
		change(&cfg)
	}
	c := jobsclient.New(cfg)
	t.Cleanup(func() { _ = c.Close() })
	j := newJobTools(c)
	return &set{t: t, d: d, jobs: j, tools: j.all()}
}

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
	s := newSet(t, jobstest.Options{}, nil)
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

func TestAJobWhoseBinaryFailedIsNoErrorOfTheTool(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	ctx := context.Background()
	job := s.ok(ctx, "job_submit", `{"bin":"fail"}`)["job_id"].(string)
	if got := s.ok(ctx, "job_wait", id(job)); got["exit_code"] != 3.0 || got["stderr"] != "no such table\n" {
		t.Errorf("got %v", got)
	}
	broken := s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Failed, Error: "argument list too long"})
	if got := s.ok(ctx, "job_wait", id(broken)); got["status"] != "error" || got["error"] != "argument list too long" || got["exit_code"] != nil {
		t.Errorf("got %v", got)
	}
}

func TestTheStatusOfARunningJobIsShortAndPointsToJobWait(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{Stdout: strings.Repeat("line\n", 100_000) + "the end ü", Started: time.Now().Add(-90 * time.Second)})
	for range 5 {
		answer, err := s.run(context.Background(), "job_status", id(job))
		if err != nil || len(answer.Content) > 8<<10 {
			t.Fatalf("%d bytes, %v", len(answer.Content), err)
		}
		for _, text := range []string{"job_wait", "1m30s", "the end ü", "bytes before]", `"status":"running"`} {
			if !strings.Contains(answer.Content, text) && !strings.Contains(answer.Content, strings.Replace(text, "1m30s", "1m31s", 1)) {
				t.Errorf("%q is missing in %s", text, answer.Content)
			}
		}
		var result JobResult
		if err := json.Unmarshal([]byte(answer.Metadata), &result); err != nil || result.StdoutBytes != 500_000+10 {
			t.Errorf("metadata %s, %v", answer.Metadata, err)
		}
	}
}

func TestMuchOutputIsShownWithinTheBoundOfABinarys(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	tests := map[string]struct{ stdout, stderr string }{
		"five MiB":                    {"first\n" + strings.Repeat("x", 5<<20) + "\nlast", ""},
		"forty MB of lines":           {"first\n" + strings.Repeat("0123456789abcde\n", 40<<20/16) + "last", ""},
		"quotes, which JSON doubles":  {"first" + strings.Repeat(`"\`, 1<<20) + "last", ""},
		"both streams":                {"first" + strings.Repeat("o", 1<<20) + "last", strings.Repeat("e", 1<<20)},
		"little on one of the two":    {"first" + strings.Repeat("o", 1<<20) + "last", "a warning"},
		"characters of several bytes": {"first" + strings.Repeat("ü€", 1<<20) + "last", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			job := s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: test.stdout, Stderr: test.stderr})
			answer, err := s.run(context.Background(), "job_wait", id(job))
			if err != nil || answer.IsError {
				t.Fatal(answer.Content, err)
			}
			if n := len(answer.Content); n > 33<<10 || n < 16<<10 {
				t.Errorf("the answer has %d bytes", n)
			}
			var got jobText
			if err := json.Unmarshal([]byte(answer.Content), &got); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got.Stdout, "first") || !strings.HasSuffix(got.Stdout, "last") || !strings.Contains(got.Stdout, "bytes") {
				t.Errorf("head, tail or notice is missing: %.60q … %q", got.Stdout, got.Stdout[len(got.Stdout)-20:])
			}
			if len(test.stderr) < 100 && got.Stderr != test.stderr {
				t.Errorf("stderr is %q", got.Stderr)
			}
		})
	}
}

func TestOutputIsCleaned(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: "\x1b[31mred\x1b[0m 1%\r100%\x00\n<&>"})
	if got := s.ok(context.Background(), "job_wait", id(job)); got["stdout"] != "100%\n<&>" {
		t.Errorf("got %q", got["stdout"])
	}
}

func TestAWaitThatReachesTheTurnsDeadlineSaysThatTheJobGoesOn(t *testing.T) {
	for _, name := range []string{"job_wait", "job_watch"} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, jobstest.Options{}, nil)
			job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			got := s.ok(ctx, name, id(job))
			if ctx.Err() != nil {
				t.Error("it answered after the deadline")
			}
			if note := fmt.Sprint(got["note"]); got["job_id"] != job || !strings.Contains(note, "still running") || !strings.Contains(note, name) {
				t.Errorf("got %v", got)
			}
			if j, _ := s.d.Job(job); j.Status != jobsclient.Running || len(s.d.CallsOf(jobstest.MethodCancel)) != 0 {
				t.Errorf("the job is %s", j.Status)
			}
		})
	}
}

func TestAWaitEndsAfterMaxWait(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	s.jobs.maxWait = 500 * time.Millisecond
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
	if got := s.ok(context.Background(), "job_wait", id(job)); !strings.Contains(fmt.Sprint(got["note"]), "still running") {
		t.Errorf("got %v", got)
	}
}

func TestATurnThatIsCancelledDuringJobWaitCancelsTheJobAndDuringJobWatchDoesNot(t *testing.T) {
	for name, want := range map[string]jobsclient.Status{"job_wait": jobsclient.Cancelled, "job_watch": jobsclient.Running} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, jobstest.Options{}, nil)
			job := s.ok(context.Background(), "job_submit", `{"bin":"sleep"}`)["job_id"].(string)
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				for len(s.d.CallsOf(jobstest.MethodWatch)) == 0 {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			if _, err := s.run(ctx, name, id(job)); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			settled, stop := context.WithTimeout(context.Background(), 10*time.Second)
			defer stop()
			if j, err := s.d.AwaitJob(settled, job, func(j jobsclient.Job) bool { return j.Status == want }); err != nil {
				t.Errorf("the job is %s", j.Status)
			}
			if n := len(s.d.CallsOf(jobstest.MethodCancel)); n != map[string]int{"job_wait": 1}[name] {
				t.Errorf("cancelled %d times", n)
			}
		})
	}
}

func TestACancelledJobWaitReturnsSoonAlsoFromADaemonThatDoesNotAnswer(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	s.d.Inject(jobstest.Fault{Method: jobstest.MethodCancel, Hang: true})
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
	ctx, cancel := context.WithCancel(context.Background())
	var cancelled time.Time
	go func() {
		for len(s.d.CallsOf(jobstest.MethodWatch)) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancelled = time.Now()
		cancel()
	}()
	if _, err := s.run(ctx, "job_wait", id(job)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(cancelled); took > 5*cancelLimit {
		t.Errorf("it took %v", took)
	}
}

func TestAWaitOutlivesTheDaemonsDeath(t *testing.T) {
	tests := map[string]struct {
		change func(*jobstest.Daemon, string)
		want   string
	}{
		"back with the job done":     {func(d *jobstest.Daemon, job string) { d.Finish(job, "ok", 0) }, `"stdout":"ok"`},
		"back with the job orphaned": {func(*jobstest.Daemon, string) {}, `"status":"orphaned"`},
		"back without the job":       {(*jobstest.Daemon).Forget, "no such job"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, jobstest.Options{}, nil)
			job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
			s.d.Inject(jobstest.Fault{Method: jobstest.MethodWatch, Times: 1, CutAfter: 1})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for len(s.d.CallsOf(jobstest.MethodWatch)) < 2 {
					time.Sleep(time.Millisecond)
				}
				s.d.Kill()
				test.change(s.d, job)
				if err := s.d.Restart(); err != nil {
					t.Error(err)
				}
			}()
			answer, err := s.run(context.Background(), "job_wait", id(job))
			<-ended
			if err != nil || !strings.Contains(answer.Content, test.want) || !strings.Contains(answer.Content, job) {
				t.Errorf("got %q, %v", answer.Content, err)
			}
		})
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
				s := newSet(t, jobstest.Options{}, func(cfg *jobsclient.Config) { cfg.CallTimeout = 300 * time.Millisecond })
				s.jobs.limit = 300 * time.Millisecond
				fault(s.d)
				answer, err := s.run(context.Background(), name, input)
				if err != nil || answer.Content == "" || !answer.IsError && name != "job_cancel" {
					t.Errorf("got %+v, %v", answer, err)
				}
			})
		}
	}
}

func TestALostSubmitSaysThatTheJobMayExistAndHowToLook(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
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
	s := newSet(t, jobstest.Options{}, nil)
	s.d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, Err: status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5242900 vs. 4194304)")})
	if text := s.refused(context.Background(), "job_submit", `{"bin":"echo","stdin":"x"}`); !strings.Contains(text, "the limit is 4194304") {
		t.Error(text)
	}
}

func TestCancellingTwiceOrAFinishedJobAnswersItsState(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	ctx := context.Background()
	job := s.ok(ctx, "job_submit", `{"bin":"sleep"}`)["job_id"].(string)
	steps := []struct{ job, status, note string }{
		{job, "cancelled", "cancelled"},
		{job, "cancelled", "already"},
		{s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done, ExitCode: 2}), "done", "ended already"},
		{s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Pending}), "pending", "queued"},
	}
	for _, step := range steps {
		got := s.ok(ctx, "job_cancel", id(step.job))
		if got["status"] != step.status || !strings.Contains(fmt.Sprint(got["note"]), step.note) {
			t.Errorf("got %v, want %+v", got, step)
		}
	}
	if text := s.refused(ctx, "job_cancel", id("job_x")); !strings.Contains(text, "no such job") {
		t.Error(text)
	}
}

func TestACancelThatIsNotAnsweredIsNotConfirmed(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	s.jobs.limit = 200 * time.Millisecond
	s.d.Inject(jobstest.Fault{Method: jobstest.MethodCancel, Hang: true})
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
	if got := s.ok(context.Background(), "job_cancel", id(job)); !strings.Contains(fmt.Sprint(got["note"]), "cancel requested, not confirmed") || got["job_id"] != job {
		t.Errorf("got %v", got)
	}
}

func (s *set) listed(ctx context.Context, input string) []listedJob {
	s.t.Helper()
	answer, err := s.run(ctx, "job_list", input)
	if err != nil || answer.IsError {
		s.t.Fatalf("job_list %s: %q, %v", input, answer.Content, err)
	}
	var got []listedJob
	if err := json.Unmarshal([]byte(answer.Content), &got); err != nil {
		s.t.Fatal(err)
	}
	return got
}

func TestJobsCarryTheSessionOfTheContextAndAreListedByIt(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	one, two := WithSession(context.Background(), "one"), WithSession(context.Background(), "two")
	a := s.ok(one, "job_submit", `{"bin":"echo","labels":{"io.openotters.session-id":"forged","k":"v"}}`)["job_id"].(string)
	b := s.ok(two, "job_submit", `{"bin":"echo"}`)["job_id"].(string)
	if j, _ := s.d.Job(a); j.Labels[SessionLabel] != "one" || j.Labels["k"] != "v" {
		t.Errorf("labels are %v", j.Labels)
	}
	lists := []struct {
		ctx   context.Context
		input string
		want  []string
	}{
		{one, `{}`, []string{a}},
		{two, ``, []string{b}},
		{one, `{"all_sessions":true}`, []string{a, b}},
		{context.Background(), `{}`, []string{a, b}},
		{WithSession(context.Background(), "three"), `{}`, nil},
	}
	for _, list := range lists {
		var got []string
		for _, j := range s.listed(list.ctx, list.input) {
			got = append(got, j.JobID)
		}
		slices.Sort(got)
		slices.Sort(list.want)
		if !slices.Equal(got, list.want) {
			t.Errorf("%s lists %v, want %v", list.input, got, list.want)
		}
	}
	answer, _ := s.run(WithSession(context.Background(), "three"), "job_list", `{}`)
	if answer.Content != "[]" {
		t.Errorf("an empty list is %q", answer.Content)
	}
}

func TestAListIsBoundedNewestFirstAndWithoutOutput(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	now := time.Now()
	var ids []string
	for i := range 150 {
		ids = append(ids, s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: "secret", Created: now.Add(time.Duration(i-150) * time.Minute), Bin: "echo"}))
	}
	running := s.d.AddJob(s.d.Agent(), jobsclient.Job{Created: now})
	got := s.listed(context.Background(), `{}`)
	if len(got) != 21 || got[0].JobID != running || got[1].JobID != ids[149] || !strings.Contains(got[20].Note, "131 older jobs") {
		t.Errorf("got %d: %+v", len(got), got)
	}
	if got := s.listed(context.Background(), `{"limit":100,"status":"running"}`); len(got) != 1 || got[0].ExitCode != nil {
		t.Errorf("got %+v", got)
	}
	answer, _ := s.run(context.Background(), "job_list", `{"limit":"100"}`)
	if strings.Contains(answer.Content, "secret") {
		t.Error("the list shows output")
	}
	for _, input := range []string{`{"limit":0}`, `{"limit":-1}`, `{"limit":1e12}`, `{"limit":"30s"}`, `{"limit":0.5}`, `{"status":"finished"}`} {
		if text := s.refused(context.Background(), "job_list", input); !strings.Contains(text, "limit") && !strings.Contains(text, "status") {
			t.Errorf("%s: %s", input, text)
		}
	}
}

func TestOneUnreadableJobDoesNotHideTheOthers(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
	s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: "\xff"})
	running := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
	got := s.listed(context.Background(), `{}`)
	if len(got) != 2 || got[0].JobID != running || !strings.Contains(got[1].Note, "status done") {
		t.Errorf("got %+v", got)
	}
}

func TestInputThatIsWrongIsRefusedInPlainWords(t *testing.T) {
	s := newSet(t, jobstest.Options{}, nil)
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
