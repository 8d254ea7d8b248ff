//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const secret = "0123456789abcdef-secret"

// post sends a message as a client does; change may change the request.
func post(t *testing.T, url, body string, change func(*http.Request)) (status int, answer string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return do(t, req, change)
}

func do(t *testing.T, req *http.Request, change func(*http.Request)) (status int, answer string, header http.Header) {
	t.Helper()
	if change != nil {
		change(req)
	}
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

func setHeader(key, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(key, value) }
}

func setHost(host string) func(*http.Request) {
	return func(r *http.Request) { r.Host = host }
}

func TestRequestsOfOthersAreRefused(t *testing.T) {
	server := start(t, command(t))
	port := server.url[len("http://127.0.0.1") : len(server.url)-len(endpoint)]
	for _, tc := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"nothing special", nil, 200},
		{"a page of another origin", setHeader("Origin", "https://evil.example"), 403},
		{"a page without an origin", setHeader("Origin", "null"), 403},
		{"a page of another port of this machine", setHeader("Origin", "http://127.0.0.1:1"), 403},
		{"a page whose name begins like this machine's", setHeader("Origin", "http://127.0.0.1"+port+".evil.example"), 403},
		{"two origins", func(r *http.Request) {
			r.Header["Origin"] = []string{"http://127.0.0.1" + port, "https://evil.example"}
		}, 403},
		{"the server's own origin", setHeader("Origin", "http://127.0.0.1"+port), 200},
		{"a name that was made to point here", setHost("evil.example"), 403},
		{"such a name with the port", setHost("evil.example" + port), 403},
		{"such a name that begins like an address", setHost("127.0.0.1.evil.example" + port), 403},
		{"such a name with its origin", func(r *http.Request) {
			r.Host = "evil.example" + port
			r.Header.Set("Origin", "http://evil.example"+port)
		}, 403},
		{"localhost", setHost("localhost" + port), 200},
		{"localhost in capitals", setHost("LOCALHOST" + port), 200},
		{"the address of IPv6", setHost("[::1]" + port), 200},
		{"no port", setHost("127.0.0.1"), 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, answer, _ := post(t, server.url, initialize, tc.change)
			if status != tc.want {
				t.Errorf("status %d: %s", status, answer)
			}
			if status == 403 && !strings.Contains(answer, "web pages") && !strings.Contains(answer, "does not name this machine") {
				t.Errorf("it is not this server that refuses: %s", answer) // but the SDK, which does not do so on all addresses
			}
		})
	}
}

