//go:build unix

package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// collect returns a function for Command.Stdout or Stderr, and what it has seen.
func collect() (each func([]byte), seen *bytes.Buffer) {
	seen = &bytes.Buffer{}
	return func(b []byte) { seen.Write(b) }, seen
}

func TestPiecesAreTheWholeStreamWhateverIsKept(t *testing.T) {
	for _, tc := range []struct {
		name       string
		head, tail int
		script     string
		out, err   string
	}{
		{"no output", 0, 0, "exit 0", "", ""},
		{"nothing is kept", 0, 0, "printf abc; printf xyz >&2", "abc", "xyz"},
		{"some is kept", 1, 1, "printf abc; printf xyz >&2", "abc", "xyz"},
		{"all is kept", 100, 100, "printf abc; printf xyz >&2", "abc", "xyz"},
		{"more than a pipe holds", 10, 10, "printf '%0500000d' 1; printf '%0300000d' 2 >&2",
			strings.Repeat("0", 499_999) + "1", strings.Repeat("0", 299_999) + "2"},
		{"bytes that are no text", 0, 0, `printf '\377\000\376'`, "\xff\x00\xfe", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := sh(tc.script)
			c.Head, c.Tail = tc.head, tc.tail
			var stdout, stderr *bytes.Buffer
			c.Stdout, stdout = collect()
			c.Stderr, stderr = collect()
			res := mustRun(t, t.Context(), c)
			if stdout.String() != tc.out || stderr.String() != tc.err {
				t.Errorf("%d and %d bytes were seen, or others than were written", stdout.Len(), stderr.Len())
			}
			if res.Stdout.Size() != int64(len(tc.out)) || res.Stderr.Size() != int64(len(tc.err)) {
				t.Errorf("%d and %d bytes are counted", res.Stdout.Size(), res.Stderr.Size())
			}
		})
	}
}

func TestAPieceIsSeenWhileTheChildRuns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := sh("printf ready; exec sleep 300")
	c.Stdout = func([]byte) { cancel() }
	if res := mustRun(t, ctx, c); !res.Cancelled {
		t.Errorf("got %+v", res)
	}
}

func TestTheResultNamesTheProcess(t *testing.T) {
	res := mustRun(t, t.Context(), sh("echo $$"))
	if got := pidFrom(t, res.Stdout); got != res.PID {
		t.Errorf("the result names %d, the child was %d", res.PID, got)
	}
}

// The child that is given up writes on into the same pipe, which is still drained.
func TestNoPieceOfAChildThatWasGivenUpIsSeenLate(t *testing.T) {
	t.Parallel()
	c := sh("while :; do echo x; done")
	c.Timeout, c.Grace = 50*time.Millisecond, -1
	var seen atomic.Int64
	c.Stdout = func(b []byte) { seen.Add(int64(len(b))) }
	p, err := spawn(c)
	if err != nil {
		t.Fatal(err)
	}
	child := p.group
	p.group = group{process: &os.Process{Pid: 1 << 30}}
	res := &Result{}
	p.await(t.Context(), c, res)
	out := p.stdout.output()
	for counted := out.Size(); p.stdout.output().Size() == counted; { // until it has written more
		time.Sleep(time.Millisecond)
	}
	child.kill()
	<-p.stdout.drained
	if !res.GivenUp || seen.Load() != out.Size() {
		t.Errorf("given up: %v; %d bytes were seen, %d are counted", res.GivenUp, seen.Load(), out.Size())
	}
}

func BenchmarkPieces(b *testing.B) {
	piece := make([]byte, readSize)
	for _, each := range []func([]byte){nil, func([]byte) {}} {
		b.Run(fmt.Sprintf("seen=%v", each != nil), func(b *testing.B) {
			c := newCapture(readSize, readSize, nil)
			c.each = each
			b.SetBytes(readSize)
			for b.Loop() {
				c.keep(piece)
			}
		})
	}
}
