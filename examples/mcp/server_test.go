//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fantasytools/fantasytools/examples/internal/pipetest"
)

// limit bounds what takes moments, on a machine that is busy.
const limit = time.Minute

// tools are those that most tests use: a shell, one that may run beside others, and
// cat, which the golden files show.
const tools = `tools:
  - {name: sh, description: Runs a shell., binary: sh, timeout: 60s}
  - {name: look, description: Runs a shell that only reads., binary: sh, timeout: 60s, parallel: true}
  - {name: show, description: Prints files., binary: cat, timeout: 60s, parallel: true}
`

// command is this program as a client starts it, in a directory of its own and an
// environment that holds nothing. It is killed when the test has ended.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit) // that of t ends before its clean-ups
	t.Cleanup(cancel)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe, append([]string{"-tools", "tools.yaml"}, args...)...)
	cmd.Dir = t.TempDir()
	// The race detector of a test binary would sleep for a second at the end.
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0", envPart + "=server", "PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "LC_ALL=C"}
	writeFile(t, filepath.Join(cmd.Dir, "tools.yaml"), tools)
	return cmd
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// output runs the command to its end.
func output(t *testing.T, cmd *exec.Cmd, stdin string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// kind is a way to reach the server and a version of the protocol.
type kind struct {
	name    string
	http    bool
	version string
}

// kinds are the two transports with the newest protocol, which knows no sessions,
// and the one before.
var kinds = []kind{
	{"standard input and output, 2025-11-25", false, "2025-11-25"},
	{"standard input and output, 2026-07-28", false, "2026-07-28"},
	{"HTTP, 2025-11-25", true, "2025-11-25"},
	{"HTTP, 2026-07-28", true, "2026-07-28"},
}

func eachKind(t *testing.T, test func(t *testing.T, k kind)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

// connect starts the server and connects a client of the SDK to it. The session is
// closed when the test has ended, and the server must then end well.
func connect(t *testing.T, k kind, cmd *exec.Cmd, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	if !k.http {
		session := dial(t, k, &mcp.CommandTransport{Command: cmd, TerminateDuration: limit}, opts)
		t.Cleanup(func() {
			if err := session.Close(); err != nil {
				t.Errorf("closing the session: %v", err)
			}
		})
		return session
	}
	server := start(t, cmd)
	session := dial(t, k, &mcp.StreamableClientTransport{Endpoint: server.url, HTTPClient: client(t)}, opts)
	t.Cleanup(func() {
		_ = session.Close()
		if status := server.stop(t, syscall.SIGTERM); status != exitOK {
			t.Errorf("exit status %d", status)
		}
	})
	return session
}

func dial(t *testing.T, k kind, transport mcp.Transport, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).
		Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: k.version})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// client keeps no connection when the test has ended.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: limit}
}

// httpServer is a server by HTTP in a process of its own.
type httpServer struct {
	cmd  *exec.Cmd
	url  string
	note chan string // the rest of its standard error, when it has ended
	once sync.Once
}

// start starts the command with -http and waits until it serves.
func start(t *testing.T, cmd *exec.Cmd) *httpServer {
	t.Helper()
	return startAt(t, cmd, "127.0.0.1:0")
}

func startAt(t *testing.T, cmd *exec.Cmd, address string) *httpServer {
	t.Helper()
	cmd.Args = append(cmd.Args, "-http", address)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &httpServer{cmd: cmd, note: make(chan string, 1)}
	r := bufio.NewReader(stderr)
	for s.url == "" {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the server says %q, %v", line, err)
		}
		if url, found := strings.CutPrefix(strings.TrimSpace(line), "mcp: serving "); found {
			s.url = url
		}
	}
	go func() {
		rest, _ := io.ReadAll(r)
		s.note <- string(rest)
	}()
	t.Cleanup(func() { s.stop(t, syscall.SIGTERM) })
	return s
}

// stop sends the signal and returns the exit status.
func (s *httpServer) stop(t *testing.T, sig syscall.Signal) int {
	t.Helper()
	s.once.Do(func() {
		_ = s.cmd.Process.Signal(sig)
		if rest := <-s.note; rest != "" {
			t.Logf("the server said: %s", rest)
		}
		_ = s.cmd.Wait()
	})
	return s.cmd.ProcessState.ExitCode()
}

// call calls a tool.
func call(t *testing.T, session *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result
}

// script are the arguments that let a shell run the script.
func script(text string) map[string]any { return map[string]any{"args": []string{"-c", text}} }

// textOf is that of a result of one text.
func textOf(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	if len(result.Content) == 1 {
		if content, ok := result.Content[0].(*mcp.TextContent); ok {
			return content.Text
		}
	}
	t.Fatalf("the result has the content %+v", result.Content)
	return ""
}

// lasting is a script that leaves a child behind which holds the named pipe open
// from the line "ready" on, and waits.
const lasting = `exec 3>pipe; sleep 300 & echo ready >&3; wait`

// makePipe makes the named pipe that lasting writes to.
func makePipe(t *testing.T, dir string) (path string) {
	t.Helper()
	path = pipetest.Make(t, dir)
	t.Cleanup(func() { _ = os.Remove(path) })
	return path
}

// openPipe returns the named pipe when a child has written "ready" to it.
func openPipe(t *testing.T, path string) io.Reader {
	t.Helper()
	return pipetest.Ready(t, path, limit)
}

// gone fails the test if a process still holds the pipe.
func gone(t *testing.T, pipe io.Reader) {
	t.Helper()
	pipetest.Gone(t, pipe, limit)
}
