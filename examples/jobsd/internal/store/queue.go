package store

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
)

const revisionHeader = "Jobsd-Revision"

// enqueue puts a job into the queue, once for each mark in two minutes.
func (s *Store) enqueue(ctx context.Context, r *jobsdpb.Record, rev uint64, mark string) error {
	data, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	err = s.retry(ctx, func(ctx context.Context) error {
		msg := &nats.Msg{Subject: s.queueSubject(r.GetId()), Data: data, Header: nats.Header{}}
		msg.Header.Set(revisionHeader, strconv.FormatUint(rev, 10))
		_, err := s.js.PublishMsg(ctx, msg, jetstream.WithMsgID(mark))
		return err
	})
	if errors.Is(err, ErrFull) {
		return errors.Join(ErrQueueFull, err)
	}
	return err
}

// Dequeue takes a job out of the queue that will not run.
func (s *Store) Dequeue(ctx context.Context, id string) {
	if err := s.queue.Purge(ctx, jetstream.WithPurgeSubject(s.queueSubject(id))); err != nil {
		s.Logger.Debug("a job that ended before its turn stays in the queue until then", zap.String("job", id), errField(err))
	}
}

// Delivery is a job taken from the queue. Until Done is called it comes back,
// to whoever asks, AckWait after the last Alive.
type Delivery struct {
	Record   *jobsdpb.Record // as it was when it was put into the queue
	Revision uint64          // of Record in the bucket
	msg      jetstream.Msg
}

// Next waits for a job, until the context ends. It takes none that it does not
// return, save in the instant in which the context ends; that one comes back.
func (s *Store) Next(ctx context.Context) (*Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err // a pull of an ended context would still take a job
		}
		pull, cancel := context.WithTimeout(ctx, time.Minute)
		msg, err := s.consumer.Next(jetstream.FetchContext(pull))
		cancel()
		switch {
		case err == nil:
			if d := s.delivery(msg); d != nil {
				return d, nil
			}
			continue
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, jetstream.ErrConsumerDeleted):
			return nil, explain(err)
		case !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout):
			s.Logger.Debug("pulling a job", errField(err))
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// delivery reads a message of the queue. One that cannot be read is taken out.
func (s *Store) delivery(msg jetstream.Msg) *Delivery {
	rev, err := strconv.ParseUint(msg.Headers().Get(revisionHeader), 10, 64)
	var r *jobsdpb.Record
	if err == nil {
		r, err = decode(msg.Data())
	}
	if err != nil {
		s.Logger.Warn("a message of the queue cannot be read; it is dropped", zap.String("subject", msg.Subject()), errField(err))
		_ = msg.Term()
		return nil
	}
	return &Delivery{Record: r, Revision: rev, msg: msg}
}

// Alive tells the queue that the job is being worked on.
func (d *Delivery) Alive() error { return d.msg.InProgress() }

// Done takes the job out of the queue for good.
func (d *Delivery) Done() error { return d.msg.Ack() }

// Back gives the job back, to be delivered again after a while.
func (d *Delivery) Back(after time.Duration) error { return d.msg.NakWithDelay(after) }

func cutKey(key string) (agent, id string, ok bool) { return strings.Cut(key, ".") }
