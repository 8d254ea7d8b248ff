package run

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestCaptureKeepsHeadAndTail(t *testing.T) {
	for _, tc := range []struct {
		name       string
		head, tail int
		writes     []string
		want       Output
	}{
		{"nothing", 4, 4, nil, Output{}},
		{"less than the head", 4, 4, []string{"ab"}, Output{Head: []byte("ab")}},
		{"exactly head and tail", 2, 2, []string{"ab", "cd"}, Output{Head: []byte("ab"), Tail: []byte("cd")}},
		{"one byte over", 2, 2, []string{"abcde"}, Output{Head: []byte("ab"), Tail: []byte("de"), Missing: 1}},
		{"the ring goes round", 2, 3, []string{"ab", "1", "234", "56", "7"}, Output{Head: []byte("ab"), Tail: []byte("567"), Missing: 4}},
		{"one write larger than all", 1, 2, []string{"a", "bc", "0123456789"}, Output{Head: []byte("a"), Tail: []byte("89"), Missing: 10}},
		{"no tail", 2, 0, []string{"abcde"}, Output{Head: []byte("ab"), Missing: 3}},
		{"no head", 0, 2, []string{"abcde"}, Output{Tail: []byte("de"), Missing: 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCapture(tc.head, tc.tail, nil)
			for _, w := range tc.writes {
				if _, err := c.Write([]byte(w)); err != nil {
					t.Fatal(err)
				}
			}
			got := c.output()
			if string(got.Head) != string(tc.want.Head) || string(got.Tail) != string(tc.want.Tail) || got.Missing != tc.want.Missing {
				t.Errorf("got %q %q %d, want %q %q %d", got.Head, got.Tail, got.Missing, tc.want.Head, tc.want.Tail, tc.want.Missing)
			}
		})
	}
}

func TestCaptureAgreesWithTheWholeStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		whole := make([]byte, rng.IntN(300))
		for i := range whole {
			whole[i] = byte('a' + rng.IntN(26))
		}
		c := newCapture(rng.IntN(40), rng.IntN(40), nil)
		head, tail := c.head, c.tail
		for rest := whole; len(rest) > 0; {
			n := 1 + rng.IntN(len(rest))
			_, _ = c.Write(rest[:n])
			rest = rest[n:]
		}
		got := c.output()
		if got.Size() != int64(len(whole)) {
			t.Fatalf("size %d of %d bytes", got.Size(), len(whole))
		}
		if !bytes.Equal(got.Head, whole[:min(head, len(whole))]) {
			t.Fatalf("head of %d: %q of %q", head, got.Head, whole)
		}
		if want := whole[max(min(head, len(whole)), len(whole)-tail):]; !bytes.Equal(got.Tail, want) {
			t.Fatalf("head %d, tail %d: tail %q of %q, want %q", head, tail, got.Tail, whole, want)
		}
	}
}

// A reader that does not run before it is stopped is what a busy machine makes
// of one. The other end of the pipe stays open.
func TestAStoppedCaptureKeepsWhatIsInThePipe(t *testing.T) {
	for _, order := range []string{"before it reads", "while it waits"} {
		t.Run(order, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = r.Close(), w.Close() }()
			c := newCapture(1<<20, 0, nil)
			text := strings.Repeat("x", 60_000)
			if _, err := w.WriteString(text); err != nil {
				t.Fatal(err)
			}
			if order == "before it reads" {
				c.stop()
			}
			go c.ReadFrom(r) //nolint:errcheck // what it kept is checked
			if order == "while it waits" {
				for len(c.output().Head) < len(text) {
					runtime.Gosched()
				}
				c.stop()
			}
			<-c.drained
			if got := c.output(); string(got.Head) != text {
				t.Errorf("%d bytes of %d are kept", got.Size(), len(text))
			}
		})
	}
}

func TestCaptureExtendsTheHeadOnce(t *testing.T) {
	asked := 0
	c := newCapture(4, 2, func(head []byte) int {
		asked++
		if string(head) != "0123" {
			t.Errorf("asked with %q", head)
		}
		return 8
	})
	if _, err := c.ReadFrom(iotest.OneByteReader(strings.NewReader("0123456789abcdef"))); err != nil {
		t.Fatal(err)
	}
	got := c.output()
	want := Output{Head: []byte("01234567"), Tail: []byte("ef"), Missing: 6}
	if diff := cmp.Diff(want, got); diff != "" || asked != 1 {
		t.Errorf("asked %d times (-want +got):\n%s", asked, diff)
	}
}
