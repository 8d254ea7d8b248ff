package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
)

const (
	// sweepInterval is how often Keep looks at all jobs without an occasion.
	sweepInterval = time.Minute

	// forgotten is how long a job may be pending and in no queue until its front
	// counts as dead between the two writes of Submit.
	forgotten = 30 * time.Second
)

// OrphanedWithin is how long it takes at most, while a front lives and JetStream
// can be reached, until the jobs of a worker that died are orphaned: its lease
// lapses, and is looked for a second time. If the connection was lost meanwhile it
// is as long from its return on.
func (s *Store) OrphanedWithin() time.Duration { return s.LeaseTTL + s.confirmation() + 5*time.Second }

// confirmation is how long a worker without a lease may take to renew it: one
// that was only cut off from JetStream for a while does it within LeaseTTL/6.
func (s *Store) confirmation() time.Duration { return s.LeaseTTL / 3 }

// Keep looks after what nobody else does, until the context ends: it ends the
// jobs of workers that died, queues again what was lost between two writes of a
// front that died, and drops the oldest ended jobs when the bucket is nearly full.
// Any number of processes may do it at once.
func (s *Store) Keep(ctx context.Context) {
	var told time.Time
	for ctx.Err() == nil {
		if err := s.keep(ctx); err != nil && ctx.Err() == nil {
			if time.Since(told) >= sayAgain {
				told = time.Now()
				s.Logger.Warn("looking after the jobs; it is tried again", errField(err))
			}
			_ = pause(ctx, time.Second)
		}
	}
}

func (s *Store) keep(ctx context.Context) error {
	again, forget := s.reconnected()
	defer forget()
	leases, err := s.watch(ctx, s.workers, ">", jetstream.MetaOnly())
	if err != nil {
		return err
	}
	defer leases.stop()
	if err := s.sweepAndTrim(ctx); err != nil {
		return err
	}
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			// Leases may have lapsed meanwhile whose workers are on their way back.
			if err := pause(ctx, s.LeaseTTL); err != nil {
				return err
			}
			return fmt.Errorf("%w: the connection was lost", ErrUnavailable)
		case entry, open := <-leases.Updates():
			if !open {
				return fmt.Errorf("%w: the watch of the leases has ended", ErrUnavailable)
			}
			if entry == nil || entry.Operation() == jetstream.KeyValuePut {
				continue
			}
		case <-ticker.C:
		}
		if err := s.sweepAndTrim(ctx); err != nil {
			return err
		}
	}
}

func (s *Store) sweepAndTrim(ctx context.Context) error {
	if err := s.Sweep(ctx, s.confirmation()); err != nil {
		return err
	}
	return s.trim(ctx)
}

// TakeOver is for a daemon that alone has the state and serves nobody yet: the
// workers and fronts that it knows of are dead. It ends their running jobs as
// orphaned, and queues at once what they left in no queue. What they had taken and
// not begun is delivered anew, without AckWait.
func (s *Store) TakeOver(ctx context.Context) error {
	if err := s.ForgetWorkers(ctx); err != nil {
		return err
	}
	if err := s.queue.DeleteConsumer(ctx, consumerName); err != nil {
		return explain(err)
	}
	if err := s.openConsumer(ctx); err != nil {
		return explain(err)
	}
	return s.sweep(ctx, 0, 0)
}

type found struct {
	record   *jobsdpb.Record
	revision uint64
}

// Sweep ends the running jobs whose workers hold no lease, now and after
// confirmation again, as orphaned, and queues pending jobs that are in no queue.
func (s *Store) Sweep(ctx context.Context, confirmation time.Duration) error {
	return s.sweep(ctx, confirmation, forgotten)
}

