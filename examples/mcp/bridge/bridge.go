package bridge

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"charm.land/fantasy"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

const (
	// DefaultMaxParallel is how many calls of Parallel tools run at a time.
	DefaultMaxParallel = 64
	// DefaultMaxWaiting is how many calls wait for their turn.
	DefaultMaxWaiting = 1024
	// DefaultProgress is the time between two notifications of progress.
	DefaultProgress = 5 * time.Second
)

// CodeCancelled is the code of the JSON-RPC error that answers a request whose
// call was cancelled; it is that of the Language Server Protocol, for JSON-RPC and
// MCP have none.
const CodeCancelled = -32800

// Options say how tools are served. The zero value is a good one.
type Options struct {
	// Annotate returns a tool's annotations. nil: [Annotate].
	Annotate func(fantasy.ToolInfo) *mcp.ToolAnnotations

	// Context returns the context that a call runs with, and what to do when the
	// call has ended. It may add values, such as a session's id, and ways to end.
	// nil: the request's own.
	Context func(context.Context, *mcp.CallToolRequest) (context.Context, context.CancelFunc)

	// MaxParallel is how many calls of Parallel tools run at a time, further ones
	// wait. 0: DefaultMaxParallel.
	MaxParallel int

	// MaxWaiting is how many calls may wait, further ones are refused. 0:
	// DefaultMaxWaiting.
	MaxWaiting int

	// Progress is the time between two notifications of progress, for clients
	// that ask for them. 0: DefaultProgress; negative: none are sent.
	Progress time.Duration

	// Logger is told of each call at debug level, by name, duration and size, and
	// of each panic. nil: nothing is logged.
	Logger *zap.Logger
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Annotate == nil {
		out.Annotate = Annotate
	}
	if out.Context == nil {
		out.Context = func(ctx context.Context, _ *mcp.CallToolRequest) (context.Context, context.CancelFunc) {
			return ctx, func() {}
		}
	}
	if out.MaxParallel <= 0 {
		out.MaxParallel = DefaultMaxParallel
	}
	if out.MaxWaiting <= 0 {
		out.MaxWaiting = DefaultMaxWaiting
	}
	if out.Progress == 0 {
		out.Progress = DefaultProgress
	}
	if out.Logger == nil {
		out.Logger = zap.NewNop()
	}
	return out
}

// Bridge is the tools that were added to a server together.
type Bridge struct {
	opts  Options
	queue *queue

	mu    sync.Mutex
	calls map[*call]struct{}
	stops map[*stop]struct{}
	done  sync.WaitGroup
}

// call is a request that was taken and not yet answered.
type call struct {
	req    *mcp.CallToolRequest
	cancel context.CancelCauseFunc
}

// stop is a kind of calls that are not wanted any more.
type stop struct {
	match func(*mcp.CallToolRequest) bool
}

// errStopped is why a call ended that its client did not cancel.
var errStopped = errors.New("the server ends these calls")

// Add adds the tools to the server. It adds all or, with an error that names each
// tool and what is wrong with it, none. Call it once for a server, before clients
// connect. nil options are the zero value.
func Add(server *mcp.Server, tools []fantasy.AgentTool, opts *Options) (*Bridge, error) {
	b := &Bridge{opts: opts.withDefaults(), calls: map[*call]struct{}{}, stops: map[*stop]struct{}{}}
	b.queue = newQueue(b.opts.MaxParallel, b.opts.MaxWaiting)
	descriptions, err := describe(tools, b.opts.Annotate)
	if err != nil {
		return nil, err
	}
	for i, t := range tools {
		server.AddTool(descriptions[i], b.handler(t, t.Info().Parallel))
	}
	return b, nil
}

// Stop cancels the calls that match and refuses further ones, until resume is
// called. It does not wait for the calls to end.
func (b *Bridge) Stop(match func(*mcp.CallToolRequest) bool) (resume func()) {
	s := &stop{match: match}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops[s] = struct{}{}
	for c := range b.calls {
		if match(c.req) {
			c.cancel(errStopped)
		}
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.stops, s)
	}
}