func TestABodyThatIsNoMessageOfTheSessionIsRefused(t *testing.T) {
	server := start(t, command(t))
	_, _, header := post(t, server.url, initialize, nil)
	inSession := setHeader(sessionHeader, header.Get(sessionHeader))
	for _, tc := range []struct {
		name, body string
		change     func(*http.Request)
		want       string
	}{
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, inSession, `"id":1.5,"error":{"code":-32600`},
		{"an id that would be rounded", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, inSession, `"id":9007199254740993,"error"`},
		{"such a one in a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1.5,"method":"ping"}]`, inSession, `"id":1.5,"error"`},
		{"an id alone", `{"jsonrpc":"2.0","id":1}`, inSession, "JSON-RPC 2.0"},
		{"depth", strings.Repeat("[", 5000), inSession, "more than 1000 levels"},
		{"a cancel by an id that is none", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`, inSession, "no request with that id"},
		{"another handshake", initialize, inSession, "initialized already"},
		{"a call without a session", toolCall(1, "sh", `{"stdin":"echo hello"}`), nil, "begin with initialize"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, answer, header := post(t, server.url, tc.body, tc.change)
			if status != http.StatusBadRequest || !strings.Contains(answer, tc.want) || header.Get("Content-Type") != "application/json" {
				t.Errorf("status %d, %s", status, answer)
			}
		})
	}
	if status, answer, _ := post(t, server.url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil); status != http.StatusOK {
		t.Errorf("a ping without a session: status %d, %s", status, answer)
	}
}

func TestATokenIsAskedForOnAllAddresses(t *testing.T) {
	inFile := func(t *testing.T, cmd *exec.Cmd) {
		t.Helper()
		writeFile(t, filepath.Join(cmd.Dir, "token"), secret+"\n")
		cmd.Args = append(cmd.Args, "-token-file", "token")
	}
	inEnvironment := func(_ *testing.T, cmd *exec.Cmd) { cmd.Env = append(cmd.Env, envToken+"="+secret) }
	for name, prepare := range map[string]func(*testing.T, *exec.Cmd){"in a file": inFile, "in the environment": inEnvironment} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t)
			prepare(t, cmd)
			server := start(t, cmd)
			for _, tc := range []struct {
				name, authorization string
				want                int
			}{
				{"none", "", 401},
				{"a wrong one", "Bearer " + secret[:len(secret)-1], 401},
				{"a longer one", "Bearer " + secret + "x", 401},
				{"an empty one", "Bearer ", 401},
				{"another scheme", "Basic " + secret, 401},
				{"the right one", "Bearer " + secret, 200},
				{"the scheme in small letters", "bearer " + secret, 200},
			} {
				t.Run(tc.name, func(t *testing.T) {
					status, answer, header := post(t, server.url, initialize, setHeader("Authorization", tc.authorization))
					if status != tc.want || status == 401 && header.Get("WWW-Authenticate") != "Bearer" || strings.Contains(answer, secret) {
						t.Errorf("status %d, %v: %s", status, header, answer)
					}
				})
			}
			if status, _, _ := post(t, server.url, initialize, func(r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+secret)
				r.Header.Set("Origin", "https://evil.example")
			}); status != 403 {
				t.Errorf("a page that has the token gets the status %d", status)
			}
		})
	}
}

func TestWithATokenOtherMachinesAreServed(t *testing.T) {
	cmd := command(t)
	cmd.Env = append(cmd.Env, envToken+"="+secret)
	server := startAt(t, cmd, "0.0.0.0:0")
	url := strings.Replace(server.url, "[::]", "127.0.0.1", 1)
	if status, _, _ := post(t, url, initialize, nil); status != 401 {
		t.Errorf("status %d", status)
	}
	if status, answer, _ := post(t, url, initialize, setHeader("Authorization", "Bearer "+secret)); status != 200 {
		t.Errorf("status %d: %s", status, answer)
	}
}

func TestTheTokenStaysWithTheServer(t *testing.T) {
	cmd := command(t, "-v")
	cmd.Env = append(cmd.Env, envToken+"="+secret)
	server := start(t, cmd)
	status, answer, header := post(t, server.url, initialize, setHeader("Authorization", "Bearer "+secret))
	if status != 200 {
		t.Fatalf("status %d: %s", status, answer)
	}
	_, answer, _ = post(t, server.url, toolCall(1, "sh", `{"stdin":"env"}`), func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set(sessionHeader, header.Get(sessionHeader))
	})
	if !strings.Contains(answer, "HOME=") || strings.Contains(answer, secret) {
		t.Errorf("the child sees %s", answer)
	}
	_ = server.cmd.Process.Signal(syscall.SIGTERM)
	if rest := <-server.note; strings.Contains(rest, secret) {
		t.Errorf("the log has the token: %s", rest)
	}
	server.note <- ""
}

func TestBadRequestsByHTTP(t *testing.T) {
	server := start(t, command(t))
	_, _, header := post(t, server.url, initialize, nil)
	inSession := func(r *http.Request) {
		r.Header.Set(sessionHeader, header.Get(sessionHeader))
		r.Header.Set(versionHeader, "2025-11-25")
	}
	for _, tc := range []struct {
		name, method, url, body string
		change                  func(*http.Request)
		want                    int
	}{
		{"another path", "POST", strings.TrimSuffix(server.url, endpoint), initialize, nil, 404},
		{"an unknown session", "POST", server.url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, setHeader(sessionHeader, "none"), 404},
		{"a stream of no session", "GET", server.url, "", nil, 400},
		{"the end of no session", "DELETE", server.url, "", nil, 400},
		{"the end of an unknown session", "DELETE", server.url, "", setHeader(sessionHeader, "none"), 404},
		{"another method", "PUT", server.url, "", nil, 405},
		{"a form", "POST", server.url, "a=b", setHeader("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"no JSON", "POST", server.url, "hello?", inSession, 400},
		{"a batch", "POST", server.url, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, inSession, 400},
		{"too long a body", "POST", server.url, strings.Repeat("x", maxMessage+1), inSession, 413},
		{"an unknown version", "POST", server.url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, func(r *http.Request) { inSession(r); r.Header.Set(versionHeader, "2000-01-01") }, 400},
		{"a request in the session", "POST", server.url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, inSession, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tc.method, tc.url, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if status, answer, _ := do(t, req, tc.change); status != tc.want {
				t.Errorf("status %d: %s", status, answer)
			}
		})
	}
}

// lastingCall starts a call by HTTP whose child holds the pipe, and returns when it
// does.
func lastingCall(t *testing.T, k kind) (server *httpServer, session *mcp.ClientSession, ended chan error, pipe io.Reader, drop func()) {
	t.Helper()
	cmd := command(t)
	path := makePipe(t, cmd.Dir)
	server = start(t, cmd)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	requests := &droppable{next: transport}
	session = dial(t, k, &mcp.StreamableClientTransport{Endpoint: server.url, HTTPClient: &http.Client{Transport: requests}, MaxRetries: -1}, nil)
	t.Cleanup(func() { _ = session.Close() })
	ended = make(chan error, 1)
	go func() {
		_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "sh", Arguments: script(lasting)})
		ended <- err
	}()
	return server, session, ended, openPipe(t, path), requests.drop
}

// droppable can end all requests that are under way, as the end of a process does.
type droppable struct {
	next http.RoundTripper

	mu   sync.Mutex
	ends []context.CancelFunc
	dead bool
}

func (d *droppable) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	d.mu.Lock()
	d.ends = append(d.ends, cancel)
	dead := d.dead
	d.mu.Unlock()
	if dead {
		return nil, errors.New("the process is dead")
	}
	return d.next.RoundTrip(r.WithContext(ctx))
}

func (d *droppable) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
	for _, end := range d.ends {
		end()
	}
}

func eachHTTP(t *testing.T, test func(t *testing.T, k kind)) {
	t.Helper()
	for _, k := range kinds {
		if k.http {
			t.Run(k.name, func(t *testing.T) { test(t, k) })
		}
	}
}

func TestAClientByHTTPThatGoesAwayEndsItsChild(t *testing.T) {
	eachHTTP(t, func(t *testing.T, k kind) {
		server, _, ended, pipe, drop := lastingCall(t, k)
		drop()
		gone(t, pipe)
		if err := <-ended; err == nil {
			t.Error("the call has a result")
		}
		if status, answer, _ := post(t, server.url, initialize, nil); status != http.StatusOK {
			t.Errorf("the next client gets the status %d: %s", status, answer)
		}
	})
}

func TestTheEndOfASessionEndsItsChild(t *testing.T) {
	server, session, ended, pipe, _ := lastingCall(t, kinds[2])
	end := func(r *http.Request) { r.Header.Set(sessionHeader, session.ID()) }
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, server.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, answer, _ := do(t, req, end); status != http.StatusNoContent {
		t.Errorf("status %d: %s", status, answer)
	}
	gone(t, pipe)
	if err := <-ended; err == nil {
		t.Log("the call was answered before the end") // which is as well
	}
	if status, answer, _ := post(t, server.url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, end); status != http.StatusNotFound {
		t.Errorf("after the end of the session the status is %d: %s", status, answer)
	}
}

func TestASignalEndsTheServerByHTTPAndItsChildren(t *testing.T) {
	eachHTTP(t, func(t *testing.T, k kind) {
		server, _, ended, pipe, _ := lastingCall(t, k)
		if status := server.stop(t, syscall.SIGINT); status != exitOK {
			t.Errorf("exit status %d", status)
		}
		gone(t, pipe)
		if err := <-ended; err != nil {
			t.Logf("the call ended with %v", err) // or with the result that the server ends
		}
	})
}

func TestSessionsByHTTPDoNotWaitForEachOther(t *testing.T) {
	server, _, _, pipe, drop := lastingCall(t, kinds[2])
	other := dial(t, kinds[2], &mcp.StreamableClientTransport{Endpoint: server.url, HTTPClient: client(t)}, nil)
	if got := textOf(t, call(t, other, "sh", script("echo other"))); got != "other\n" {
		t.Errorf("the other session gets %q", got)
	}
	if err := other.Close(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	drop()
	gone(t, pipe)
}
