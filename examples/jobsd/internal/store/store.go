// Package store keeps the state of a jobs daemon in NATS JetStream. Fronts and
// workers hold none of their own: what one process knows, every other reads here.
//
//	bucket PREFIX-jobs     AGENT.JOB → Record; ended ones leave by their own TTL
//	stream PREFIX-queue    jobs to run, a work queue that all workers pull from
//	stream PREFIX-output   what is long: stdin, and output as it is produced
//	bucket PREFIX-workers  WORKER → lease, renewed while the worker lives
//	bucket PREFIX-orders   WORKER.JOB → what a worker is told about a job
//
// Every change of a Record names the revision that it changes, so two who want
// the same job cannot both have it: a job is claimed at most once, and that is
// what keeps it from running twice.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"
)

const (
	// MaxInline is how many bytes of stdin and of each output stream a Record holds
	// itself. Longer ones stand in chunks.
	MaxInline = 32 << 10

	// MaxChunk is how many bytes of data a chunk holds at most.
	MaxChunk = 256 << 10

	// AckWait is how long a job that a worker has taken from the queue waits for
	// that worker's sign of life until it is given to another.
	AckWait = 15 * time.Second

	// DefaultLeaseTTL is Config.LeaseTTL's default.
	DefaultLeaseTTL = 15 * time.Second

	// orderTTL is how long an order waits for its worker.
	orderTTL = time.Hour

	// writeTimeout bounds one attempt of a write.
	writeTimeout = 5 * time.Second
)

// Config says how the state is kept. The zero value is the documented default of
// each field.
type Config struct {
	Prefix         string        // of all names in JetStream; "": "jobsd"
	Replicas       int           // of each stream; 0: 1
	Retention      time.Duration // of ended jobs; 0: 24 h
	MaxRunTime     time.Duration // of a job; output outlives Retention by it; 0: 24 h
	MaxQueue       int64         // jobs that are pending or running; 0: 100,000
	MaxRecordBytes int64         // of the bucket of jobs, past which Submit refuses; 0: 1 GiB
	MaxOutputBytes int64         // of the stream of output, the oldest is dropped; 0: 8 GiB
	HeadBytes      int           // kept of the start of each output stream; 0: 8 MiB
	TailBytes      int           // kept of its end; 0: 8 MiB
	LeaseTTL       time.Duration // after which a silent worker counts as dead; 0: 15 s
	Logger         *zap.Logger   // nil: nothing is logged
}

func (c Config) withDefaults() Config {
	c.Prefix = cmp.Or(c.Prefix, "jobsd")
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.Retention = cmp.Or(c.Retention, 24*time.Hour)
	c.MaxRunTime = cmp.Or(c.MaxRunTime, 24*time.Hour)
	c.MaxQueue = cmp.Or(c.MaxQueue, 100_000)
	c.MaxRecordBytes = cmp.Or(c.MaxRecordBytes, 1<<30)
	c.MaxOutputBytes = cmp.Or(c.MaxOutputBytes, 8<<30)
	c.HeadBytes = cmp.Or(c.HeadBytes, 8<<20)
	c.TailBytes = cmp.Or(c.TailBytes, 8<<20)
	c.LeaseTTL = cmp.Or(c.LeaseTTL, DefaultLeaseTTL)
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// Store is the state. Its methods are safe for concurrent use.
type Store struct {
	Config
	nc       *nats.Conn
	js       jetstream.JetStream
	jobs     jetstream.KeyValue
	workers  jetstream.KeyValue
	orders   jetstream.KeyValue
	records  jetstream.Stream // that jobs is made of
	queue    jetstream.Stream
	output   jetstream.Stream
	consumer jetstream.Consumer // of queue
	size     size               // of records
}

// Open returns the state behind a connection, and makes what is not there yet.
// What is there is changed to what c says. The context bounds it.
func Open(ctx context.Context, nc *nats.Conn, c Config) (*Store, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(writeTimeout))
	if err != nil {
		return nil, err
	}
	s := &Store{Config: c.withDefaults(), nc: nc, js: js}
	err = s.retry(ctx, func(ctx context.Context) error { return s.open(ctx) })
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return nil, fmt.Errorf("the NATS server has no JetStream for this account; start it with -js, or enable it for the account: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("preparing JetStream: %w", err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	if s.records, err = s.js.CreateOrUpdateStream(ctx, s.bucket("jobs", 0)); err != nil {
		return err
	}
	if _, err = s.js.CreateOrUpdateStream(ctx, s.bucket("workers", s.LeaseTTL)); err != nil {
		return err
	}
	if _, err = s.js.CreateOrUpdateStream(ctx, s.bucket("orders", orderTTL)); err != nil {
		return err
	}
	for name, bucket := range map[string]*jetstream.KeyValue{"jobs": &s.jobs, "workers": &s.workers, "orders": &s.orders} {
		if *bucket, err = s.js.KeyValue(ctx, s.Prefix+"-"+name); err != nil {
			return err
		}
	}
	if s.queue, err = s.js.CreateOrUpdateStream(ctx, s.queueConfig()); err != nil {
		return err
	}
	if s.output, err = s.js.CreateOrUpdateStream(ctx, s.outputConfig()); err != nil {
		return err
	}
	return s.openConsumer(ctx)
}

