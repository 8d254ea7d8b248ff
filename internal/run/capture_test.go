package run

import (
	"bytes"
	"math/rand/v2"
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
			c := capture{head: tc.head, tail: tc.tail}
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
		c := capture{head: rng.IntN(40), tail: rng.IntN(40)}
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

func TestCaptureExtendsTheHeadOnce(t *testing.T) {
	asked := 0
	c := capture{head: 4, tail: 2, extend: func(head []byte) int {
		asked++
		if string(head) != "0123" {
			t.Errorf("asked with %q", head)
		}
		return 8
	}}
	if _, err := c.ReadFrom(iotest.OneByteReader(strings.NewReader("0123456789abcdef"))); err != nil {
		t.Fatal(err)
	}
	got := c.output()
	want := Output{Head: []byte("01234567"), Tail: []byte("ef"), Missing: 6}
	if diff := cmp.Diff(want, got); diff != "" || asked != 1 {
		t.Errorf("asked %d times (-want +got):\n%s", asked, diff)
	}
}
