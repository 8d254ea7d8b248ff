//go:build unix

package worker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

func TestOutputIsKeptAsItWasWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, store.Config{HeadBytes: 300_000, TailBytes: 200_000})
	b.run(Config{})
	for _, tc := range []struct {
		name string
		size int
	}{
		{"none", 0},
		{"a byte", 1},
		{"as much as a record holds", store.MaxInline},
		{"a byte more than a record holds", store.MaxInline + 1},
		{"more than a chunk", store.MaxChunk + 1},
		{"the head", 300_000},
		{"head and tail", 500_000},
		{"a byte more than is kept", 500_001},
		{"much more than is kept", 2_000_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := binary(tc.size)
			file := filepath.Join(b.dir, fmt.Sprint(tc.size))
			if err := os.WriteFile(file, all, 0o600); err != nil {
				t.Fatal(err)
			}
			r := b.end(b.submit("sh", `cat "$0"; cat "$0" >&2`, file))
			if r.GetStatus() != store.Done || r.GetError() != "" {
				t.Fatalf("the job ended as %v, %q", r.GetStatus(), r.GetError())
			}
			head := min(tc.size, 300_000)
			tail := min(tc.size-head, 200_000)
			for _, name := range []store.Stream{store.Stdout, store.Stderr} {
				got := b.output(r, name)
				if got.Size() != int64(tc.size) || !bytes.Equal(got.Head(), all[:head]) || !bytes.Equal(got.Tail(), all[tc.size-tail:]) {
					t.Errorf("of std%s %d and %d bytes are kept of %d, or others; want %d and %d",
						name, len(got.Head()), len(got.Tail()), got.Size(), head, tail)
				}
			}
			o := r.GetStdout()
			if o.GetHead()+o.GetTail() != int64(head+tail) || (len(o.GetInline()) == tc.size) != (tc.size <= store.MaxInline) {
				t.Errorf("the record says %d + %d of %d, and holds %d", o.GetHead(), o.GetTail(), o.GetSize(), len(o.GetInline()))
			}
		})
	}
}

// binary returns bytes that are no text.
func binary(size int) []byte {
	var all []byte
	for i := 0; len(all) < size; i++ {
		all = fmt.Appendf(all, "\xff\x00%d\r\n", i)
	}
	return all[:size]
}

func TestOutputIsSeenWhileAJobRuns(t *testing.T) {
	b := newBench(t, store.Config{})
	b.run(Config{})
	open := b.gate("gate")
	size := 2*store.MaxChunk + 7
	id := b.submit("sh", `echo hello >&2; read x <gate; head -c "$0" /dev/zero; read x <gate; echo end`, itoa(size))
	ctx, cancel := context.WithCancel(b.ctx)
	stdout, stderr := b.store.NewBuffer(), b.store.NewBuffer()
	ready, seen := make(chan string, 10), make(chan error, 1)
	go func() {
		seen <- b.store.Follow(ctx, id, func(stream store.Stream, offset int64, data []byte) {
			if stream == store.Stderr {
				stderr.Add(offset, data)
				ready <- "stderr"
				return
			}
			if stdout.Add(offset, data); stdout.Size() == int64(size) {
				ready <- "stdout"
			}
		})
	}()
	for _, want := range []string{"stderr", "stdout"} {
		select {
		case got := <-ready:
			if got != want {
				t.Errorf("%s came, want %s", got, want)
			}
		case <-b.ctx.Done():
			t.Fatalf("%s is not seen", want)
		}
		if want == "stderr" {
			r := b.running(id)
			if got := b.output(r, store.Stderr).Head(); string(got) != "hello\n" {
				t.Errorf("stderr of the running job is %q", got)
			}
		}
		open()()
	}
	r := b.end(id)
	cancel()
	if err := <-seen; err != nil {
		t.Error(err)
	}
	if string(stderr.Head()) != "hello\n" || stdout.Size() < int64(size) { // "end" may have been seen too
		t.Errorf("%q and %d bytes were seen", stderr.Head(), stdout.Size())
	}
	if got := b.stdout(r); got != strings.Repeat("\x00", size)+"end\n" {
		t.Errorf("%d bytes are kept", len(got))
	}
}

func TestChunksOfAJobWhoseRecordHoldsAllAreDropped(t *testing.T) {
	b := newBench(t, store.Config{})
	b.run(Config{})
	open := b.gate("gate")
	id := b.submit("sh", "echo first; read x <gate; echo last")
	release := open()
	b.eventually("the output of a running job", func() bool { return b.stdout(b.running(id)) == "first\n" })
	release()
	r := b.end(id)
	if got := string(r.GetStdout().GetInline()); got != "first\nlast\n" {
		t.Errorf("the record holds %q", got)
	}
	r.Stdout.Inline = nil // so that Output looks for chunks
	b.eventually("the chunks to go", func() bool { return len(b.output(r, store.Stdout).Head()) == 0 })
}

