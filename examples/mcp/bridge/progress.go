package bridge

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// heart tells a client now and then that its call is still there.
type heart struct {
	isRunning atomic.Bool
	cancel    context.CancelFunc
	stopped   chan struct{}
}

// startHeart begins to notify the client, if the request has a token for it.
func startHeart(ctx context.Context, req *mcp.CallToolRequest, every time.Duration) *heart {
	ctx, cancel := context.WithCancel(ctx)
	h := &heart{cancel: cancel, stopped: make(chan struct{})}
	token := req.Params.GetProgressToken()
	if token == nil || every < 0 || !faithful(token) {
		close(h.stopped)
		return h
	}
	go func() {
		defer close(h.stopped)
		h.beat(ctx, req, token, every)
	}()
	return h
}

// faithful reports whether the token is the one that the client sent. The SDK holds
// numbers as JavaScript does, so that a great one may be another by now, and the
// client would be told of a call that it does not know.
func faithful(token any) bool {
	n, isNumber := token.(float64)
	return !isNumber || math.Abs(n) < 1<<53
}

// running says that the call does not wait any more.
func (h *heart) running() { h.isRunning.Store(true) }

// stop returns when nothing will be sent any more: after a request's answer
// nothing may be.
func (h *heart) stop() {
	h.cancel()
	<-h.stopped
}

func (h *heart) beat(ctx context.Context, req *mcp.CallToolRequest, token any, every time.Duration) {
	started, last := time.Now(), 0.0
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		elapsed := time.Since(started)
		seconds := math.Round(elapsed.Seconds()*1000) / 1000
		if seconds <= last {
			continue // the protocol demands that it grows
		}
		last = seconds
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      seconds,
			Message:       h.message(req.Params.Name, elapsed),
		})
		if err != nil {
			return // nobody reads it
		}
	}
}

func (h *heart) message(tool string, elapsed time.Duration) string {
	if h.isRunning.Load() {
		return fmt.Sprintf("%s: %s so far", tool, elapsed.Round(time.Second))
	}
	return fmt.Sprintf("%s: waits for its turn, %s so far", tool, elapsed.Round(time.Second))
}