func (s *Store) sweep(ctx context.Context, confirmation, forgotten time.Duration) error {
	running, pending, err := s.unfinished(ctx, time.Now().Add(-forgotten))
	if err != nil {
		return err
	}
	// Leases are read after the records: a worker has its lease before it claims.
	lost, err := s.withoutWorker(ctx, running)
	if err != nil {
		return err
	}
	if len(lost) > 0 && confirmation > 0 {
		if err := pause(ctx, confirmation); err != nil {
			return err
		}
		if lost, err = s.withoutWorker(ctx, lost); err != nil {
			return err
		}
	}
	for _, f := range lost {
		if err := s.Orphan(ctx, f.record, f.revision); err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return s.requeue(ctx, pending)
}

// unfinished returns the jobs that run, and those that are pending and were
// submitted before a time.
func (s *Store) unfinished(ctx context.Context, before time.Time) (running, pending []found, err error) {
	err = s.List(ctx, "", func(r *jobsdpb.Record, rev uint64) bool {
		switch {
		case r.GetStatus() == Running:
			running = append(running, found{r, rev})
		case r.GetStatus() == Pending && r.GetCreated() < before.UnixNano():
			pending = append(pending, found{r, rev})
		}
		return true
	})
	return running, pending, err
}

func (s *Store) withoutWorker(ctx context.Context, jobs []found) ([]found, error) {
	alive := map[string]bool{}
	var lost []found
	for _, f := range jobs {
		worker := f.record.GetWorker()
		if _, asked := alive[worker]; !asked {
			is, err := s.Alive(ctx, worker)
			if err != nil {
				return nil, err
			}
			alive[worker] = is
		}
		if !alive[worker] {
			lost = append(lost, f)
		}
	}
	return lost, nil
}

// Orphan ends a running job whose worker died, and tells that worker to end it, in
// case that it was only stopped for a while and is back already. The error is
// ErrConflict if the job has changed meanwhile.
func (s *Store) Orphan(ctx context.Context, r *jobsdpb.Record, rev uint64) error {
	r.Status, r.Finished = Orphaned, time.Now().UnixNano()
	r.Error = "the worker that ran this job is gone; how far the job came is not known, and it was not run again"
	if _, err := s.Update(ctx, r, rev); err != nil {
		return err
	}
	s.Logger.Warn("a job is orphaned", jobField(r), zap.String("worker", r.GetWorker()))
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := s.Order(ctx, r.GetWorker(), r.GetId(), OrderCancel); err != nil {
		s.Logger.Debug("a worker that is gone cannot be told to end a job", jobField(r), errField(err))
	}
	return nil
}

// requeue puts those jobs into the queue that are not in it. One that runs
// meanwhile is not run again: whoever gets it sees that.
func (s *Store) requeue(ctx context.Context, pending []found) error {
	if len(pending) == 0 {
		return nil
	}
	info, err := s.queue.Info(ctx, jetstream.WithSubjectFilter(s.queueSubject("*")))
	if err != nil {
		return explain(err)
	}
	for i, f := range pending {
		if info.State.Subjects[s.queueSubject(f.record.GetId())] > 0 {
			continue
		}
		err := s.enqueue(ctx, f.record, f.revision, rand.Text()) // JetStream remembers the job's own mark
		if errors.Is(err, ErrQueueFull) {
			s.Logger.Warn("jobs that are in no queue wait until it has room", zap.Int("jobs", len(pending)-i))
			return nil
		}
		if err != nil {
			return err
		}
		s.Logger.Warn("a job was in no queue and is put there again", jobField(f.record))
	}
	return nil
}

// trim drops the oldest ended jobs when nine tenths of the bucket are used, until
// eight tenths are.
func (s *Store) trim(ctx context.Context) error {
	info, err := s.records.Info(ctx)
	if err != nil {
		return explain(err)
	}
	excess := int64(info.State.Bytes) - s.MaxRecordBytes/10*8
	if int64(info.State.Bytes) < s.MaxRecordBytes/10*9 {
		return nil
	}
	type ended struct {
		key      string
		finished int64
		size     int64
	}
	var jobs []ended
	err = s.List(ctx, "", func(r *jobsdpb.Record, _ uint64) bool {
		if Terminal(r.GetStatus()) {
			jobs = append(jobs, ended{key(r), r.GetFinished(), int64(proto.Size(r))})
		}
		return true
	})
	if err != nil {
		return err
	}
	slices.SortFunc(jobs, func(a, b ended) int { return cmp.Compare(a.finished, b.finished) })
	dropped := 0
	for _, j := range jobs {
		if excess <= 0 {
			break
		}
		if err := s.drop(ctx, j.key); err != nil {
			return err
		}
		excess -= j.size
		dropped++
	}
	s.Logger.Info("the store of jobs was nearly full; the oldest ended jobs are dropped", zap.Int("jobs", dropped))
	return nil
}

// markerTTL is how long the mark of a dropped record stays. JetStream writes down
// every two minutes which messages are gone; until then a crash would bring back
// what a record was before its last change: a job that runs, or is pending.
const markerTTL = 10 * time.Minute

// drop takes a record out, and leaves a small mark of that for a while.
func (s *Store) drop(ctx context.Context, key string) error {
	return s.retry(ctx, func(ctx context.Context) error {
		return s.jobs.Purge(ctx, key, jetstream.PurgeTTL(markerTTL))
	})
}
