package text

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// The terminal library of the same makers as fantasy is the judge of where a
// sequence ends. It is not linked into programs: with what it imports it takes
// each of them tens of milliseconds to start.
func TestASequenceEndsWhereATerminalEndsIt(t *testing.T) {
	alphabet := []byte("\x1b[[[;;:?<=>0123456789 !/@AKmz~\x07\x00\nx\x7f\x80\x9b\x9c\xff\xc3\xa9")
	for range 200_000 {
		b := []byte{esc}
		for range rand.IntN(12) {
			b = append(b, alphabet[rand.IntN(len(alphabet))])
		}
		if len(b) > 1 && bytes.IndexByte([]byte("]PX^_"), b[1]) >= 0 {
			continue // which ends by rules of our own
		}
		if len(b) > 1 && b[1] >= ' ' && b[1] <= '/' {
			continue // where the library goes on behind the final byte if that is a [
		}
		_, _, want, _ := ansi.DecodeSequence(b, ansi.NormalState, nil)
		if got := sequence(b); got != max(want, 1) {
			t.Fatalf("%q: %d bytes, and the library takes %d", b, got, want)
		}
	}
}

func TestASequenceThatDoesNotEndIsText(t *testing.T) {
	for _, b := range [][]byte{
		append([]byte("\x1b["), bytes.Repeat([]byte("1;"), maxSequence)...),
		append([]byte("\x1b"), bytes.Repeat([]byte(" "), maxSequence)...),
	} {
		if n := sequence(b); n != 1 {
			t.Errorf("%d bytes of %q are taken for a sequence", n, b[:10])
		}
	}
}
