package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fantasytools/fantasytools/tool"
)

// requestHeader carries from a request of HTTP to the call that it makes which one
// it was. What a client puts there is overwritten.
const requestHeader = "Fantasytools-Request"

// requests are those messages by HTTP that are under way. The SDK lets a call outlive the
// request that it came with; here nobody could ever fetch its result.
type requests struct {
	only string // id of the one session of standard input and output

	mu     sync.Mutex
	open   map[string]context.Context
	silent chan struct{} // if it is wanted: closed when none is under way
}

func newRequests() *requests { return &requests{open: map[string]context.Context{}} }

// begin marks the request; end must be called when it has been served.
func (r *requests) begin(req *http.Request) (end func()) {
	id := rand.Text()
	req.Header.Set(requestHeader, id)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[id] = req.Context()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, id)
		if r.silent != nil && len(r.open) == 0 {
			close(r.silent)
			r.silent = nil
		}
	}
}

// silence returns a channel that is closed as soon as no request is under way. It is
// asked for once.
func (r *requests) silence() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	silent := make(chan struct{})
	if len(r.open) == 0 {
		close(silent)
	} else {
		r.silent = silent
	}
	return silent
}

// context returns the context of the request that made a call; nil if it is over.
func (r *requests) context(header http.Header) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[header.Get(requestHeader)]
}

// callContext gives a call its session, which job_list goes by, and lets it end with
// the request of HTTP that it came with.
func (s *service) callContext(ctx context.Context, req *mcp.CallToolRequest) (context.Context, context.CancelFunc) {
	ctx = tool.WithSession(ctx, s.sessionLabel(req))
	if req.Extra == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	from := s.requests.context(req.Extra.Header)
	if from == nil {
		cancel()
		return ctx, cancel
	}
	stop := context.AfterFunc(from, cancel)
	return ctx, func() { stop(); cancel() }
}

// sessionLabel names the session of a call. That of HTTP is not its id, which is all
// that it takes to speak in it, and jobs are shown to others.
func (s *service) sessionLabel(req *mcp.CallToolRequest) string {
	if s.requests.only != "" {
		return s.requests.only
	}
	id := req.Session.ID()
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return "mcp-" + hex.EncodeToString(sum[:6])
}