// consumerName is what all workers pull from.
const consumerName = "workers"

func (s *Store) openConsumer(ctx context.Context) (err error) {
	s.consumer, err = s.queue.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: AckWait,
		MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 1 << 14,
	})
	return err
}

// bucket is a key-value bucket as nats.go lays it out, save that reads of a
// replicated one go to its leader: a follower may lag behind what was just
// written, and a job that has ended would run again for whoever asks there.
func (s *Store) bucket(name string, ttl time.Duration) jetstream.StreamConfig {
	bucket := s.Prefix + "-" + name
	return jetstream.StreamConfig{
		Name:                   "KV_" + bucket,
		Subjects:               []string{"$KV." + bucket + ".>"},
		MaxMsgsPerSubject:      1,
		MaxAge:                 ttl,
		Replicas:               s.Replicas,
		Discard:                jetstream.DiscardNew,
		DenyDelete:             true,
		AllowRollup:            true,
		AllowDirect:            s.Replicas == 1,
		AllowMsgTTL:            true,
		SubjectDeleteMarkerTTL: time.Minute,
		Duplicates:             min(2*time.Minute, cmp.Or(ttl, time.Hour)),
	}
}

func (s *Store) queueConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:       s.Prefix + "-queue",
		Subjects:   []string{s.queueSubject("*")},
		Retention:  jetstream.WorkQueuePolicy,
		Discard:    jetstream.DiscardNew,
		MaxMsgs:    s.MaxQueue,
		Replicas:   s.Replicas,
		Duplicates: 2 * time.Minute,
	}
}

func (s *Store) outputConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        s.Prefix + "-output",
		Subjects:    []string{s.Prefix + ".output.>"},
		Discard:     jetstream.DiscardOld,
		MaxBytes:    s.MaxOutputBytes,
		MaxAge:      s.Retention + s.MaxRunTime + time.Hour,
		Replicas:    s.Replicas,
		AllowDirect: s.Replicas == 1,
	}
}

func (s *Store) queueSubject(job string) string { return s.Prefix + ".queue." + job }

// Ready returns an error while the servers of JetStream cannot be reached.
func (s *Store) Ready() error {
	if s.nc.IsConnected() {
		return nil
	}
	return fmt.Errorf("%w: NATS is %s", ErrUnavailable, s.nc.Status())
}

// Queued returns how many jobs are pending or running.
func (s *Store) Queued(ctx context.Context) (uint64, error) {
	info, err := s.queue.Info(ctx)
	if err != nil {
		return 0, explain(err)
	}
	return info.State.Msgs, nil
}
