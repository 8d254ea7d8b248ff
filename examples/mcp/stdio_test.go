//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// raw is a client that writes lines of its own.
type raw struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	closer io.Closer
	stderr bytes.Buffer
}

// startRaw starts the server and, unless it is asked for nothing, initialises.
func startRaw(t *testing.T, cmd *exec.Cmd) *raw {
	t.Helper()
	r := &raw{t: t, cmd: cmd}
	cmd.Stderr = &r.stderr
	var err error
	if r.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stdout, r.closer = bufio.NewReader(stdout), stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.send(initialize)
	r.answer("init")
	r.send(initialized)
	return r
}

func (r *raw) send(lines ...string) {
	r.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(r.stdin, line+"\n"); err != nil {
			r.t.Fatal(err)
		}
	}
}

// message is a line of the server.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

// next reads a line, which must be a message and nothing else.
func (r *raw) next() message {
	r.t.Helper()
	line, err := r.stdout.ReadBytes('\n')
	if err != nil {
		r.t.Fatalf("read %q, %v\n%s", line, err, r.stderr.String())
	}
	var m message
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil || m.Version != "2.0" {
		r.t.Fatalf("the line %q is no message: %v", line, err)
	}
	return m
}

// answer reads on to the answer to the request of that id.
func (r *raw) answer(id any) message {
	r.t.Helper()
	want, err := json.Marshal(id)
	if err != nil {
		r.t.Fatal(err)
	}
	for {
		if m := r.next(); bytes.Equal(m.ID, want) && m.Method == "" {
			return m
		}
	}
}

// end closes the input and returns the exit status. Nothing may come any more.
func (r *raw) end() int {
	r.t.Helper()
	_ = r.stdin.Close()
	rest, err := io.ReadAll(r.stdout)
	if err != nil || len(rest) > 0 {
		r.t.Errorf("read %q, %v, at the end", rest, err)
	}
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}

