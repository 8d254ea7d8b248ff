package front

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

const (
	// followAfter is for how long a job must have been running until its output is
	// followed. Most jobs have ended by then, and cost no consumer of the stream.
	followAfter = 100 * time.Millisecond

	// outputPause stands between two rows that differ in output only.
	outputPause = 100 * time.Millisecond

	// outputRate is how many bytes a second the rows of a job have at most that
	// differ in output only: each repeats all of it.
	outputRate = 8 << 20

	// quiet is after how long without a change a feed reads its record, in case
	// that JetStream has told a consumer nothing while it moved between servers.
	quiet = 30 * time.Second

	// readAgain is the pause after a read that did not succeed.
	readAgain = 500 * time.Millisecond
)

// feed is a job that is being watched. Its goroutine, run, makes of what it is
// told one row at a time, which all watchers share. It holds at most what the
// store keeps of each stream, and the row made of that.
type feed struct {
	front    *Front
	key      feedKey
	stop     context.CancelFunc
	watchers int // guarded by feeds.mu

	kick chan struct{} // something is in mail, or there is more output
	mu   sync.Mutex
	mail mail
	now  view
	news chan struct{} // closed when now changes

	output output // filled by a goroutine of follow

	// Of run only.
	record    *jobsdpb.Record
	rev       uint64
	stdin     *string // once it was read
	following context.CancelFunc
	followers sync.WaitGroup
	follow    *time.Timer // until the output is followed
	pace      *time.Timer // until a row may differ in output only
	look      *time.Timer // until the record is read
	early     bool        // pace has not run out
}

// mail is what a feed was told and has not dealt with.
type mail struct {
	record *jobsdpb.Record
	rev    uint64
	gone   bool // the record has left the bucket
	look   bool // the record is to be read
}

// view is what watchers see.
type view struct {
	row     *jobsdpb.Job // not to be changed
	rev     uint64       // of its record
	version uint64       // counts rows, from 1
	last    bool         // the job has ended, and the row is whole
	gone    bool         // the record has left the bucket before the job's end was seen
}

func newFeed(f *Front, key feedKey) *feed {
	return &feed{
		front: f, key: key, kick: make(chan struct{}, 1), news: make(chan struct{}),
		follow: unset(), pace: unset(), look: time.NewTimer(f.limits.quiet),
	}
}

// unset is a timer for Reset.
func unset() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// offer tells the feed of a revision, which may be old; nil: that the record has
// left the bucket.
func (d *feed) offer(r *jobsdpb.Record, rev uint64) {
	d.mu.Lock()
	if rev > d.mail.rev {
		d.mail.rev, d.mail.record, d.mail.gone = rev, r, r == nil
	}
	d.mu.Unlock()
	d.wake()
}

func (d *feed) lookAgain() {
	d.mu.Lock()
	d.mail.look = true
	d.mu.Unlock()
	d.wake()
}

func (d *feed) wake() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// seen returns what there is to see, and a channel that is closed once that has
// changed.
func (d *feed) seen() (view, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now, d.news
}

func (d *feed) show(v view) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v.version = d.now.version + 1
	d.now = v
	close(d.news)
	d.news = make(chan struct{})
}

// run ends with the context, or when nothing can change any more.
func (d *feed) run(ctx context.Context) {
	defer d.followers.Wait()
	defer d.unfollow()
	for {
		d.deal(ctx)
		if d.now.last || d.now.gone {
			return
		}
		select {
		case <-d.kick:
		case <-d.follow.C:
			d.startFollowing(ctx)
		case <-d.pace.C:
			d.early = false
		case <-d.look.C:
			d.lookAgain()
		case <-ctx.Done():
			return
		}
	}
}

// deal brings what watchers see up to date.
func (d *feed) deal(ctx context.Context) {
	d.mu.Lock()
	told := d.mail
	d.mail.look = false
	d.mu.Unlock()
	if told.look {
		told = d.reread(ctx, told)
	}
	switch {
	case ctx.Err() != nil:
	case told.gone:
		d.show(view{gone: true, rev: told.rev})
	case told.rev > d.rev:
		d.state(ctx, told.record, told.rev)
	case !d.early && d.record != nil && d.output.changed():
		d.showRow(d.row())
	}
}

// reread reads the record, and returns the newer of that and what was told.
func (d *feed) reread(ctx context.Context, told mail) mail {
	d.look.Reset(d.front.limits.quiet)
	inner, cancel := context.WithTimeout(ctx, d.front.limits.store)
	defer cancel()
	r, rev, err := d.front.Store.Get(inner, d.key.agent, d.key.id)
	switch {
	case errors.Is(err, store.ErrNotFound) && d.record != nil:
		told.gone = true
	case err != nil:
		d.again(ctx, err)
	case rev > told.rev:
		d.offer(r, rev)
		told.record, told.rev, told.gone = r, rev, false
	}
	return told
}

