package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

var anyGapLine = regexp.MustCompile(gapLine.String()[1:])

func TestWhatIsNewInGrowingOutput(t *testing.T) {
	gap := store.Gap
	for _, tc := range []struct {
		name         string
		states, want []string
	}{
		{"all of the first state", []string{"a\n"}, []string{"a\n"}},
		{"nothing where nothing was added", []string{"", "a", "a"}, []string{"", "a", ""}},
		{"what was added", []string{"a", "ab", "abc\n"}, []string{"a", "b", "c\n"}},
		{"a first state with a gap", []string{"a" + gap(3) + "b"}, []string{"a" + gap(3) + "b"}},
		{"what a gap came in front of", []string{"abcd", "ab" + gap(1) + "de"}, []string{"abcd", "e"}},
		{"what was added behind a gap that grew", []string{"ab" + gap(1) + "de", "ab" + gap(3) + "fgh"}, []string{"ab" + gap(1) + "de", "fgh"}},
		{"a gap that grew by more than was seen", []string{"ab" + gap(1) + "de", "ab" + gap(10) + "xy"}, []string{"ab" + gap(1) + "de", gap(7) + "xy"}},
		{"nothing of output that a daemon lost", []string{"abc", "ab", "abcd"}, []string{"abc", "", "d"}},
		{"all of output that is another one", []string{"abc", "xyz"}, []string{"abc", "\n[the output so far is no longer what was shown; it follows]\nxyz"}},
		{"a gap behind a line like one", []string{"\n[5 bytes are not kept here]\nabc", "\n[5 bytes are not kept here]" + gap(1) + "abcd"}, []string{"\n[5 bytes are not kept here]\nabc", "d"}},
		{"a gap line of the program's own", []string{gap(5) + "a", gap(5) + "ab", gap(5) + gap(1) + "cd"}, []string{gap(5) + "a", "b", "d"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var g growing
			for i, state := range tc.states {
				if got := g.add(state); got != tc.want[i] {
					t.Errorf("state %d, %q: got %q, want %q", i+1, state, got, tc.want[i])
				}
			}
		})
	}
}

// However a stream is cut into states, what is printed is the stream, with gap
// lines for what was never to be seen.
func FuzzGrowing(f *testing.F) {
	f.Add("hello world, this is a stream\nof lines\n", []byte{3, 1, 9, 2}, uint8(4), uint8(5))
	f.Add("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", []byte{1, 1, 1, 1, 20}, uint8(1), uint8(2))
	f.Add("\n[1 bytes are not kept here]\n[2 bytes are not kept here]\n\n\n", []byte{7, 30, 2}, uint8(3), uint8(9))
	f.Fuzz(func(t *testing.T, stream string, cuts []byte, head, tail uint8) {
		for i := range len(stream) {
			if stream[i] >= 0x80 {
				t.Skip("replacements make the count inexact")
			}
		}
		for strings.Contains(stream, "are not kept") {
			stream = strings.ReplaceAll(stream, "are not kept", "are")
		}
		b := store.NewBuffer(int(head)+1, int(tail)+1)
		var g growing
		var printed strings.Builder
		at := 0
		for _, n := range append(cuts, 255) {
			piece := stream[at:min(len(stream), at+int(n))]
			b.Add(int64(at), []byte(piece))
			at += len(piece)
			text := string(b.Head()) + string(b.Tail())
			if b.Missing() > 0 {
				text = string(b.Head()) + store.Gap(b.Missing()) + string(b.Tail())
			}
			printed.WriteString(g.add(text))
		}
		checkPrinted(t, printed.String(), stream[:at])
	})
}

// checkPrinted fails the test if printed is not the stream, with a line in place
// of each part that is left out.
func checkPrinted(t *testing.T, printed, stream string) {
	t.Helper()
	rest, behind := stream, printed
	for {
		found := anyGapLine.FindStringIndex(behind)
		if found == nil {
			break
		}
		before := behind[:found[0]]
		if !strings.HasPrefix(rest, before) {
			t.Fatalf("printed %q of %q", printed, stream)
		}
		missing := written(behind[found[0]:found[1]], 0)
		if missing > len(rest)-len(before) {
			t.Fatalf("printed %q of %q: too much is missing", printed, stream)
		}
		rest, behind = rest[len(before)+missing:], behind[found[1]:]
	}
	if behind != rest {
		t.Fatalf("printed %q of %q", printed, stream)
	}
}
