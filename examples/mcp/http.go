package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	endpoint = "/mcp"

	headerTimeout = 10 * time.Second
	bodyTimeout   = time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10 // bytes

	// lastAnswers is how long answers may take that are ready when the server ends.
	lastAnswers = time.Second

	// sessionTimeout ends the session of a client that went away without a word.
	sessionTimeout = 2 * time.Hour
	// maxSessions is how many there may be at a time.
	maxSessions = 1000

	// sessionless is the first version of the protocol that knows no sessions.
	sessionless = "2026-07-28"

	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// serveHTTP serves clients at an address until ctx ends, and ends what their calls
// started. It returns the exit status.
func serveHTTP(ctx context.Context, s *service, opts *options, note func(string), stderr io.Writer) int {
	token, err := readToken(opts.tokenFile)
	if err != nil {
		return complain(stderr, exitUsage, err)
	}
	listener, err := listen(opts.http, token)
	if err != nil {
		return complain(stderr, exitUsage, err)
	}
	note("serving http://" + listener.Addr().String() + endpoint)
	fresh := &freshConns{}
	server := &http.Server{
		ConnState:         fresh.changed,
		Handler:           s.handler(token),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(stderr, "mcp: ", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
		s.bridge.Close()
		return complain(stderr, exitFailed, err)
	case <-ctx.Done():
	}
	_ = listener.Close()
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		note(err.Error())
	}
	fresh.close()
	s.shutDown(server)
	return exitOK
}

// listen refuses an address that others than this machine reach, unless they need
// a token. What it is can be told for sure only of the address that came of it.
func listen(address, token string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("-http: %w", err)
	}
	if addr, ok := listener.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() && token == "" {
		_ = listener.Close()
		return nil, fmt.Errorf("-http %s is reached from other machines, and whoever reaches it may run every tool: "+
			"name an address of this machine, such as 127.0.0.1:%d, or a token with -token-file or %s", address, addr.Port, envToken)
	}
	return listener, nil
}

// shutDown ends the calls, then the sessions, whose streams would keep the server
// up, and then the server. A session that ends answers nothing more.
func (s *service) shutDown(server *http.Server) {
	s.bridge.Close()
	ctx, cancel := context.WithTimeout(context.Background(), s.lastWords)
	defer cancel()
	select {
	case <-s.requests.silence():
	case <-time.After(lastAnswers):
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for _, session := range slices.Collect(s.server.Sessions()) {
			_ = session.Close()
		}
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}

// freshConns are the connections that have sent nothing so far, as browsers and
// clients keep them in reserve. A server's Shutdown gives them 5 seconds.
type freshConns struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func (f *freshConns) changed(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conns == nil {
		f.conns = map[net.Conn]struct{}{}
	}
	if state == http.StateNew {
		f.conns[c] = struct{}{}
	} else {
		delete(f.conns, c)
	}
}

func (f *freshConns) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		_ = c.Close()
	}
}

// handler serves the endpoint. Clients that know no sessions have a handler of their
// own: that of the SDK serves either these or the others. Its protection against
// rebinding takes the name of this machine for another one if it is in capitals; guard
// has done that.
func (s *service) handler(token string) http.Handler {
	get := func(*http.Request) *mcp.Server { return s.server }
	stateful := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Logger: s.slog, SessionTimeout: sessionTimeout, MaxRequestBodyBytes: maxMessage, DisableLocalhostProtection: true,
	})
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Logger: s.slog, Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxMessage, DisableLocalhostProtection: true,
	})
	mux := http.NewServeMux()
	mux.HandleFunc(endpoint, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get(versionHeader) >= sessionless:
			s.serve(stateless, w, r)
		case r.Method == http.MethodDelete:
			s.endSession(stateful, w, r)
		case r.Method == http.MethodPost && r.Header.Get(sessionHeader) == "" && s.full():
			http.Error(w, fmt.Sprintf("there are %d sessions already", s.maxSessions), http.StatusServiceUnavailable)
		default:
			s.serve(stateful, w, r)
		}
	})
	return guard(token, mux)
}

func (s *service) full() bool {
	return len(slices.Collect(s.server.Sessions())) >= s.maxSessions
}

// serve reads the body within bounds and ends the calls of a client that goes away.
func (s *service) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, ok := readBody(w, r)
		if !ok {
			return
		}
		if refusal := examine(body, outOfTurn(r)); refusal != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(refusal)
			return
		}
		r.Body = bytesBody(body)
		defer s.requests.begin(r)()
	}
	next.ServeHTTP(w, r)
}

// opening are the methods that need no session.
var opening = map[string]bool{"initialize": true, "ping": true, "server/discover": true}

// outOfTurn returns what says of a message that it begins no session or begins it
// twice, which the SDK has no code for.
func outOfTurn(r *http.Request) func(*jsonrpc.Request) string {
	session := r.Header.Get(sessionHeader)
	return func(req *jsonrpc.Request) string {
		switch {
		case r.Header.Get(versionHeader) >= sessionless:
		case session == "" && (req == nil || !opening[req.Method]):
			return "there is no session: begin with initialize, and send the " + sessionHeader + " that is in its answer"
		case session != "" && req != nil && req.Method == "initialize":
			return "the session is initialized already; initialize without " + sessionHeader + " begins another one"
		}
		return ""
	}
}

// endSession ends the calls of a session first: the SDK would wait for them.
func (s *service) endSession(next http.Handler, w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	defer s.bridge.Stop(func(req *mcp.CallToolRequest) bool {
		return id != "" && req.Session.ID() == id
	})()
	next.ServeHTTP(w, r)
}

// readBody reads the body, so that a client that sends it slowly holds up nothing,
// and a later deadline does not end the answer. What is not to be served it answers.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	_ = control.SetReadDeadline(time.Time{})
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		http.Error(w, errTooLong.Error(), http.StatusRequestEntityTooLarge)
		return nil, false
	case err != nil:
		http.Error(w, "the body did not arrive", http.StatusRequestTimeout)
		return nil, false
	}
	return body, true
}
