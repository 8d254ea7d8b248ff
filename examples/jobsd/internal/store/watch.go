package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// watch is a watch of a bucket, for stop to end.
type watch struct {
	jetstream.KeyWatcher
	cancel context.CancelFunc
}

// watch begins within writeTimeout or not at all. nats.go itself would wait for
// ever for an answer that was lost with the server that was to give it, since the
// context has to last as long as the watch and so has no deadline for that.
func (s *Store) watch(ctx context.Context, bucket jetstream.KeyValue, keys string, opts ...jetstream.WatchOpt) (*watch, error) {
	lasting, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(writeTimeout, cancel)
	watcher, err := bucket.Watch(lasting, keys, opts...)
	inTime := timer.Stop()
	if err == nil && inTime {
		return &watch{watcher, cancel}, nil
	}
	if err == nil {
		(&watch{watcher, cancel}).stop()
	}
	cancel()
	if !inTime {
		return nil, fmt.Errorf("%w: a watch was not begun within %v", ErrUnavailable, writeTimeout)
	}
	return nil, explain(err)
}

// stop ends a watch. What it has still to deliver is taken from it: its goroutine
// would wait for that for ever.
func (w *watch) stop() {
	defer w.cancel()
	if w.Stop() != nil {
		return // the connection is gone, and all that belongs to it
	}
	for range w.Updates() { // until it is closed
		continue
	}
}

// all calls each for all entries that are in a bucket now, until it returns false.
// A bucket that is silent for writeTimeout before the last of them is an error: of
// entries that leave it meanwhile nothing is heard.
func (s *Store) all(ctx context.Context, bucket jetstream.KeyValue, keys string, each func(jetstream.KeyValueEntry) (more bool, err error)) error {
	w, err := s.watch(ctx, bucket, keys, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer w.stop()
	silence := time.NewTimer(writeTimeout)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		case <-silence.C:
			return fmt.Errorf("%w: the list of the bucket has not come to its end", ErrUnavailable)
		case entry, open := <-w.Updates():
			if !open {
				return fmt.Errorf("%w: the list of the bucket was broken off", ErrUnavailable)
			}
			if entry == nil {
				return nil
			}
			if more, err := each(entry); err != nil || !more {
				return err
			}
			silence.Reset(writeTimeout)
		}
	}
}
