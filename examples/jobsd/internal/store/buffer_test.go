package store_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

func TestABufferKeepsHeadAndTailWhateverThePieces(t *testing.T) {
	stream := make([]byte, 5_000)
	for i := range stream {
		stream[i] = byte('a' + i*7%26)
	}
	for range 2_000 {
		size := rand.IntN(len(stream))
		head, tail := rand.IntN(300), rand.IntN(300)
		b := store.NewBuffer(head, tail)
		for at := 0; at < size; {
			n := min(1+rand.IntN(400), size-at)
			b.Add(int64(at), stream[at:at+n])
			if rand.IntN(3) == 0 { // again, from somewhere before
				from := rand.IntN(at + 1)
				b.Add(int64(from), stream[from:at+n])
			}
			at += n
		}
		wantHead := stream[:min(head, size)]
		wantTail := stream[max(len(wantHead), size-tail):size]
		if string(b.Head()) != string(wantHead) || string(b.Tail()) != string(wantTail) || b.Size() != int64(size) ||
			b.Missing() != int64(size-len(wantHead)-len(wantTail)) {
			t.Fatalf("size %d, head %d, tail %d: %d, %d, %d missing", size, head, tail, len(b.Head()), len(b.Tail()), b.Missing())
		}
	}
}

func TestABufferWithAPieceMissing(t *testing.T) {
	for _, test := range []struct {
		name       string
		fill       func(b *store.Buffer)
		head, tail string
		missing    int64
	}{
		{"the first", func(b *store.Buffer) { b.Add(5, []byte("fgh")) }, "", "fgh", 5},
		{"one of the head", func(b *store.Buffer) { b.Add(0, []byte("ab")); b.Add(5, []byte("fgh")) }, "ab", "fgh", 3},
		{"one of the tail", func(b *store.Buffer) { b.Add(0, []byte("0123456789abc")); b.Add(20, []byte("xyz")) }, "0123456789", "xyz", 10},
		{"the last", func(b *store.Buffer) { b.Add(0, []byte("0123456789abc")); b.Grow(15) }, "0123456789", "", 5},
		{"all", func(b *store.Buffer) { b.Grow(7) }, "", "", 7},
		{"none", func(b *store.Buffer) { b.Add(0, []byte("abc")); b.Grow(3) }, "abc", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := store.NewBuffer(10, 10)
			test.fill(b)
			if string(b.Head()) != test.head || string(b.Tail()) != test.tail || b.Missing() != test.missing {
				t.Errorf("%q, %q, %d missing", b.Head(), b.Tail(), b.Missing())
			}
		})
	}
}

func TestABufferIsBounded(t *testing.T) {
	b := store.NewBuffer(1_000, 1_000)
	piece := []byte(strings.Repeat("x", 700))
	allocated := testing.AllocsPerRun(1, func() {
		for i := range 10_000 {
			b.Add(int64(i*len(piece)), piece)
		}
	})
	if len(b.Tail()) != 1_000 || allocated > 100 {
		t.Errorf("%d bytes of tail, %v allocations", len(b.Tail()), allocated)
	}
}
