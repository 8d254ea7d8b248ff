package jobsclient

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

func largeJob() *jobspb.JobResponse {
	return &jobspb.JobResponse{Job: &jobspb.Job{
		Id: "job_1", AgentId: "a", Bin: "b", Args: []string{"x", ""}, Stdin: bytes.Repeat([]byte("i"), largeField), Status: "done", ExitCode: 3,
		Stdout: bytes.Repeat([]byte("o"), largeAnswer), Stderr: bytes.Repeat([]byte("e"), 10), Error: bytes.Repeat([]byte("r"), largeField+1),
		CreatedAt: 1, StartedAt: 2, FinishedAt: 3, Labels: map[string]string{"k": "v", "": ""},
	}}
}

func frames(b []byte, size int) mem.BufferSlice {
	var s mem.BufferSlice
	for len(b) > 0 {
		n := min(size, len(b))
		s = append(s, mem.SliceBuffer(b[:n]))
		b = b[n:]
	}
	return s
}

func TestALargeAnswerIsReadAsTheOrdinaryCodecReadsIt(t *testing.T) {
	plain := marshal(t, largeJob())
	unknown := protowire.AppendFixed64(protowire.AppendTag(nil, 99, protowire.Fixed64Type), 7)
	long := protowire.AppendBytes(protowire.AppendTag(nil, 4, protowire.BytesType), bytes.Repeat([]byte("b"), largeField))
	tests := map[string][]byte{
		"as the daemon sends it":               plain,
		"with a field that is not known":       append(bytes.Clone(plain), unknown...),
		"in two pieces, which protobuf merges": append(bytes.Clone(plain), marshal(t, &jobspb.JobResponse{Job: &jobspb.Job{Status: "running"}})...),
		"with a field of another type inside":  inJob(append(job(t), unknown...)),
		"with a long name":                     inJob(append(job(t), long...)),
	}
	for name, wire := range tests {
		for _, size := range []int{1 << 14, 4097, len(wire)} {
			t.Run(name, func(t *testing.T) {
				var want, got jobspb.JobResponse
				if err := proto.Unmarshal(wire, &want); err != nil {
					t.Fatal(err)
				}
				if err := (codec{}).Unmarshal(frames(wire, size), &got); err != nil {
					t.Fatal(err)
				}
				if !proto.Equal(&want, &got) {
					t.Error("they differ")
				}
			})
		}
	}
}

func TestALargeAnswerThatIsBrokenIsAnError(t *testing.T) {
	wire := marshal(t, largeJob())
	for _, cut := range []int{1, 100, len(wire) / 2} {
		if err := (codec{}).Unmarshal(frames(wire[:len(wire)-cut], 1<<14), &jobspb.JobResponse{}); err == nil {
			t.Errorf("%d bytes short: no error", cut)
		}
	}
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func job(t testing.TB) []byte { return marshal(t, largeJob().GetJob()) }

func inJob(b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), b)
}

// FuzzLarge shows that whatever the quick reader accepts, it reads as the
// ordinary codec does.
func FuzzLarge(f *testing.F) {
	small := &jobspb.JobResponse{Job: &jobspb.Job{Id: "job_1", Stdout: []byte("out"), Labels: map[string]string{"k": "v"}, ExitCode: 1}}
	f.Add(marshal(f, small))
	f.Add(append(marshal(f, small), marshal(f, small)...))
	f.Add([]byte{0x0a, 0x02, 0x52, 0x00})
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, wire []byte) {
		var want, got jobspb.JobResponse
		if err := unmarshalLarge(frames(wire, 7), &got); err != nil {
			return
		}
		if err := proto.Unmarshal(wire, &want); err != nil {
			t.Fatalf("the ordinary codec refuses it: %v", err)
		}
		// Fields that nobody reads keep their value, but not a longer encoding
		// of it than need be.
		for _, answer := range []*jobspb.JobResponse{&want, &got} {
			if answer.GetJob() != nil {
				answer.GetJob().ProtoReflect().SetUnknown(nil)
			}
		}
		if !proto.Equal(&want, &got) {
			t.Errorf("got %v, want %v", &got, &want)
		}
	})
}