func TestAQuickJobStoresNoChunk(t *testing.T) {
	b := newBench(t, store.Config{})
	o := newOutput(b.store, zaptest.NewLogger(t), "job_quick")
	stop := o.flush(b.ctx)
	o.stdout.write([]byte("done"))
	stop()
	if out, _ := o.finish(b.ctx, true); o.chunks != 0 || string(out.GetInline()) != "done" {
		t.Errorf("%d chunks, %v", o.chunks, out)
	}
}

func TestReplacedChunksOfTheTailAreDropped(t *testing.T) {
	t.Parallel()
	b := newBench(t, store.Config{HeadBytes: 1000, TailBytes: 300_000})
	o := newOutput(b.store, zaptest.NewLogger(t), "job_tail")
	s := o.stdout
	all := binary(3_000_000)
	for _, end := range []int{500, 1000, 1001, 200_000, 310_000, 320_000, 1_500_000, 1_600_000, 3_000_000} {
		s.write(all[s.size():end])
		s.flush(b.ctx, true)
		kept := b.store.NewBuffer()
		if out := s.finish(b.ctx, false); out.GetHead() != int64(min(end, 1000)) || out.GetTail() != int64(max(min(end-1000, 300_000), 0)) {
			t.Errorf("at %d %d and %d bytes are kept", end, out.GetHead(), out.GetTail())
		}
		stored := b.followed("job_tail", int64(end), kept)
		if !bytes.HasSuffix(all[:end], kept.Tail()) || len(kept.Tail()) != max(min(end-1000, 300_000), 0) {
			t.Errorf("at %d %d bytes of the tail are stored, or others", end, len(kept.Tail()))
		}
		if limit := 1000 + 300_000 + store.MaxChunk; stored > limit {
			t.Errorf("at %d %d bytes are stored, more than %d", end, stored, limit)
		}
	}
}

// followed adds what is stored of a stream of so many bytes, and returns how much
// that is.
func (b *bench) followed(id string, size int64, kept *store.Buffer) (stored int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, soon)
	defer cancel()
	err := b.store.Follow(ctx, id, func(_ store.Stream, offset int64, data []byte) {
		stored += len(data)
		if kept.Add(offset, data); kept.Size() == size {
			cancel()
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	if kept.Size() != size {
		b.Fatalf("the stream has %d bytes, want %d", kept.Size(), size)
	}
	return stored
}

// A server that takes no message as long as a chunk is one that refuses for good.
func TestOutputThatCannotBeStoredIsAnnounced(t *testing.T) {
	b := benchOn(t, newJetStream(t, 128<<10), store.Config{})
	b.run(Config{})
	r := b.end(b.submit("sh", "echo short >&2; head -c 300000 /dev/zero; exit 3"))
	if want := "300000 bytes of stdout are lost: they could not be stored"; r.GetStatus() != store.Done || r.GetExitCode() != 3 || r.GetError() != want {
		t.Errorf("the job ended as %v with %q", r.GetStatus(), r.GetError())
	}
	if o := r.GetStdout(); o.GetSize() != 300_000 || o.GetHead() != 0 || o.GetTail() != 0 {
		t.Errorf("the record says %v", o)
	}
	if got := string(r.GetStderr().GetInline()); got != "short\n" {
		t.Errorf("stderr is %q", got)
	}
}

func TestAFullStoreIsNamed(t *testing.T) {
	o := &output{}
	s := &stream{out: o, name: store.Stderr, failed: fmt.Errorf("no: %w", store.ErrFull)}
	s.headMax, s.tailMax, s.kept = 100, 100, 50
	s.write(make([]byte, 500))
	if got, want := s.lost(), "150 bytes of stderr are lost: the store of output is full"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatCannotBeStoredIsTriedAgain(t *testing.T) {
	b := newBench(t, store.Config{HeadBytes: 100_000, TailBytes: 100_000})
	o := newOutput(b.store, zaptest.NewLogger(t), "job_again")
	s := o.stdout
	all := binary(150_000)
	s.write(all)
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	if !s.flush(ended, true) || s.failed == nil {
		t.Errorf("all was stored: %v", s.failed)
	}
	if !s.flush(b.ctx, false) || o.chunks != 0 {
		t.Error("it was tried again at once")
	}
	s.retryAt, s.tailAt = time.Time{}, time.Time{}
	if s.flush(b.ctx, false) || s.failed != nil {
		t.Errorf("something is left: %v", s.failed)
	}
	out := s.finish(b.ctx, true)
	if out.GetHead() != 100_000 || out.GetTail() != 50_000 || s.lost() != "" {
		t.Errorf("got %v, %q", out, s.lost())
	}
}