func toolCall(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

func TestWhatIsNoMessageIsAnsweredAndTheNextOneIsServed(t *testing.T) {
	r := startRaw(t, command(t))
	for _, tc := range []struct {
		name, line string
		id         string // of the answer
		code       int64
		text       string
	}{
		{"garbage", `hello?`, `null`, jsonrpc.CodeParseError, "not JSON"},
		{"half a message", `{"jsonrpc":"2.0","id":1,"method":`, `null`, jsonrpc.CodeParseError, "not JSON"},
		{"two messages in a line", `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, `null`, jsonrpc.CodeParseError, "not JSON"},
		{"a byte that is no UTF-8 and no JSON", "\xff", `null`, jsonrpc.CodeParseError, "not JSON"},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `null`, jsonrpc.CodeInvalidRequest, "batches"},
		{"an empty batch", `[]`, `null`, jsonrpc.CodeInvalidRequest, "batches"},
		{"a string", `"ping"`, `null`, jsonrpc.CodeInvalidRequest, "JSON-RPC 2.0"},
		{"null", `null`, `null`, jsonrpc.CodeInvalidRequest, "JSON-RPC 2.0"},
		{"no version", `{"id":7,"method":"ping"}`, `7`, jsonrpc.CodeInvalidRequest, "JSON-RPC 2.0"},
		{"another version", `{"jsonrpc":"1.0","id":"x","method":"ping"}`, `"x"`, jsonrpc.CodeInvalidRequest, "JSON-RPC 2.0"},
		{"an id that is true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, `null`, jsonrpc.CodeInvalidRequest, "JSON-RPC 2.0"},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `null`, jsonrpc.CodeInvalidRequest, "JSON-RPC 2.0"},
		{"a method that is a number", `{"jsonrpc":"2.0","id":7,"method":5}`, `7`, jsonrpc.CodeInvalidRequest, "JSON-RPC 2.0"},
		{"neither method nor id", `{"jsonrpc":"2.0"}`, `null`, jsonrpc.CodeInvalidRequest, "JSON-RPC 2.0"},
		{"too long a line", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("x", maxMessage) + `"}}`, `null`, jsonrpc.CodeInvalidRequest, "longer than 16777216 bytes"},
		{"an unknown method", `{"jsonrpc":"2.0","id":7,"method":"tools/forget"}`, `7`, jsonrpc.CodeMethodNotFound, "tools/forget"},
		{"an unknown tool", toolCall(7, "forget", `{}`), `7`, jsonrpc.CodeInvalidParams, `unknown tool "forget"`},
		{"no params", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, `7`, jsonrpc.CodeInvalidRequest, "params"},
		{"a name that is a number", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}}`, `7`, jsonrpc.CodeInvalidParams, "do not have the form"},
		{"params that are a list", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}`, `7`, jsonrpc.CodeInvalidParams, "do not have the form"},
		{"another handshake", strings.Replace(initialize, `"init"`, `7`, 1), `7`, jsonrpc.CodeInvalidRequest, "duplicate"},
		{"a handshake without params", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":null}`, `7`, jsonrpc.CodeInvalidRequest, "params"},
		{"a handshake whose params are a list", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":[]}`, `7`, jsonrpc.CodeInvalidRequest, "the params do not have the form"},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `1.5`, jsonrpc.CodeInvalidRequest, "no fraction"},
		{"an id that would be rounded", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `9007199254740993`, jsonrpc.CodeInvalidRequest, "53 bits"},
		{"an id that would overflow", `{"jsonrpc":"2.0","id":-12345678901234567890123,"method":"ping"}`, `-12345678901234567890123`, jsonrpc.CodeInvalidRequest, "53 bits"},
		{"a request whose id is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `null`, jsonrpc.CodeInvalidRequest, "the id is null"},
		{"an id alone", `{"jsonrpc":"2.0","id":7}`, `7`, jsonrpc.CodeInvalidRequest, "JSON-RPC 2.0"},
		{"an id in capitals", `{"jsonrpc":"2.0","ID":7}`, `null`, jsonrpc.CodeInvalidRequest, "JSON-RPC 2.0"},
		{"deep params", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}`, `7`, jsonrpc.CodeInvalidRequest, "more than 1000 levels"},
		{"depth without an end", strings.Repeat(`{"a":[`, 1<<20), `null`, jsonrpc.CodeInvalidRequest, "more than 1000 levels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r.t = t
			r.send(tc.line)
			m := r.next()
			id := string(m.ID)
			if m.ID == nil {
				id = "null" // as it is decoded
			}
			if m.Error == nil || id != tc.id || m.Error.Code != tc.code || !strings.Contains(m.Error.Message, tc.text) {
				t.Errorf("the answer has the id %s and the error %v", m.ID, m.Error)
			}
			if m.Error != nil && (len(m.Error.Message) > 2*maxErrorText || strings.Contains(m.Error.Message, "mcp.") || strings.Contains(m.Error.Message, "Go ")) {
				t.Errorf("the error says %q", m.Error.Message)
			}
			r.send(`{"jsonrpc":"2.0","id":"after","method":"ping"}`)
			if after := r.answer("after"); string(after.Result) != "{}" {
				t.Errorf("the ping afterwards is answered with %s, %v", after.Result, after.Error)
			}
		})
	}
	r.t = t
	if status := r.end(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

func TestNothingIsAnsweredToWhatAsksForNothing(t *testing.T) {
	r := startRaw(t, command(t))
	r.send("", "  \r", `{"jsonrpc":"2.0","method":"notifications/unheard_of"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\r")
	if m := r.next(); string(m.ID) != "1" {
		t.Errorf("read the message %+v", m)
	}
	if status := r.end(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

func TestAByteOrderMarkAtTheStartIsNoFault(t *testing.T) {
	stdout, stderr, status := output(t, command(t), "\ufeff"+initialize+"\n")
	if status != exitOK || !strings.Contains(stdout, `"serverInfo"`) {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}

// TestNoOtherRequestIsCancelled: the SDK would take 1.5 for 1.
func TestNoOtherRequestIsCancelled(t *testing.T) {
	r := startRaw(t, command(t))
	r.send(toolCall(1, "sh", `{"stdin":"until test -e go; do sleep 0.05; done; echo done"}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`,
		`{"jsonrpc":"2.0","id":"after","method":"ping"}`)
	r.answer("after")
	writeFile(t, filepath.Join(r.cmd.Dir, "go"), "")
	if m := r.answer(1); !strings.Contains(string(m.Result), "done") {
		t.Errorf("the answer is %+v", m)
	}
	if status := r.end(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

func TestARequestWithAnIDInUseIsRefusedAndTheOtherOneGoesOn(t *testing.T) {
	r := startRaw(t, command(t))
	r.send(toolCall(5, "sh", `{"stdin":"until test -e go; do sleep 0.05; done; echo first"}`), toolCall(5, "sh", `{"stdin":"echo second > second"}`))
	if m := r.next(); string(m.ID) == "5" || m.Error == nil || m.Error.Code != jsonrpc.CodeInvalidRequest || !strings.Contains(m.Error.Message, "the request 5 has the id") {
		t.Errorf("the second one is answered with %+v, %v", m, m.Error)
	}
	writeFile(t, filepath.Join(r.cmd.Dir, "go"), "")
	if m := r.answer(5); !strings.Contains(string(m.Result), "first") {
		t.Errorf("the first one is answered with %+v", m)
	}
	r.send(toolCall(5, "sh", `{"stdin":"ls; echo third"}`))
	if m := r.answer(5); !strings.Contains(string(m.Result), "third") || strings.Contains(string(m.Result), "second") {
		t.Errorf("the id is used again: %+v", m)
	}
	if status := r.end(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

func TestOnlyMessagesAreOnStandardOutput(t *testing.T) {
	r := startRaw(t, command(t, "-v"))
	r.send(toolCall(1, "sh", `{"args":["-c","echo to stdout; echo to stderr >&2"]}`), toolCall(2, "look", `{"args":"?"}`), "garbage", toolCall(3, "forget", `{}`))
	for range 4 {
		r.next()
	}
	if status := r.end(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
	if log := r.stderr.String(); !strings.Contains(log, "\tcall\t{\"tool\": \"sh\"") || !strings.Contains(log, "session connected") {
		t.Errorf("the log is %s", log)
	}
}

func TestWhatElsePrintsPrintsToStandardError(t *testing.T) {
	cmd := command(t)
	cmd.Env = append(cmd.Env, envPart+"=noise")
	stdout, stderr, status := output(t, cmd, "")
	if stdout != "protocol\n" || stderr != "noise\n" || status != 0 {
		t.Errorf("stdout %q, stderr %q, exit status %d", stdout, stderr, status)
	}
}

func TestACancelledRequestIsNotAnswered(t *testing.T) {
	cmd := command(t)
	path := makePipe(t, cmd.Dir)
	r := startRaw(t, cmd)
	args, err := json.Marshal(script(lasting))
	if err != nil {
		t.Fatal(err)
	}
	r.send(toolCall(1, "sh", string(args)))
	pipe := openPipe(t, path)
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"changed my mind"}}`)
	gone(t, pipe)
	r.send(toolCall(2, "sh", `{"stdin":"echo next"}`)) // its turn comes when the first call is over
	if m := r.next(); string(m.ID) != "2" || !strings.Contains(string(m.Result), "next") {
		t.Errorf("read the message %+v", m)
	}
	if status := r.end(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

// begun starts a call whose child holds the pipe.
func begun(t *testing.T, cmd *exec.Cmd) (*raw, io.Reader) {
	t.Helper()
	path := makePipe(t, cmd.Dir)
	r := startRaw(t, cmd)
	args, err := json.Marshal(script(lasting))
	if err != nil {
		t.Fatal(err)
	}
	r.send(toolCall(1, "sh", string(args)))
	return r, openPipe(t, path)
}

func TestTheEndOfTheInputEndsTheServerAndItsChildren(t *testing.T) {
	r, pipe := begun(t, command(t))
	_ = r.stdin.Close()
	gone(t, pipe)
	if m := r.next(); string(m.ID) != "1" || !strings.Contains(string(m.Result), "server is ending") {
		t.Errorf("read the message %+v", m)
	}
	if status := r.end(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

func TestASignalEndsTheServerAndItsChildren(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			r, pipe := begun(t, command(t))
			if err := r.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			gone(t, pipe)
			r.answer(1)
			if rest, err := io.ReadAll(r.stdout); err != nil || len(rest) > 0 {
				t.Errorf("read %q, %v", rest, err)
			}
			_ = r.cmd.Wait()
			if status := r.cmd.ProcessState.ExitCode(); status != exitOK {
				t.Errorf("exit status %d\n%s", status, r.stderr.String())
			}
		})
	}
}

func TestAClientThatDiedEndsTheServerAndItsChildren(t *testing.T) {
	r, pipe := begun(t, command(t))
	_ = r.closer.Close()
	_ = r.stdin.Close()
	gone(t, pipe)
	_ = r.cmd.Wait()
	if !r.cmd.ProcessState.Exited() {
		t.Errorf("the server ended with %v", r.cmd.ProcessState)
	}
}

func TestAReaderThatWentAwayEndsTheServerAndItsChildren(t *testing.T) {
	r, pipe := begun(t, command(t))
	_ = r.closer.Close()
	r.send(`{"jsonrpc":"2.0","id":5,"method":"ping"}`) // whose answer nobody reads
	gone(t, pipe)
	_ = r.cmd.Wait()
	if !r.cmd.ProcessState.Exited() {
		t.Errorf("the server ended with %v", r.cmd.ProcessState)
	}
}

func TestProgressIsToldUntilTheCallEnds(t *testing.T) {
	cmd := command(t, "-progress", "5ms")
	r := startRaw(t, cmd)
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"token"},"name":"sh","arguments":{"args":["-c","until test -e go; do sleep 0.05; done; echo done"]}}}`)
	last := 0.0
	for range 3 {
		m := r.next()
		var p struct {
			ProgressToken string
			Progress      float64
			Message       string
		}
		if err := json.Unmarshal(m.Params, &p); err != nil || m.Method != "notifications/progress" || p.ProgressToken != "token" || p.Progress <= last || !strings.HasPrefix(p.Message, "sh: ") {
			t.Fatalf("read the message %+v %s after the progress %v", m, m.Params, last)
		}
		last = p.Progress
	}
	writeFile(t, filepath.Join(cmd.Dir, "go"), "")
	if m := r.answer(1); !strings.Contains(string(m.Result), "done") {
		t.Errorf("the answer is %+v", m)
	}
	r.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sh","arguments":{"stdin":"sleep 0.1"}}}`) // without a token
	if m := r.next(); string(m.ID) != "2" {
		t.Errorf("after the answer came %+v", m)
	}
	if status := r.end(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

func TestACallWithoutArgumentsIsOneWithNone(t *testing.T) {
	cmd, _, _ := everything(t)
	r := startRaw(t, cmd)
	for i, params := range []string{`{"name":"job_list"}`, `{"name":"job_list","arguments":null}`, `{"name":"job_list","arguments":{}}`} {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, i, params))
		m := r.answer(i)
		var result struct {
			IsError bool
			Content []struct{ Text string }
		}
		if err := json.Unmarshal(m.Result, &result); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("[]", result.Content[0].Text); diff != "" || result.IsError {
			t.Errorf("%s: %s", params, diff)
		}
	}
	if status := r.end(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

func TestHelpIsOnStandardOutput(t *testing.T) {
	stdout, stderr, status := output(t, command(t, "-h"), "")
	golden(t, "usage.txt", []byte(stdout))
	if status != exitOK || stderr != "" {
		t.Errorf("exit status %d, stderr %q", status, stderr)
	}
}
