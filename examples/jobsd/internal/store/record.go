package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
)

// Statuses of a job.
const (
	Pending   = "pending"
	Running   = "running"
	Done      = "done"
	Failed    = "error"
	Cancelled = "cancelled"
	Orphaned  = "orphaned"
)

// Terminal tells whether a job of this status has ended.
func Terminal(status string) bool {
	switch status {
	case Done, Failed, Cancelled, Orphaned:
		return true
	}
	return false
}

func key(r *jobsdpb.Record) string { return r.GetAgent() + "." + r.GetId() }

// Submit stores a pending job and puts it into the queue. When it returns nil the
// job will run, whatever process dies; an error means that it will not, save
// ErrUnavailable, which may mean either. A retry inside it repeats nothing.
func (s *Store) Submit(ctx context.Context, r *jobsdpb.Record, stdin []byte) error {
	if err := s.room(ctx, proto.Size(r)+min(len(stdin), MaxInline)); err != nil {
		return err
	}
	r.Status, r.Created, r.StdinSize = Pending, time.Now().UnixNano(), int64(len(stdin))
	if len(stdin) <= MaxInline {
		r.Stdin = stdin
	} else if err := s.putStdin(ctx, r.GetId(), stdin); err != nil {
		return err
	}
	rev, err := s.put(ctx, r, 0)
	if err != nil {
		return err
	}
	err = s.enqueue(ctx, r, rev, r.GetId())
	if err == nil || errors.Is(err, ErrUnavailable) { // the job may be in the queue; if not, Keep puts it there
		return err
	}
	if withdrawn := s.withdraw(ctx, r); withdrawn != nil {
		s.Logger.Warn("a refused job could not be taken back and will run", jobField(r), errField(withdrawn))
	}
	return err
}

// withdraw takes back a record that is in no queue. It has not been changed yet, so
// nothing older could come back, and it needs no mark.
func (s *Store) withdraw(ctx context.Context, r *jobsdpb.Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return explain(s.records.Purge(ctx, jetstream.WithPurgeSubject("$KV."+s.Prefix+"-jobs."+key(r))))
}

// Get returns a job of an agent and its revision. An empty agent is any. The
// error is ErrNotFound or ErrUnavailable.
func (s *Store) Get(ctx context.Context, agent, id string) (*jobsdpb.Record, uint64, error) {
	if !validToken(id) || agent != "" && !validToken(agent) {
		return nil, 0, ErrNotFound
	}
	if agent == "" {
		agent = "*"
	}
	subject := "$KV." + s.Prefix + "-jobs." + agent + "." + id
	var msg *jetstream.RawStreamMsg
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		msg, err = s.records.GetLastMsgForSubject(ctx, subject)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	if gone(msg.Header) {
		return nil, 0, ErrNotFound
	}
	r, err := decode(msg.Data)
	return r, msg.Sequence, err
}

// gone tells whether a message of a bucket marks the end of its key.
func gone(h nats.Header) bool {
	return h.Get("KV-Operation") != "" || h.Get(jetstream.MarkerReasonHeader) != ""
}

// maxToken is how many bytes a name of an agent or an id of a job has at most. A
// server of NATS closes the connection at a subject that is too long for it.
const maxToken = 64

// validToken tells whether s may be a token of a subject.
func validToken(s string) bool {
	if len(s) > maxToken {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return s != ""
}

func decode(data []byte) (*jobsdpb.Record, error) {
	r := &jobsdpb.Record{}
	if err := proto.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("reading a job: %w", err)
	}
	return r, nil
}

// Update replaces the revision of a job, and returns the new one. Ended jobs get
// the retention as their time to live. The error is ErrConflict if rev is not the
// newest; whether a write whose answer was lost took place is looked up.
func (s *Store) Update(ctx context.Context, r *jobsdpb.Record, rev uint64) (uint64, error) {
	return s.put(ctx, r, rev)
}

func (s *Store) put(ctx context.Context, r *jobsdpb.Record, rev uint64) (uint64, error) {
	data, err := proto.Marshal(r)
	if err != nil {
		return 0, err
	}
	opts := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(rev)}
	if Terminal(r.GetStatus()) {
		opts = append(opts, jetstream.WithMsgTTL(max(s.Retention.Truncate(time.Second), time.Second)))
	}
	var seq uint64
	lost := false // the answer of an attempt before
	err = s.retry(ctx, func(ctx context.Context) error {
		ack, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: "$KV." + s.Prefix + "-jobs." + key(r), Data: data}, opts...)
		if err == nil {
			seq = ack.Sequence
			return nil
		}
		if transient(err) {
			lost = true
			return err
		}
		if rev > 0 && errors.Is(explain(err), ErrFull) {
			return fmt.Errorf("%w: %w", nats.ErrTimeout, err) // a job that exists must come to its end: wait for room
		}
		if !errors.Is(explain(err), ErrConflict) || !lost {
			return err
		}
		current, now, lookup := s.Get(ctx, r.GetAgent(), r.GetId())
		switch {
		case lookup != nil:
			return lookup
		case proto.Equal(current, r):
			seq = now
			return nil
		}
		return ErrConflict
	})
	return seq, err
}

// List calls each for all jobs of an agent, or of all if agent is "", in no
// particular order, until it returns false.
func (s *Store) List(ctx context.Context, agent string, each func(r *jobsdpb.Record, rev uint64) bool) error {
	filter := ">"
	if agent != "" {
		if !validToken(agent) {
			return nil
		}
		filter = agent + ".*"
	}
	return s.all(ctx, s.jobs, filter, func(entry jetstream.KeyValueEntry) (bool, error) {
		r, err := decode(entry.Value())
		if err != nil {
			return false, err
		}
		return each(r, entry.Revision()), nil
	})
}

// Changes calls each for every change of a job from now on, until the context
// ends. A record that left the bucket is nil, with its agent and id.
// A change may be skipped if a later one of the same job follows.
// begun, if not nil, is called once changes cannot be missed any more.
// It returns ErrUnavailable when the connection was lost and is there again;
// changes before a new call has begun are not told.
func (s *Store) Changes(ctx context.Context, begun func(), each func(agent, id string, r *jobsdpb.Record, rev uint64)) error {
	return s.hear(ctx, s.jobs, ">", jetstream.UpdatesOnly(), begun, func(entry jetstream.KeyValueEntry) {
		agent, id, _ := cutKey(entry.Key())
		if entry.Operation() != jetstream.KeyValuePut {
			each(agent, id, nil, entry.Revision())
			return
		}
		r, err := decode(entry.Value())
		if err != nil {
			s.Logger.Warn("a record of the bucket cannot be read", errField(err))
			return
		}
		each(agent, id, r, entry.Revision())
	})
}
