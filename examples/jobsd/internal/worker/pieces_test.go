package worker

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// stuff returns bytes that differ from place to place.
func stuff(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func TestPiecesAreARangeOfTheStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		whole := stuff(rng, 1+rng.IntN(400_000))
		var p pieces
		for rest := whole; len(rest) > 0; {
			n := min(1+rng.IntN(150_000), len(rest))
			p.add(rest[:n])
			rest = rest[n:]
			p.drop(p.start + int64(rng.IntN(120_000)) - 10_000)
			from := p.start + int64(rng.IntN(int(p.size())+1))
			limit := 1 + rng.IntN(200_000)
			got := p.copy(from, limit)
			if want := whole[from:min(from+int64(limit), p.end)]; !bytes.Equal(got, want) {
				t.Fatalf("%d bytes from %d on differ, of %d to %d", len(got), from, p.start, p.end)
			}
			held := 0
			for _, b := range p.blocks {
				held += len(b)
			}
			if int64(held) < p.size() || int64(held) >= p.size()+pieceSize {
				t.Fatalf("%d bytes are held for %d", held, p.size())
			}
		}
	}
}

// The parts of a stream are written, stored and overwritten in any order here.
func TestASpoolKeepsHeadAndTailWithinItsBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		whole := stuff(rng, rng.IntN(600_000))
		s := &spool{wake: make(chan struct{}, 1), headMax: int64(1 + rng.IntN(200_000)), tailMax: int64(1 + rng.IntN(200_000))}
		kept := store.NewBuffer(int(s.headMax), int(s.tailMax))
		tailEnd := int64(0)
		save := func() {
			for offset, data := s.nextHead(); len(data) > 0; offset, data = s.nextHead() {
				kept.Add(offset, data)
				s.storedHead(offset + int64(len(data)))
			}
			for offset, data := s.nextTail(tailEnd); len(data) > 0; offset, data = s.nextTail(tailEnd) {
				kept.Add(offset, data)
				tailEnd = offset + int64(len(data))
			}
		}
		for rest := whole; len(rest) > 0; {
			n := min(1+rng.IntN(150_000), len(rest))
			s.write(rest[:n])
			rest = rest[n:]
			if held := s.held(); held > s.headMax+s.tailMax {
				t.Fatalf("%d bytes are held, %d and %d are allowed", held, s.headMax, s.tailMax)
			}
			if rng.IntN(3) == 0 {
				save()
			}
		}
		save()
		if s.behind(tailEnd) || s.size() != int64(len(whole)) || kept.Size() != s.size() {
			t.Fatalf("%d bytes of %d were written, %d stored", s.size(), len(whole), kept.Size())
		}
		head := min(s.headMax, s.size())
		tail := min(s.tailMax, s.size()-head)
		if !bytes.Equal(kept.Head(), whole[:head]) || !bytes.Equal(kept.Tail(), whole[int64(len(whole))-tail:]) {
			t.Fatalf("of %d bytes %d and %d are kept, or others, want %d and %d", len(whole), len(kept.Head()), len(kept.Tail()), head, tail)
		}
	}
}

func TestAShortStreamIsWholeThoughPartOfItIsStored(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		headMax, tailMax, size int
		whole                  bool
	}{
		{"an empty one", 10, 10, 0, true},
		{"one in the head", 100, 100, 100, true},
		{"one in head and tail", 100, 100, 200, true},
		{"one that is longer than both", 100, 100, 201, false},
		{"the longest", 1 << 20, 1 << 20, store.MaxInline, true},
		{"one that is longer than a record takes", 1 << 20, 1 << 20, store.MaxInline + 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &spool{wake: make(chan struct{}, 1), headMax: int64(tc.headMax), tailMax: int64(tc.tailMax)}
			all := stuff(rand.New(rand.NewPCG(5, 6)), tc.size)
			for i := range all {
				s.write(all[i : i+1])
				if i == tc.size/3 {
					offset, data := s.nextHead()
					s.storedHead(offset + int64(len(data)))
				}
			}
			data, ok := s.whole()
			if ok != tc.whole || ok && !bytes.Equal(data, all) {
				t.Errorf("%d bytes of %d, %v", len(data), tc.size, ok)
			}
		})
	}
}
