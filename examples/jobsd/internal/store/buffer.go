package store

import "fmt"

// Buffer keeps the head and the tail of a stream whose pieces come with their
// offsets, in order, some of them twice, some of them not at all.
type Buffer struct {
	headMax, tailMax int
	head             []byte // from offset 0
	tail             []byte // up to size
	size             int64
}

// NewBuffer returns a Buffer with room for so many bytes of a stream's start and
// of its end.
func NewBuffer(head, tail int) *Buffer { return &Buffer{headMax: head, tailMax: tail} }

// Add adds a piece.
func (b *Buffer) Add(offset int64, data []byte) {
	if known := b.size - offset; known > 0 {
		data = data[min(known, int64(len(data))):]
		offset += known
	}
	if len(data) == 0 {
		return
	}
	if offset == int64(len(b.head)) && len(b.tail) == 0 {
		n := min(b.headMax-len(b.head), len(data))
		b.head = append(b.head, data[:n]...)
		b.size, offset, data = int64(len(b.head)), offset+int64(n), data[n:]
	}
	if len(data) == 0 {
		return
	}
	if offset > b.size {
		b.tail = b.tail[:0]
	}
	b.size = offset + int64(len(data))
	b.tail = append(b.tail, data...)
	if over := len(b.tail) - b.tailMax; over > b.tailMax || over > 0 && cap(b.tail) > 2*b.tailMax+MaxChunk {
		b.tail = append(b.tail[:0], b.tail[over:]...)
	}
}

// Grow says how long the stream is.
func (b *Buffer) Grow(size int64) {
	if size > b.size {
		b.size = size
		b.tail = b.tail[:0]
	}
}

// Size is how many bytes the stream has.
func (b *Buffer) Size() int64 { return b.size }

// Head is what is kept of the start.
func (b *Buffer) Head() []byte { return b.head }

// Tail is what is kept of the end, beyond the head.
func (b *Buffer) Tail() []byte { return b.tail[max(0, len(b.tail)-b.tailMax):] }

// Missing is how many bytes between head and tail are not kept.
func (b *Buffer) Missing() int64 { return b.size - int64(len(b.head)) - int64(len(b.Tail())) }

// Gap is the line that stands in for missing bytes.
func Gap(missing int64) string {
	return fmt.Sprintf("\n[%d bytes are not kept here]\n", missing)
}
