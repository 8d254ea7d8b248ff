package front

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/semaphore"
)

const (
	// MaxInHand is how many bytes of requests and answers one caller's calls have in
	// hand at a time, and as many again its watches. What is more waits. What is in
	// hand takes about four times as much memory.
	MaxInHand = 128 << 20

	// light is up to how many bytes a message is not counted.
	light = 64 << 10

	// mostUnread is how many requests of a caller wait to be read. Each keeps some of
	// its connection's window, in which those that are read must go on.
	mostUnread = 32

	// transferTime is how long a client may take to send a request, or to take a
	// message of ours.
	transferTime = time.Minute
)

// Windows for requests over HTTP/2: mostUnread requests that wait leave more than
// half of their connection's to those that are read.
const (
	StreamWindow     = 64 << 10
	ConnectionWindow = 4<<20 - 1
)

// budget bounds what one caller has in hand.
type budget struct {
	calls, watches *semaphore.Weighted
	unread         atomic.Int32
}

// budgets are those of all callers, by their scope.
type budgets struct {
	mu sync.Mutex
	of map[string]*budget
}

func (s *budgets) find(scope string, size int64) *budget {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.of[scope]
	if b == nil {
		if s.of == nil {
			s.of = map[string]*budget{}
		}
		b = &budget{calls: semaphore.NewWeighted(size), watches: semaphore.NewWeighted(size)}
		s.of[scope] = b
	}
	return b
}

// hand is what a call holds of its caller's budget.
type hand struct {
	of   *semaphore.Weighted
	size int64 // of the whole budget
	held int64
}

// take waits for n bytes more until the context ends. Whoever wants more than
// there is at all is alone then.
func (h *hand) take(ctx context.Context, n int) error {
	more := min(int64(n), h.size-h.held)
	if n <= light || more <= 0 {
		return nil
	}
	if err := h.of.Acquire(ctx, more); err != nil {
		return err
	}
	h.held += more
	return nil
}

// keep gives back all but n bytes.
func (h *hand) keep(n int) {
	if n <= light {
		n = 0
	}
	if less := h.held - int64(n); less > 0 {
		h.of.Release(less)
		h.held -= less
	}
}

type handKey struct{}

// inHand returns what the call holds.
func inHand(ctx context.Context) *hand {
	h, _ := ctx.Value(handKey{}).(*hand)
	return h
}

// reserve waits until an answer of n bytes may be made.
func (f *Front) reserve(ctx context.Context, n int) error {
	h := inHand(ctx)
	h.keep(0) // the request, which is read
	inner, cancel := context.WithTimeout(ctx, f.limits.store)
	defer cancel()
	if h.take(inner, n) == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return refusal(connect.CodeResourceExhausted, "this caller's other calls have %d bytes on their way, which is all that is allowed: try again when some of them are answered", h.size)
}

// receive waits until a request of n bytes may be read.
func (f *Front) receive(ctx context.Context, b *budget, h *hand, n int) error {
	if n <= light {
		return nil
	}
	defer b.unread.Add(-1)
	inner, cancel := context.WithTimeout(ctx, f.limits.store)
	defer cancel()
	if b.unread.Add(1) <= mostUnread && h.take(inner, n) == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return refusal(connect.CodeResourceExhausted, "this caller has sent too many large requests at once, and this one was not read: send it again when some of the others are answered")
}

// timely is a request's body that has to come in time.
type timely struct {
	io.ReadCloser
	deadline *http.ResponseController
}

func inTime(w http.ResponseWriter, r *http.Request, d time.Duration) {
	if r.ContentLength == 0 {
		return
	}
	body := timely{r.Body, http.NewResponseController(w)}
	_ = body.deadline.SetReadDeadline(time.Now().Add(d)) // where there is none the server's own holds
	r.Body = body
}

func (b timely) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF { // from now on reading is how the server hears that the client goes away
		_ = b.deadline.SetReadDeadline(time.Time{})
	}
	return n, err
}