// Close cancels all calls, refuses further ones and returns when none runs any
// more. It may be called more than once.
func (b *Bridge) Close() {
	b.Stop(func(*mcp.CallToolRequest) bool { return true })
	b.done.Wait()
}

// begin counts a call; it returns nil for one that is not wanted.
func (b *Bridge) begin(req *mcp.CallToolRequest, cancel context.CancelCauseFunc) *call {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.stops {
		if s.match(req) {
			return nil
		}
	}
	c := &call{req: req, cancel: cancel}
	b.calls[c] = struct{}{}
	b.done.Add(1)
	return c
}

func (b *Bridge) end(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.calls, c)
	b.done.Done()
}

// handler answers the requests that call the tool.
func (b *Bridge) handler(tool fantasy.AgentTool, parallel bool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		c := b.begin(req, cancel)
		if c == nil {
			return refused("The server is ending, or the session is: the call was not made."), nil
		}
		defer b.end(c)
		ctx, release := b.opts.Context(ctx, req)
		defer release()
		heart := startHeart(ctx, req, b.opts.Progress)
		defer heart.stop()
		leave, err := b.queue.enter(ctx, sessionOf(req), parallel)
		if err != nil {
			return b.notRun(ctx, err)
		}
		defer leave()
		heart.running()
		return b.run(ctx, tool, req)
	}
}

// sessionOf is what the calls of one session have in common.
func sessionOf(req *mcp.CallToolRequest) any {
	if req.Session.ID() == "" && req.Extra != nil { // by HTTP, where each such request has a session of its own
		return nil
	}
	return req.Session
}

func (b *Bridge) notRun(ctx context.Context, err error) (*mcp.CallToolResult, error) {
	if errors.Is(err, errTooMany) {
		return refused(fmt.Sprintf("The server is busy: %d calls wait already, and this one was not made. Call again later.", b.opts.MaxWaiting)), nil
	}
	return cancelled(ctx)
}

// cancelled answers a request whose context has ended.
func cancelled(ctx context.Context) (*mcp.CallToolResult, error) {
	if errors.Is(context.Cause(ctx), errStopped) {
		return refused("The server is ending, or the session is: the call was stopped, and what it did until then may have taken effect."), nil
	}
	return nil, &jsonrpc.Error{Code: CodeCancelled, Message: "the request was cancelled"}
}

func (b *Bridge) run(ctx context.Context, tool fantasy.AgentTool, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	started := time.Now()
	resp, err := b.runSafely(ctx, tool, fantasy.ToolCall{Name: req.Params.Name, Input: inputOf(req)})
	b.opts.Logger.Debug("call", zap.String("tool", req.Params.Name), zap.Duration("took", time.Since(started)),
		zap.Bool("error", err != nil || resp.IsError), zap.Int("text", len(resp.Content)), zap.Int("data", len(resp.Data)))
	switch {
	case err != nil && ctx.Err() != nil:
		return cancelled(ctx)
	case err != nil:
		return refused(failure(err)), nil
	}
	return resultOf(req.Params.Name, resp), nil
}

// runSafely runs a tool; nothing above it recovers from its panic.
func (b *Bridge) runSafely(ctx context.Context, tool fantasy.AgentTool, call fantasy.ToolCall) (resp fantasy.ToolResponse, err error) {
	defer func() {
		if v := recover(); v != nil {
			b.opts.Logger.Error("a tool panicked", zap.String("tool", call.Name), zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
			resp, err = fantasy.NewTextErrorResponse("The tool stopped with an internal error; what it did until then may have taken effect. Check before you call it again."), nil
		}
	}()
	return tool.Run(ctx, call)
}

// inputOf is the arguments as the client wrote them. The protocol allows to leave
// them out, which fantasy's own typed tools refuse.
func inputOf(req *mcp.CallToolRequest) string {
	if len(req.Params.Arguments) == 0 {
		return "{}"
	}
	return string(req.Params.Arguments)
}

// failure is the text of an error that a tool returned although its context goes
// on, which those of this module never do.
func failure(err error) string {
	if message := strings.TrimSpace(err.Error()); message != "" {
		return message
	}
	return "The call failed and gave no reason."
}
