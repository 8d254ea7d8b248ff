package store

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// hear calls each for what a watch of a bucket tells, until the context ends. begun,
// if not nil, is called once nothing can be missed any more. It returns
// ErrUnavailable when the connection was lost and is there again.
func (s *Store) hear(ctx context.Context, bucket jetstream.KeyValue, keys string, option jetstream.WatchOpt, begun func(), each func(jetstream.KeyValueEntry)) error {
	again, forget := s.reconnected()
	defer forget()
	watcher, err := s.watch(ctx, bucket, keys, option)
	if err != nil {
		return err
	}
	defer watcher.stop()
	if begun != nil {
		begun()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			return fmt.Errorf("%w: the connection was lost", ErrUnavailable)
		case entry, open := <-watcher.Updates():
			switch {
			case !open && ctx.Err() != nil:
				return nil
			case !open:
				return fmt.Errorf("%w: the watch of the bucket %s has ended", ErrUnavailable, bucket.Bucket())
			case entry != nil:
				each(entry)
			}
		}
	}
}

// reconnected returns a channel that tells when the connection to JetStream was
// lost and is there again, until forget is called. A watch by itself goes on as
// if nothing had happened, and hears nothing for another 10 to 20 s: until it
// misses heartbeats.
func (s *Store) reconnected() (again <-chan nats.Status, forget func()) {
	changes := s.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	return changes, func() { s.nc.RemoveStatusListener(changes) }
}
