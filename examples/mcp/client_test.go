//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fantasytools/fantasytools/examples/mcp/bridge"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/pilot/pilottest"
	"github.com/fantasytools/fantasytools/tool"
)

var update = flag.Bool("update", false, "write the golden files")

// dot is a PNG of one pixel.
var dot = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc\xf8\x0f\x00\x01\x01\x01\x00\x1b\xb6\xeeV\x00\x00\x00\x00IEND\xaeB`\x82")

// fixture is a client of a server that has everything.
type fixture struct {
	kind
	cmd     *exec.Cmd
	daemon  *jobstest.Daemon
	network *pilottest.Network
	session *mcp.ClientSession
	waits   chan string // tokens of calls of which the server says that they wait
}

func TestAClient(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		f := &fixture{kind: k, waits: make(chan string, 100)}
		f.cmd, f.daemon, f.network = everything(t, "-progress", "5ms")
		f.session = connect(t, k, f.cmd, &mcp.ClientOptions{ProgressNotificationHandler: f.progress})
		for _, tc := range []struct {
			name string
			test func(*testing.T, *fixture)
		}{
			{"lists all tools", listsAllTools},
			{"calls each kind of tool", callsEachKindOfTool},
			{"ends the child of a call that it cancels", cancelledCallEndsItsChild},
			{"cancels a call that waits for its turn", waitingCallCanBeCancelled},
			{"makes fifty calls at once", fiftyCallsAtOnce},
			{"is told of an unknown tool by an error of the protocol", unknownToolIsAnErrorOfTheProtocol},
			{"cancels a job with the wait for it", cancelledWaitCancelsTheJob},
			{"labels jobs with its session", jobsCarryTheSession},
		} {
			t.Run(tc.name, func(t *testing.T) { tc.test(t, f) })
		}
	})
}

func (f *fixture) progress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	if token, ok := req.Params.ProgressToken.(string); ok && strings.Contains(req.Params.Message, "waits for its turn") {
		select {
		case f.waits <- token:
		default:
		}
	}
}

// everything is a command that has all kinds of tools.
func everything(t *testing.T, args ...string) (*exec.Cmd, *jobstest.Daemon, *pilottest.Network) {
	t.Helper()
	cmd := command(t, args...)
	daemon := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{
		"report": jobstest.Prints("42 rows\n", 0),
		"block":  jobstest.Blocks(make(chan struct{}), ""),
	}})
	network := pilottest.New(t, pilottest.V116)
	me := network.AddNode(pilottest.Node{Name: "host"})
	network.Directory(pilottest.Agent{Hostname: "bitstamp", Description: "The bitcoin agent"})
	dir := filepath.Dir(network.Install(t.TempDir()))
	cmd.Env = append(cmd.Env,
		jobsclient.EnvDaemonURL+"="+daemon.URL(), jobsclient.EnvAgentToken+"="+daemon.Token(),
		"HOME="+me.Home, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd, daemon, network
}

func listsAllTools(t *testing.T, f *fixture) {
	if got := f.session.InitializeResult(); got.ProtocolVersion != f.version || got.ServerInfo.Name != "fantasytools" {
		t.Errorf("the server is %+v with the protocol %s", got.ServerInfo, got.ProtocolVersion)
	}
	if f.version < sessionless { // later ones have no ping
		if err := f.session.Ping(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	var list []*mcp.Tool
	for tool, err := range f.session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tool)
	}
	if want := 3 + 6 + 21; len(list) != want {
		t.Errorf("there are %d tools, and not %d", len(list), want)
	}
	golden(t, "tools.json", encode(t, list))
	instructions := strings.ReplaceAll(f.session.InitializeResult().Instructions, realPath(t, f.cmd.Dir), "/home/you")
	golden(t, "instructions.txt", []byte(instructions+"\n"))
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func callsEachKindOfTool(t *testing.T, f *fixture) {
	if err := os.WriteFile(filepath.Join(f.cmd.Dir, "dot.png"), dot, 0o600); err != nil {
		t.Fatal(err)
	}

	result := call(t, f.session, "sh", map[string]any{"stdin": "echo out; pwd"})
	if got, want := textOf(t, result), "out\n"+realPath(t, f.cmd.Dir)+"\n"; result.IsError || got != want {
		t.Errorf("the result is %q, and not %q", got, want)
	}
	var metadata tool.Result
	decodeMeta(t, result, &metadata)
	if metadata.ExitCode != 0 || metadata.StdoutBytes == 0 {
		t.Errorf("the metadata is %+v", metadata)
	}

	result = call(t, f.session, "sh", script("echo partial; echo reason >&2; exit 3"))
	if got, want := textOf(t, result), "exit code 3\n\nstdout:\npartial\n\nstderr:\nreason\n"; !result.IsError || strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("the error result is %q", got)
	}

	result = call(t, f.session, "show", map[string]any{"args": []string{"dot.png"}})
	want := []mcp.Content{&mcp.ImageContent{Data: dot, MIMEType: "image/png"}}
	if diff := cmp.Diff(want, result.Content); diff != "" || result.IsError {
		t.Errorf("-want +got:\n%s", diff)
	}

	result = call(t, f.session, "sh", map[string]any{"argv": []string{"x"}}) // the library's own refusal
	if got := textOf(t, result); !result.IsError || !strings.Contains(got, "argv") || !strings.Contains(got, "args") {
		t.Errorf("the refusal is %q", got)
	}

	result = call(t, f.session, "sh", map[string]any{"args": []string{"-c", "exec true"}, "stdin": strings.Repeat("unread\n", 1<<17)})
	if got := textOf(t, result); result.IsError || got != "(exit 0, no output)" {
		t.Errorf("a program that does not read its input answers %q", got)
	}

	callJobs(t, f.session, f.daemon)

	result = call(t, f.session, "pilot_search", map[string]any{"keyword": "bitcoin"})
	if got := textOf(t, result); result.IsError || !strings.Contains(got, "The bitcoin agent") || len(f.network.CallsOf("send-message")) != 1 {
		t.Errorf("pilot_search answers %q", got)
	}
}

func callJobs(t *testing.T, session *mcp.ClientSession, daemon *jobstest.Daemon) {
	t.Helper()
	id := submit(t, session, "report")
	waited := textOf(t, call(t, session, "job_wait", map[string]any{"job_id": id}))
	if !strings.Contains(waited, `"stdout":"42 rows\n"`) || !strings.Contains(waited, id) {
		t.Errorf("job_wait answers %s", waited)
	}
	if jobs := daemon.Jobs(); len(jobs) == 0 || jobs[len(jobs)-1].ID != id {
		t.Errorf("the daemon has the jobs %+v", jobs)
	}
}

func submit(t *testing.T, session *mcp.ClientSession, bin string) (id string) {
	t.Helper()
	var job tool.JobResult
	answer := textOf(t, call(t, session, "job_submit", map[string]any{"bin": bin}))
	if err := json.Unmarshal([]byte(answer), &job); err != nil || job.JobID == "" {
		t.Fatalf("job_submit answers %s, %v", answer, err)
	}
	return job.JobID
}

func decodeMeta(t *testing.T, result *mcp.CallToolResult, v any) {
	t.Helper()
	src, err := json.Marshal(result.Meta[bridge.MetadataKey])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(src, v); err != nil {
		t.Errorf("the _meta is %v: %v", result.Meta, err)
	}
}

func cancelledCallEndsItsChild(t *testing.T, f *fixture) {
	path := makePipe(t, f.cmd.Dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := f.session.CallTool(ctx, &mcp.CallToolParams{Name: "sh", Arguments: script(lasting)})
		ended <- err
	}()
	pipe := openPipe(t, path)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	gone(t, pipe)
	if got := textOf(t, call(t, f.session, "sh", script("echo still here"))); got != "still here\n" {
		t.Errorf("the next call answers %q", got)
	}
}

func waitingCallCanBeCancelled(t *testing.T, f *fixture) {
	path := makePipe(t, f.cmd.Dir)
	first, endFirst := context.WithCancel(t.Context())
	defer endFirst()
	ended := make(chan error, 2)
	go func() {
		_, err := f.session.CallTool(first, &mcp.CallToolParams{Name: "sh", Arguments: script(lasting)})
		ended <- err
	}()
	pipe := openPipe(t, path)
	second, endSecond := context.WithCancel(t.Context())
	defer endSecond()
	go func() {
		params := &mcp.CallToolParams{Name: "look", Arguments: script("touch ran")}
		params.SetProgressToken("second")
		_, err := f.session.CallTool(second, params)
		ended <- err
	}()
	if token := <-f.waits; token != "second" {
		t.Fatalf("the call %q waits", token)
	}
	endSecond()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call that waited ended with %v", err)
	}
	endFirst()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call before it ended with %v", err)
	}
	gone(t, pipe)
	call(t, f.session, "sh", script("true")) // all that came before has had its turn
	if _, err := os.Stat(filepath.Join(f.cmd.Dir, "ran")); err == nil {
		t.Error("the call that was cancelled has run")
	}
}

func fiftyCallsAtOnce(t *testing.T, f *fixture) {
	const calls = 50
	answers := make(chan string, 2*calls)
	for i := range calls {
		// One after the other: mkdir fails if another call's directory is there.
		go func() {
			answers <- answer(f.session, "sh", script(fmt.Sprintf("mkdir lock && rmdir lock && echo sh %d", i)))
		}()
		go func() { answers <- answer(f.session, "look", script(fmt.Sprintf("echo look %d", i))) }()
	}
	got := map[string]int{}
	for range 2 * calls {
		got[<-answers]++
	}
	want := map[string]int{}
	for i := range calls {
		want[fmt.Sprintf("sh %d\n", i)], want[fmt.Sprintf("look %d\n", i)] = 1, 1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// answer is for a call that another goroutine makes.
func answer(session *mcp.ClientSession, name string, args any) string {
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return err.Error()
	}
	if len(result.Content) != 1 {
		return fmt.Sprint(result.Content)
	}
	content, _ := result.Content[0].(*mcp.TextContent)
	return content.Text
}

func TestFiftyCallsThatOnlyReadRunBesideEachOther(t *testing.T) {
	const calls = 50
	cmd := command(t)
	counted, err := os.OpenFile(makePipe(t, cmd.Dir), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = counted.Close() }()
	session := connect(t, kinds[0], cmd, nil)
	answers := make(chan string, calls)
	for range calls { // each waits for the file that is there when all have begun
		go func() {
			answers <- answer(session, "look", script("echo begun >pipe; until test -e go; do sleep 0.05; done; echo all"))
		}()
	}
	begun := make([]byte, calls*len("begun\n"))
	if _, err := io.ReadFull(counted, begun); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(cmd.Dir, "go"), "")
	for range calls {
		if got := <-answers; got != "all\n" {
			t.Errorf("a call answers %q", got)
		}
	}
}

func unknownToolIsAnErrorOfTheProtocol(t *testing.T, f *fixture) {
	_, err := f.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"})
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams || !strings.Contains(wire.Message, "no_such_tool") {
		t.Errorf("an unknown tool is %v", err)
	}
}

func cancelledWaitCancelsTheJob(t *testing.T, f *fixture) {
	id := submit(t, f.session, "block")
	before := len(f.daemon.CallsOf(jobstest.MethodWatch))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = f.session.CallTool(ctx, &mcp.CallToolParams{Name: "job_wait", Arguments: map[string]any{"job_id": id}})
	}()
	for len(f.daemon.CallsOf(jobstest.MethodWatch)) == before {
		runtime.Gosched()
	}
	cancel()
	<-ended
	if _, err := f.daemon.AwaitJob(t.Context(), id, func(j jobsclient.Job) bool { return j.Status == jobsclient.Cancelled }); err != nil {
		t.Error(err)
	}
}

func jobsCarryTheSession(t *testing.T, f *fixture) {
	call(t, f.session, "job_submit", map[string]any{"bin": "report"})
	label := f.daemon.Jobs()[0].Labels[tool.SessionLabel]
	none := f.http && f.version >= sessionless
	if none != (label == "") || !none && !strings.HasPrefix(label, "mcp-") || label != "" && label == f.session.ID() {
		t.Errorf("the job has the label %q in the session %q", label, f.session.ID())
	}
}

func TestEffectsBecomeAnnotations(t *testing.T) {
	for _, info := range pilot.NewTools(nil) {
		name := info.Info().Name
		a := annotate(info.Info())
		sends := map[string]bool{
			"pilot_send": true, "pilot_send_file": true, "pilot_broadcast": true, "pilot_publish": true, "pilot_received": true,
			"pilot_handshake": true, "pilot_approve": true, "pilot_reject": true, "pilot_untrust": true,
		}
		if a.ReadOnlyHint == sends[name] || *a.DestructiveHint != sends[name] || !*a.OpenWorldHint {
			t.Errorf("%s has the annotations %+v", name, a)
		}
	}
}
