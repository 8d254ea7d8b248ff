package front

import (
	"sync"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

var streams = [...]store.Stream{store.Stdout, store.Stderr}

// output is what is known of a job's two streams.
type output struct {
	mu    sync.Mutex
	both  [2]*store.Buffer // nil: nothing
	fresh bool             // since changed was asked
}

func (o *output) add(s *store.Store, stream store.Stream, offset int64, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := index(stream)
	if o.both[i] == nil {
		o.both[i] = s.NewBuffer()
	}
	before := o.both[i].Size()
	o.both[i].Add(offset, data)
	o.fresh = o.fresh || o.both[i].Size() > before
}

func index(stream store.Stream) int {
	if stream == store.Stderr {
		return 1
	}
	return 0
}

func (o *output) replace(both [2]*store.Buffer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.both, o.fresh = both, true
}

// changed tells whether there is more than when it was asked last.
func (o *output) changed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	fresh := o.fresh
	o.fresh = false
	return fresh
}

// complete tells whether there is all of a stream that an ended job's record
// promises.
func (o *output) complete(stream store.Stream, end *jobsdpb.Output) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.both[index(stream)]
	return end != nil && b != nil && b.Size() == end.GetSize() && b.Missing() <= end.GetSize()-end.GetHead()-end.GetTail()
}

func (o *output) texts(limit bounds, open bool) (stdout, stderr string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var texts [2]string
	for i, b := range o.both {
		if b != nil {
			texts[i] = limit.text(b, open)
		}
	}
	return texts[0], texts[1]
}
