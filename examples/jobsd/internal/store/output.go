package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
)

// Stream is an output stream of a job.
type Stream string

// The streams.
const (
	Stdout Stream = "out"
	Stderr Stream = "err"

	stdin Stream = "in"
)

// Region is the part of a stream that a chunk belongs to.
type Region string

// The regions. Chunks of the tail are dropped when later ones replace them.
const (
	Head Region = "head"
	Tail Region = "tail"
)

func (s *Store) outputSubject(job string, stream Stream, region Region) string {
	return s.Prefix + ".output." + job + "." + string(stream) + "." + string(region)
}

func (s *Store) putStdin(ctx context.Context, job string, data []byte) error {
	for offset := 0; offset < len(data); offset += MaxChunk {
		end := min(offset+MaxChunk, len(data))
		if _, err := s.PutChunk(ctx, job, stdin, Head, int64(offset), data[offset:end]); err != nil {
			return err
		}
	}
	return nil
}

// PutChunk stores a piece of at most MaxChunk bytes and returns its place in
// JetStream's stream, for DropTail.
func (s *Store) PutChunk(ctx context.Context, job string, stream Stream, region Region, offset int64, data []byte) (uint64, error) {
	msg, err := proto.Marshal(&jobsdpb.Chunk{Offset: offset, Data: data})
	if err != nil {
		return 0, err
	}
	var seq uint64
	err = s.retry(ctx, func(ctx context.Context) error {
		ack, err := s.js.Publish(ctx, s.outputSubject(job, stream, region), msg)
		if err == nil {
			seq = ack.Sequence
		}
		return err
	})
	return seq, err
}

// DropTail drops the chunks of a job's tail whose place is before seq.
func (s *Store) DropTail(ctx context.Context, job string, stream Stream, seq uint64) error {
	return explain(s.output.Purge(ctx, jetstream.WithPurgeSubject(s.outputSubject(job, stream, Tail)), jetstream.WithPurgeSequence(seq)))
}

// DropOutput drops all chunks of a job: of one whose record holds all.
func (s *Store) DropOutput(ctx context.Context, job string) error {
	return explain(s.output.Purge(ctx, jetstream.WithPurgeSubject(s.Prefix+".output."+job+".*.*")))
}

// Stdin returns the standard input of a job.
func (s *Store) Stdin(ctx context.Context, r *jobsdpb.Record) ([]byte, error) {
	if int64(len(r.GetStdin())) == r.GetStdinSize() {
		return r.GetStdin(), nil
	}
	b := NewBuffer(int(r.GetStdinSize()), 0)
	if err := s.read(ctx, r.GetId(), stdin, Head, b); err != nil {
		return nil, err
	}
	if b.Size() != r.GetStdinSize() || b.Missing() > 0 {
		return nil, fmt.Errorf("%d of the %d bytes of stdin are not stored any more: the store of output is full", r.GetStdinSize()-b.Size()+b.Missing(), r.GetStdinSize())
	}
	return b.head, nil
}

// Output returns what is kept of a job's stream: of an ended one all that its
// record promises, of a running one what is stored so far.
func (s *Store) Output(ctx context.Context, r *jobsdpb.Record, stream Stream) (*Buffer, error) {
	b := s.NewBuffer()
	end := r.GetStdout()
	if stream == Stderr {
		end = r.GetStderr()
	}
	if r.GetStatus() == Pending {
		return b, nil
	}
	if Terminal(r.GetStatus()) && end != nil && int64(len(end.GetInline())) == end.GetSize() {
		b.Add(0, end.GetInline())
		return b, nil
	}
	for _, region := range []Region{Head, Tail} {
		if err := s.read(ctx, r.GetId(), stream, region, b); err != nil {
			return nil, err
		}
	}
	if end != nil {
		b.Grow(end.GetSize())
	}
	return b, nil
}

// NewBuffer returns a buffer with the store's bounds.
func (s *Store) NewBuffer() *Buffer { return NewBuffer(s.HeadBytes, s.TailBytes) }

func (s *Store) read(ctx context.Context, job string, stream Stream, region Region, b *Buffer) error {
	subject := s.outputSubject(job, stream, region)
	for seq := uint64(1); ; {
		var msg *jetstream.RawStreamMsg
		err := s.retry(ctx, func(ctx context.Context) (err error) {
			msg, err = s.output.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subject))
			return err
		})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		chunk := &jobsdpb.Chunk{}
		if err := proto.Unmarshal(msg.Data, chunk); err != nil {
			return fmt.Errorf("reading output: %w", err)
		}
		b.Add(chunk.GetOffset(), chunk.GetData())
		seq = msg.Sequence + 1
	}
}

// followerTTL is how long JetStream keeps the consumer of a Follow that has ended.
const followerTTL = 30 * time.Second

// Follow calls each for every stored piece of a job's output, from the first on
// and as they are stored, until the context ends. Pieces may come twice.
func (s *Store) Follow(ctx context.Context, job string, each func(stream Stream, offset int64, data []byte)) error {
	var filters []string
	for _, stream := range []Stream{Stdout, Stderr} {
		filters = append(filters, s.outputSubject(job, stream, Head), s.outputSubject(job, stream, Tail))
	}
	consumer, err := s.output.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: filters, InactiveThreshold: followerTTL})
	if err != nil {
		return explain(err)
	}
	prefix := s.Prefix + ".output." + job + "."
	consuming, err := consumer.Consume(func(msg jetstream.Msg) {
		chunk := &jobsdpb.Chunk{}
		if err := proto.Unmarshal(msg.Data(), chunk); err != nil {
			return // Output reports it
		}
		stream := Stdout
		if len(msg.Subject()) > len(prefix) && msg.Subject()[len(prefix):len(prefix)+3] == string(Stderr) {
			stream = Stderr
		}
		each(stream, chunk.GetOffset(), chunk.GetData())
	})
	if err != nil {
		return explain(err)
	}
	<-ctx.Done()
	consuming.Stop()
	<-consuming.Closed()
	return nil
}
