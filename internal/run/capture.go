package run

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// readSize is how much is read from a pipe at once: what a pipe holds on Linux.
const readSize = 64 << 10

var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// capture keeps the head and the tail of what is written to it, in an amount of
// memory that does not depend on how much that is.
type capture struct {
	head, tail int // how many bytes to keep
	extend     func(head []byte) int
	drained    chan struct{} // closed when nothing more is read

	mu      sync.Mutex   // the child may be given up while it still writes
	each    func([]byte) // is shown what is read; nil: nobody is
	start   []byte       // the head
	ring    []byte       // the tail, once the head is full; grows up to tail bytes
	next    int          // where in a full ring the oldest byte is
	over    int64        // bytes that fell out of the ring
	pipe    pipe         // what is drained; nil before that begins
	stopped bool
}

// pipe is our end of a child's pipe, an *os.File.
type pipe interface {
	SetReadDeadline(time.Time) error
	SyscallConn() (syscall.RawConn, error)
}

func newCapture(head, tail int, extend func([]byte) int) *capture {
	return &capture{head: head, tail: tail, extend: extend, drained: make(chan struct{})}
}

// ReadFrom drains r. os/exec calls it once, with the child's pipe.
func (c *capture) ReadFrom(r io.Reader) (total int64, err error) {
	defer close(c.drained)
	c.begin(r)
	buf := readBuffers.Get().(*[readSize]byte)
	defer readBuffers.Put(buf)
	for {
		n, err := r.Read(buf[:])
		c.keep(buf[:n])
		total += int64(n)
		switch {
		case err == io.EOF:
			return total, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return total + c.keepRest(buf[:]), nil
		case err != nil:
			return total, err
		}
	}
}

func (c *capture) begin(r io.Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pipe, _ = r.(pipe)
	if c.stopped && c.pipe != nil {
		_ = c.pipe.SetReadDeadline(time.Unix(1, 0))
	}
}

// stop makes ReadFrom end as soon as it has what is in the pipe now, though a
// process may still hold the other end. It reports whether the system can do
// that.
func (c *capture) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	return c.pipe == nil || c.pipe.SetReadDeadline(time.Unix(1, 0)) == nil
}

// maxPipe is more than a pipe holds: 1 MiB is the most on Linux for a user
// without privileges. Whoever writes on could feed a reader for ever.
const maxPipe = 1 << 20

// keepRest keeps what is in the pipe without waiting for more. On a busy
// machine that may be all of the output: the time to wait for it can be over
// before the reader ever ran.
func (c *capture) keepRest(buf []byte) (total int64) {
	conn, err := c.pipe.SyscallConn()
	if err != nil || c.pipe.SetReadDeadline(time.Time{}) != nil {
		return 0
	}
	for total < maxPipe {
		n := readNow(conn, buf)
		if n <= 0 {
			break
		}
		c.keep(buf[:n])
		total += int64(n)
	}
	return total
}

// Write makes a capture an io.Writer, as os/exec wants.
func (c *capture) Write(b []byte) (int, error) {
	c.keep(b)
	return len(b), nil
}

func (c *capture) keep(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.each != nil && len(b) > 0 {
		c.each(b)
	}
	for len(b) > 0 {
		n := min(len(b), c.head-len(c.start))
		c.start = append(c.start, b[:n]...)
		b = b[n:]
		if len(c.start) < c.head || c.extend == nil {
			break
		}
		c.head = max(c.head, c.extend(c.start))
		c.extend = nil
	}
	c.keepTail(b)
}

func (c *capture) keepTail(b []byte) {
	if extra := len(b) - c.tail; extra > 0 {
		c.over += int64(extra)
		b = b[extra:]
	}
	if n := min(len(b), c.tail-len(c.ring)); n > 0 {
		c.ring = append(c.ring, b[:n]...)
		b = b[n:]
	}
	c.over += int64(len(b))
	for len(b) > 0 {
		n := copy(c.ring[c.next:], b)
		b = b[n:]
		c.next = (c.next + n) % len(c.ring)
	}
}

// output returns what is kept so far. From then on nobody is shown what is read:
// who was shown pieces has seen all that the Output counts, and no more.
func (c *capture) output() Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.each = nil
	return Output{
		Head:    c.start[:len(c.start):len(c.start)],
		Tail:    slices.Concat(c.ring[c.next:], c.ring[:c.next]),
		Missing: c.over,
	}
}
