package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// tailInterval is how often the tail is stored while more is written, and how
// often what could not be stored is tried again.
const tailInterval = 2 * time.Second

// stream stores what is in a spool. Its methods are called by one goroutine at a
// time; the spool's write may be called beside them.
type stream struct {
	spool
	out  *output
	name store.Stream

	chunks  []chunk   // of the tail that are stored, oldest first
	tailAt  time.Time // when the tail was stored last
	failed  error     // why storing did not succeed; nil: it did
	retryAt time.Time // after that
	kept    int64     // at the end
}

// chunk is a stored piece of the tail.
type chunk struct {
	place      uint64
	start, end int64
}

// flush stores what is due, or, at the end, all. It reports whether something is
// left to be stored later.
func (s *stream) flush(ctx context.Context, last bool) (more bool) {
	if s.failed != nil && !last && time.Now().Before(s.retryAt) {
		return true
	}
	err := s.flushHead(ctx)
	if due := time.Since(s.tailAt) >= tailInterval; last || due && err == nil {
		err = errors.Join(err, s.flushTail(ctx))
	}
	if err != nil && s.failed == nil {
		s.out.logger.Warn("output cannot be stored", zap.String("job", s.out.job), zap.String("stream", string(s.name)), zap.Error(err))
	}
	s.failed, s.retryAt = err, time.Now().Add(tailInterval)
	return s.behind(s.tailEnd())
}

func (s *stream) flushHead(ctx context.Context) error {
	for {
		offset, data := s.nextHead()
		if len(data) == 0 {
			return nil
		}
		if _, err := s.out.put(ctx, s.name, store.Head, offset, data); err != nil {
			return err
		}
		s.storedHead(offset + int64(len(data)))
	}
}

// flushTail stores the tail as far as it reaches now. What is overwritten while
// it does so is missing.
func (s *stream) flushTail(ctx context.Context) error {
	for size := s.size(); s.tailEnd() < size; {
		offset, data := s.nextTail(s.tailEnd())
		if len(data) == 0 {
			break
		}
		place, err := s.out.put(ctx, s.name, store.Tail, offset, data)
		if err != nil {
			return err
		}
		s.chunks = append(s.chunks, chunk{place, offset, offset + int64(len(data))})
	}
	s.tailAt = time.Now()
	s.dropReplaced(ctx)
	return nil
}

// tailEnd is up to where the tail was stored.
func (s *stream) tailEnd() int64 {
	if len(s.chunks) == 0 {
		return 0
	}
	return s.chunks[len(s.chunks)-1].end
}

// dropReplaced drops the chunks that are older than the tail is long, or that
// are not followed by all that was written after them.
func (s *stream) dropReplaced(ctx context.Context) {
	if len(s.chunks) == 0 {
		return
	}
	first := len(s.chunks) - 1
	for first > 0 && s.chunks[first-1].end == s.chunks[first].start && s.chunks[first-1].end > s.tailEnd()-s.tailMax {
		first--
	}
	if first == 0 {
		return
	}
	if err := s.out.store.DropTail(ctx, s.out.job, s.name, s.chunks[first].place); err != nil {
		s.out.logger.Debug("replaced output could not be dropped", zap.String("job", s.out.job), zap.Error(err))
		return
	}
	s.chunks = append([]chunk(nil), s.chunks[first:]...)
}

// finish returns what the record says of the stream. A short one stands in it if
// inline allows that; of a longer one what is not stored yet is.
func (s *stream) finish(ctx context.Context, inline bool) *jobsdpb.Output {
	size := s.size()
	if data, ok := s.whole(); ok && inline {
		s.kept = size
		return &jobsdpb.Output{Inline: data, Size: size, Head: size}
	}
	s.flush(ctx, true)
	o := &jobsdpb.Output{Size: size, Head: s.stored, Tail: s.keptTail(size)}
	s.kept = o.GetHead() + o.GetTail()
	return o
}

// keptTail is how many of the last bytes are stored: none, if not the very last.
func (s *stream) keptTail(size int64) int64 {
	if len(s.chunks) == 0 || s.tailEnd() != size {
		return 0
	}
	first := len(s.chunks) - 1
	for first > 0 && s.chunks[first-1].end == s.chunks[first].start {
		first--
	}
	return min(size-s.chunks[first].start, s.tailMax)
}

// lost says how much is not kept that should be.
func (s *stream) lost() string {
	n := min(s.size(), s.headMax+s.tailMax) - s.kept
	if n <= 0 {
		return ""
	}
	name := "stdout"
	if s.name == store.Stderr {
		name = "stderr"
	}
	reason := "they could not be stored"
	if errors.Is(s.failed, store.ErrFull) {
		reason = "the store of output is full"
	}
	return fmt.Sprintf("%d bytes of %s are lost: %s", n, name, reason)
}
