package run

import (
	"io"
	"slices"
	"sync"
)

// readSize is how much is read from a pipe at once: what a pipe holds on Linux.
const readSize = 64 << 10

var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// capture keeps the head and the tail of what is written to it, in an amount of
// memory that does not depend on how much that is.
type capture struct {
	head, tail int // how many bytes to keep
	extend     func(head []byte) int

	mu    sync.Mutex // the child may be given up while it still writes
	start []byte     // the head
	ring  []byte     // the tail, once the head is full; grows up to tail bytes
	next  int        // where in a full ring the oldest byte is
	over  int64      // bytes that fell out of the ring
}

// ReadFrom drains r. os/exec calls it with the child's pipe.
func (c *capture) ReadFrom(r io.Reader) (total int64, err error) {
	buf := readBuffers.Get().(*[readSize]byte)
	defer readBuffers.Put(buf)
	for {
		n, err := r.Read(buf[:])
		c.keep(buf[:n])
		total += int64(n)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// Write makes a capture an io.Writer, as os/exec wants.
func (c *capture) Write(b []byte) (int, error) {
	c.keep(b)
	return len(b), nil
}

func (c *capture) keep(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// output returns what is kept so far.
func (c *capture) output() Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Output{
		Head:    c.start[:len(c.start):len(c.start)],
		Tail:    slices.Concat(c.ring[c.next:], c.ring[:c.next]),
		Missing: c.over,
	}
}
