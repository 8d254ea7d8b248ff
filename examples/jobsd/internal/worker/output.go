package worker

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// flushInterval is how long output waits for more until it is stored.
const flushInterval = 100 * time.Millisecond

// output is what a job writes.
type output struct {
	store          *store.Store
	logger         *zap.Logger
	job            string
	wake           chan struct{}
	stdout, stderr *stream
	chunks         int // stored
}

func newOutput(s *store.Store, logger *zap.Logger, job string) *output {
	o := &output{store: s, logger: logger, job: job, wake: make(chan struct{}, 1)}
	o.stdout, o.stderr = o.stream(store.Stdout), o.stream(store.Stderr)
	return o
}

func (o *output) stream(name store.Stream) *stream {
	s := &stream{out: o, name: name}
	s.wake, s.headMax, s.tailMax = o.wake, int64(o.store.HeadBytes), int64(o.store.TailBytes)
	return s
}

// flush stores output as it is written, until stop is called, which waits for
// the write that takes place then. Nothing is stored of a job that is over within
// flushInterval.
func (o *output) flush(ctx context.Context) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		o.follow(ctx, quit)
	}()
	return func() {
		close(quit)
		<-ended
	}
}

func (o *output) follow(ctx context.Context, quit <-chan struct{}) {
	timer := time.NewTimer(flushInterval)
	defer timer.Stop()
	for more := false; ; {
		if !more {
			select {
			case <-o.wake:
			case <-quit:
				return
			}
		}
		timer.Reset(flushInterval)
		select {
		case <-timer.C:
		case <-quit:
			return
		}
		out, err := o.stdout.flush(ctx, false), o.stderr.flush(ctx, false)
		more = out || err
	}
}

func (o *output) put(ctx context.Context, name store.Stream, region store.Region, offset int64, data []byte) (uint64, error) {
	place, err := o.store.PutChunk(ctx, o.job, name, region, offset, data)
	if err == nil {
		o.chunks++
	}
	return place, err
}

// finish stores what is left, and returns what the record says of both streams.
func (o *output) finish(ctx context.Context, inline bool) (stdout, stderr *jobsdpb.Output) {
	return o.stdout.finish(ctx, inline), o.stderr.finish(ctx, inline)
}

// lost says how much is not kept that should be; empty: nothing.
func (o *output) lost() string { return joinText(o.stdout.lost(), o.stderr.lost()) }

func (o *output) size() int64 { return o.stdout.size() + o.stderr.size() }

// tidy drops the chunks of a job whose record holds everything. Who follows them
// meanwhile reads the rest in the record, which is there already.
func (o *output) tidy(ctx context.Context, r *jobsdpb.Record) {
	if o.chunks == 0 || !inline(r.GetStdout()) || !inline(r.GetStderr()) || int64(len(r.GetStdin())) != r.GetStdinSize() {
		return
	}
	if err := o.store.DropOutput(ctx, o.job); err != nil {
		o.logger.Debug("output that the record holds too is left to its age", zap.String("job", o.job), zap.Error(err))
	}
}

func inline(o *jobsdpb.Output) bool { return int64(len(o.GetInline())) == o.GetSize() }
