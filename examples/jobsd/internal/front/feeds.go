package front

import (
	"context"
	"sync"
)

type feedKey struct{ agent, id string }

// feeds are the jobs that are being watched, each once, however many watch it.
type feeds struct {
	mu   sync.Mutex
	open map[feedKey]*feed
}

// attach returns the feed of a job, for detach to give back; nil if the Front has
// ended.
func (f *Front) attach(key feedKey) *feed {
	f.feeds.mu.Lock()
	defer f.feeds.mu.Unlock()
	d := f.feeds.open[key]
	if d == nil {
		if !f.enter() {
			return nil
		}
		var ctx context.Context
		d = newFeed(f, key)
		ctx, d.stop = context.WithCancel(f.life)
		if f.feeds.open == nil {
			f.feeds.open = map[feedKey]*feed{}
		}
		f.feeds.open[key] = d
		go func() {
			defer f.inflight.Done()
			d.run(ctx)
		}()
	}
	d.watchers++
	return d
}

// detach ends a feed with its last watcher.
func (f *Front) detach(d *feed) {
	f.feeds.mu.Lock()
	defer f.feeds.mu.Unlock()
	if d.watchers--; d.watchers == 0 {
		delete(f.feeds.open, d.key)
		d.stop()
	}
}

func (s *feeds) find(key feedKey) *feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[key]
}

// lookAgain makes all feeds read their records: changes may have been missed.
func (s *feeds) lookAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.open {
		d.lookAgain()
	}
}
