package jobsclient

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	firstPause = 50 * time.Millisecond

	// maxFaults is how often in a row a daemon may report a fault of its own
	// before a watch believes that it will not pass.
	maxFaults = 5
)

// Wait returns the job once it has ended. It watches, so it costs nothing while
// the job runs, and goes on across restarts of the daemon. When ctx ends first,
// the error wraps the context's, the job goes on, and the last state that was
// seen is returned beside the error (nil if there was none); the error is
// ErrUnavailable, too, if the daemon could not be reached at the end. Wait never
// touches the job.
func (c *Client) Wait(ctx context.Context, jobID string) (*Job, error) {
	var last *Job
	for job, err := range c.Watch(ctx, jobID) {
		if err != nil {
			return last, err
		}
		last = job
	}
	return last, nil
}

// Watch yields the job as it is now and then after each change, until it has
// ended; the whole job each time, and no state twice. The daemon looks for changes
// every 250 ms, so states in between may be skipped.
//
// A lost connection is re-established, with pauses of at most 3 s, until ctx
// ends; but a daemon that was not reached at all within Config.CallTimeout is
// an error. An error is the last thing that is yielded. Watching never touches
// the job.
func (c *Client) Watch(ctx context.Context, jobID string) iter.Seq2[*Job, error] {
	return func(yield func(*Job, error) bool) {
		const doing = "watching job "
		if err := checkID(doing, jobID); err != nil {
			yield(nil, err)
			return
		}
		w := &watcher{client: c, call: call{doing: doing + shownID(jobID), job: jobID, limit: c.cfg.CallTimeout}, started: time.Now()}
		defer w.stop()
		for {
			job, err := w.next(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(job, nil) || job.Ended() {
				return
			}
		}
	}
}

// watcher follows one job over as many streams as it takes.
type watcher struct {
	client  *Client
	call    call
	started time.Time

	stream *stream
	opened time.Time // when the stream was, until its loss is dealt with
	seen   bool
	last   fingerprint
	pause  time.Duration
	faults int
	lost   bool // a loss was logged
	over   bool // the job seemed to have ended with output that cannot be sent
}

// next returns the job's next new state.
func (w *watcher) next(ctx context.Context) (*Job, error) {
	for {
		job, err := w.receive(ctx)
		if err == nil {
			w.resumed()
			if w.isNew(job) {
				return job, nil
			}
			continue
		}
		w.stop()
		if err := w.recover(ctx, err); err != nil {
			return nil, err
		}
	}
}

func (w *watcher) receive(ctx context.Context) (*Job, *callError) {
	if w.stream == nil {
		s, err := w.client.openStream(ctx, w.call)
		if err != nil {
			return nil, err
		}
		w.stream, w.opened = s, time.Now()
	}
	return w.stream.receive(ctx)
}

func (w *watcher) stop() {
	if w.stream != nil {
		w.stream.close()
		w.stream = nil
	}
}

// isNew tells whether job differs from what was yielded before. The daemon also
// reports changes that a Job does not show, and repeats the state to each new
// watch.
func (w *watcher) isNew(job *Job) bool {
	now := fingerprintOf(job)
	if w.seen && now == w.last {
		return false
	}
	w.seen, w.last, w.pause, w.faults, w.over = true, now, 0, 0, false
	return true
}

// resumed notes that the daemon has answered, if only with a state that is known.
func (w *watcher) resumed() {
	if w.lost {
		w.lost = false
		w.client.cfg.Logger.Info("watch of a job resumed", zap.String("job", w.call.job))
	}
}

// forgive lets a stream that stood for a while make up for what was before it: a
// job may be silent for days, in which faults that are far apart do not add up.
func (w *watcher) forgive() {
	if !w.opened.IsZero() && time.Since(w.opened) >= w.client.cfg.LivenessInterval {
		w.pause, w.faults = 0, 0
	}
	w.opened = time.Time{}
}

// recover waits before the next try, or returns the error with which the watch
// ends.
func (w *watcher) recover(ctx context.Context, err *callError) error {
	w.forgive()
	switch {
	case ctx.Err() != nil:
		return w.givenUp(ctx)
	case errors.Is(err, ErrUnreadable):
		if !w.mayPass(ctx, err) {
			return err
		}
	case err.final && (!w.seen || !errors.Is(err, ErrUnavailable)):
		return err
	case !w.seen && time.Since(w.started) >= w.client.cfg.CallTimeout:
		return err
	case !errors.Is(err, ErrUnavailable):
		if w.faults++; w.faults >= maxFaults {
			return err
		}
	}
	if w.seen && !w.lost {
		w.lost = true
		w.client.cfg.Logger.Warn("watch of a job lost, trying again", zap.String("job", w.call.job), zap.String("reason", err.Error()))
	}
	return w.sleep(ctx)
}

// sleep pauses between 50 ms and 3 s, longer each time.
func (w *watcher) sleep(ctx context.Context) error {
	w.pause = min(maxBackoff, max(firstPause, 2*w.pause))
	timer := time.NewTimer(w.pause/2 + rand.N(w.pause/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return w.givenUp(ctx)
	case <-w.client.life.Done():
		return closedError(w.call.doing)
	}
}

func (w *watcher) givenUp(ctx context.Context) error {
	e := w.call.fromContext(ctx.Err(), nil)
	e.text += "; the job goes on"
	if w.lost {
		e.text += ", but the jobs daemon could not be reached at the end"
		e.kinds = append(e.kinds, ErrUnavailable)
	}
	e.status = status.New(e.status.Code(), e.text)
	return e
}

// mayPass tells whether output that cannot be sent may become sendable: only
// while the job is not over, when half a character may be what is missing. The
// job itself cannot be read, but the lists of unfinished jobs tell: one with
// this job in it fails for the same reason or holds the job.
func (w *watcher) mayPass(ctx context.Context, unreadable *callError) bool {
	for _, state := range []Status{Running, Pending} {
		jobs, err := w.client.List(ctx, ListOptions{Status: state})
		switch {
		case errors.Is(err, ErrUnreadable), errors.Is(err, ErrUnavailable):
			return true
		case errors.Is(err, ErrPermissionDenied), errors.Is(err, ErrTooLarge):
			w.faults++
			return w.faults < maxFaults
		}
		for _, job := range jobs {
			if job.ID == w.call.job {
				return true
			}
		}
	}
	if !w.over {
		// It may have ended, and become readable, since: one more watch tells.
		w.over = true
		return true
	}
	unreadable.text = fmt.Sprintf("%s; the job has ended", unreadable.text)
	return false
}

// fingerprint stands for a state that was yielded, without holding its output.
type fingerprint struct {
	status            Status
	exitCode          int
	started, finished time.Time
	output            uint64
}

var seed = maphash.MakeSeed()

func fingerprintOf(j *Job) fingerprint {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, part := range []string{j.Stdout, j.Stderr, j.Error} {
		_, _ = h.WriteString(part)
		_ = h.WriteByte(0)
	}
	return fingerprint{j.Status, j.ExitCode, j.Started, j.Finished, h.Sum64()}
}

// transient is a loss that gRPC reports with a status of its own or not at all.
func (k call) transient(text string) *callError {
	text = k.doing + ": " + text
	return &callError{text: text, kinds: []error{ErrUnavailable}, status: status.New(codes.Unavailable, text), sent: true}
}
