package worker

import (
	"sync"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// spool holds what a process wrote to one stream until it is stored: of the head
// what is not stored yet, beyond it the newest bytes. That is never more than
// headMax + tailMax bytes, and nobody who writes waits for anything but a copy.
type spool struct {
	wake             chan<- struct{} // is told, without waiting, that there is something to store
	headMax, tailMax int64

	mu     sync.Mutex
	head   pieces // from what is not stored on, or all of a stream that may yet go inline
	stored int64  // of the head
	tail   pieces // beyond the head
}

// write takes what the process wrote.
func (s *spool) write(data []byte) {
	s.mu.Lock()
	n := min(max(s.headMax-s.head.end, 0), int64(len(data)))
	s.head.add(data[:n])
	s.writeTail(data[n:])
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *spool) writeTail(data []byte) {
	if len(data) > 0 && s.tail.end == 0 {
		s.tail.start, s.tail.end = s.headMax, s.headMax
	}
	for len(data) > 0 { // room is made first, so that the bound holds
		n := min(len(data), pieceSize, int(s.tailMax))
		s.tail.drop(s.tail.end + int64(n) - s.tailMax)
		s.tail.add(data[:n])
		data = data[n:]
	}
}

// size is how many bytes the process has written.
func (s *spool) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.head.end, s.tail.end)
}

// held is how many bytes are in memory.
func (s *spool) held() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head.size() + s.tail.size()
}

// nextHead returns the next chunk of the head to store; an empty one is none.
func (s *spool) nextHead() (offset int64, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored, s.head.copy(s.stored, store.MaxChunk)
}

// storedHead says that the head is stored up to an offset.
func (s *spool) storedHead(end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = end
	if s.head.end > store.MaxInline {
		s.head.drop(end)
	}
}

// nextTail returns the chunk of the tail at an offset, or at the first one after
// it that is still there; an empty one is none.
func (s *spool) nextTail(from int64) (offset int64, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = max(from, s.tail.start)
	return from, s.tail.copy(from, store.MaxChunk)
}

// behind tells whether there is something to store beside a tail that is stored
// up to an offset.
func (s *spool) behind(tailEnd int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored < s.head.end || tailEnd < s.tail.end
}

// whole returns the stream if all of it is here and short enough to go into the
// record.
func (s *spool) whole() (data []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := max(s.head.end, s.tail.end)
	if size > store.MaxInline || s.head.size()+s.tail.size() != size {
		return nil, false
	}
	data = s.head.copy(0, store.MaxInline)
	if s.tail.end > 0 {
		data = append(data, s.tail.copy(s.tail.start, store.MaxInline)...)
	}
	return data, true
}