// again has the record read in a moment, after something could not be.
func (d *feed) again(ctx context.Context, err error) {
	if ctx.Err() == nil {
		d.front.trouble("reading a job that is watched; it is tried again", err, zap.String("job", d.key.id))
		d.look.Reset(readAgain)
	}
}

// state takes over a revision.
func (d *feed) state(ctx context.Context, r *jobsdpb.Record, rev uint64) {
	if err := d.load(ctx, r); err != nil {
		d.again(ctx, err)
		return
	}
	d.record, d.rev = r, rev
	d.look.Reset(d.front.limits.quiet)
	d.output.changed() // the row that is made now has it
	d.showRow(d.row())
	if r.GetStatus() == store.Running && d.following == nil {
		d.follow.Reset(followAfter - min(followAfter, max(0, since(r))))
	}
}

// since is for how long a job has been running, by this machine's clock.
func since(r *jobsdpb.Record) time.Duration {
	return time.Since(time.Unix(0, r.GetStarted()))
}

// load reads what a row of the record needs and is not there.
func (d *feed) load(ctx context.Context, r *jobsdpb.Record) error {
	switch {
	case d.stdin != nil:
	case !store.Terminal(r.GetStatus()) && r.GetStdinSize() > store.MaxInline:
		// The last row has it: until then each would repeat it.
	default:
		stdin, err := d.front.stdin(ctx, r)
		if err != nil {
			return err
		}
		d.stdin = &stdin
	}
	switch {
	case store.Terminal(r.GetStatus()):
		d.unfollow()
		return d.loadEnd(ctx, r)
	case r.GetStatus() == store.Running && d.following == nil && since(r) >= followAfter:
		return d.loadOutput(ctx, r)
	}
	return nil
}

// loadEnd reads an ended job's output, unless all of it was followed.
func (d *feed) loadEnd(ctx context.Context, r *jobsdpb.Record) error {
	if d.output.complete(store.Stdout, r.GetStdout()) && d.output.complete(store.Stderr, r.GetStderr()) {
		return nil
	}
	return d.loadOutput(ctx, r)
}

func (d *feed) loadOutput(ctx context.Context, r *jobsdpb.Record) error {
	var both [2]*store.Buffer
	for i, stream := range streams {
		b, err := d.front.Store.Output(ctx, r, stream)
		if err != nil {
			return err
		}
		both[i] = b
	}
	d.output.replace(both)
	return nil
}

// row makes the row of the record and the output that there is.
func (d *feed) row() *jobsdpb.Job {
	row := newRow(d.record)
	row.Stdin = unshown(d.record.GetStdinSize())
	if d.stdin != nil {
		row.Stdin = *d.stdin
	}
	row.Stdout, row.Stderr = d.output.texts(d.front.bounds(), !store.Terminal(d.record.GetStatus()))
	return row
}

// showRow shows a row unless nothing has changed, and says when the next may
// follow that differs in output only.
func (d *feed) showRow(row *jobsdpb.Job) {
	before := d.now.row // only run writes it
	if before != nil && d.now.rev == d.rev && before.GetStdout() == row.GetStdout() && before.GetStderr() == row.GetStderr() {
		return
	}
	d.show(view{row: row, rev: d.rev, last: store.Terminal(row.GetStatus())})
	size := len(row.GetStdin()) + len(row.GetStdout()) + len(row.GetStderr())
	d.early = true
	d.pace.Reset(max(outputPause, time.Duration(size)*time.Second/outputRate))
}

func (d *feed) startFollowing(ctx context.Context) {
	if d.following != nil || d.record.GetStatus() != store.Running {
		return
	}
	ctx, d.following = context.WithCancel(ctx)
	d.followers.Go(func() {
		for wait := readAgain; ; wait = min(2*wait, 10*time.Second) {
			err := d.front.Store.Follow(ctx, d.key.id, func(stream store.Stream, offset int64, data []byte) {
				d.output.add(d.front.Store, stream, offset, data)
				d.wake()
			})
			if ctx.Err() != nil {
				return
			}
			d.front.trouble("following a job's output; it is tried again", err, zap.String("job", d.key.id))
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
	})
}

// unfollow does not wait for the consumer's end, which takes long while JetStream
// is away; what it still adds is known.
func (d *feed) unfollow() {
	if d.following != nil {
		d.following()
		d.following = nil
	}
	d.follow.Stop()
}
