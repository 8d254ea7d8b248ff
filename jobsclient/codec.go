package jobsclient

import (
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that codec extends
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

const (
	largeAnswer = 1 << 20
	largeField  = 64 << 10
)

// codec is gRPC's protobuf codec, but reads a job with much output without
// first joining the received frames into one buffer: that saves a copy of the
// whole answer.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	return encoding.GetCodecV2("proto").Marshal(v)
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	if answer, ok := v.(*jobspb.JobResponse); ok && data.Len() >= largeAnswer {
		if err := unmarshalLarge(data, answer); err == nil {
			return nil
		}
		answer.Reset()
	}
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}

var errNotPlain = errors.New("not a plain job answer")

// unmarshalLarge reads a JobResponse whose job stands in one piece. Whatever
// else it meets is an error, and left to the ordinary codec.
func unmarshalLarge(data mem.BufferSlice, answer *jobspb.JobResponse) error {
	r := data.Reader()
	defer func() { _ = r.Close() }()
	number, kind, err := readTag(r)
	if err != nil || number != 1 || kind != protowire.BytesType {
		return errNotPlain
	}
	if n, err := binary.ReadUvarint(r); err != nil || n != uint64(r.Remaining()) {
		return errNotPlain
	}
	job := &jobspb.Job{}
	var rest []byte
	large := map[protowire.Number][]byte{}
	for r.Remaining() > 0 {
		if rest, err = readField(r, rest, large); err != nil {
			return err
		}
	}
	if err := proto.Unmarshal(rest, job); err != nil {
		return err
	}
	for number, value := range large {
		switch number {
		case 6:
			job.Stdin = value
		case 10:
			job.Stdout = value
		case 11:
			job.Stderr = value
		case 12:
			job.Error = value
		default:
			return errNotPlain
		}
	}
	answer.Job = job
	return nil
}

// readField reads one field: into large if it is long, else onto rest, encoded
// anew.
func readField(r *mem.Reader, rest []byte, large map[protowire.Number][]byte) ([]byte, error) {
	number, kind, err := readTag(r)
	if err != nil {
		return nil, err
	}
	value, err := binary.ReadUvarint(r)
	if err != nil || kind != protowire.VarintType && kind != protowire.BytesType {
		return nil, errNotPlain
	}
	if kind == protowire.VarintType {
		return protowire.AppendVarint(protowire.AppendTag(rest, number, kind), value), nil
	}
	if value > uint64(r.Remaining()) {
		return nil, errNotPlain
	}
	content := make([]byte, value)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, err
	}
	if len(content) >= largeField {
		large[number] = content
		return rest, nil
	}
	return protowire.AppendBytes(protowire.AppendTag(rest, number, kind), content), nil
}

func readTag(r *mem.Reader) (protowire.Number, protowire.Type, error) {
	tag, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, 0, err
	}
	number, kind := protowire.DecodeTag(tag)
	if number < protowire.MinValidNumber {
		return 0, 0, errNotPlain
	}
	return number, kind, nil
}
