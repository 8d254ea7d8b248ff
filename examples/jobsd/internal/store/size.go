package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// sizeAge is how old the size of the bucket may be that Submit goes by.
const sizeAge = time.Second

// size is how large the bucket of jobs was a moment ago.
type size struct {
	mu    sync.Mutex
	at    time.Time
	bytes int64
}

// room returns ErrFull if the bucket of jobs has MaxRecordBytes, and counts n more
// otherwise. The bound is not
// JetStream's own: that would refuse the changes of jobs that exist, too, and they
// must come to their end.
func (s *Store) room(ctx context.Context, n int) error {
	s.size.mu.Lock()
	defer s.size.mu.Unlock()
	if time.Since(s.size.at) > sizeAge {
		var info *jetstream.StreamInfo
		err := s.retry(ctx, func(ctx context.Context) (err error) {
			info, err = s.records.Info(ctx)
			return err
		})
		if err != nil {
			return err
		}
		s.size.at, s.size.bytes = time.Now(), int64(info.State.Bytes)
	}
	if s.size.bytes >= s.MaxRecordBytes {
		return fmt.Errorf("%w: its records have %d bytes of %d; the oldest ended ones are dropped within a minute", ErrFull, s.size.bytes, s.MaxRecordBytes)
	}
	s.size.bytes += int64(n)
	return nil
}
