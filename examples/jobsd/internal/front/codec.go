package front

import (
	"errors"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// codecs are connect's own, save that they speak of requests and not of the types
// of this program.
func codecs() []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCodec(binaryCodec{}), connect.WithCodec(jsonCodec{"json"}), connect.WithCodec(jsonCodec{"json; charset=utf-8"}),
	}
}

var errNoMessage = errors.New("no message of the protocol")

type binaryCodec struct{}

func (binaryCodec) Name() string { return "proto" }

func (binaryCodec) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, errNoMessage
	}
	return proto.Marshal(m)
}

// MarshalAppend is what connect asks for to use its buffers again.
func (binaryCodec) MarshalAppend(to []byte, v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, errNoMessage
	}
	return proto.MarshalOptions{}.MarshalAppend(to, m)
}

func (binaryCodec) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return errNoMessage
	}
	return plain(proto.Unmarshal(data, m))
}

type jsonCodec struct{ name string }

func (c jsonCodec) Name() string { return c.name }

func (jsonCodec) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, errNoMessage
	}
	return protojson.Marshal(m)
}

// MarshalAppend is what connect asks for to use its buffers again.
func (jsonCodec) MarshalAppend(to []byte, v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, errNoMessage
	}
	return protojson.MarshalOptions{}.MarshalAppend(to, m)
}

func (jsonCodec) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	switch {
	case !ok:
		return errNoMessage
	case len(data) == 0:
		return errors.New("it is empty, and not a JSON object")
	}
	return plain(protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m))
}

// plain takes out of an error what names the library.
func plain(err error) error {
	if err == nil {
		return nil
	}
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ") // which the library puts in at random
	return errors.New(strings.TrimPrefix(text, "proto: "))
}
