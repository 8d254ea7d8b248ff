package front_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

func TestText(t *testing.T) {
	gap := func(n int) string { return fmt.Sprintf("\n[%d bytes are not kept here]\n", n) }
	tests := []struct {
		name       string
		in         string
		head, tail int
		open       bool
		want       string
	}{
		{"nothing", "", 4, 4, false, ""},
		{"text", "a€b", 4, 4, false, "a€b"},
		{"a character over the border of head and tail", "ab€c", 4, 4, false, "ab€c"},
		{"invalid bytes", "a\xff\xfeb", 4, 4, false, "a\uFFFDb"},
		{"half a character at the end", "a\xe2\x82", 4, 4, false, "a\uFFFD"},
		{"half a character so far", "a\xe2\x82", 4, 4, true, "a"},
		{"what can be no character so far", "a\xe2\xff", 4, 4, true, "a\uFFFD"},
		{"a gap", "abcdefghijkl", 4, 4, false, "abcd" + gap(4) + "ijkl"},
		{"a gap at half a character on both sides", "abc€defg€ij", 4, 4, false, "abc" + gap(10) + "ij"},
		{"a gap and half a character so far", "abcdefghij\xe2\x82", 4, 4, true, "abcd" + gap(4) + "ij"},
		{"replacements that are longer than what they replace", "\xffa\xffb\xffc\xffd", 4, 4, false, "\uFFFDa" + gap(4) + "\uFFFDd"},
		{"replacements before a gap", "\xffa\xffb1234\xffc\xffd", 4, 4, false, "\uFFFDa" + gap(8) + "\uFFFDd"},
		{"no tail", "abcdef", 4, 0, false, "abcd" + gap(2)},
		{"no head", "abcdef", 0, 4, false, gap(2) + "cdef"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := store.NewBuffer(test.head, test.tail)
			b.Add(0, []byte(test.in))
			if got := front.Text(b, test.head, test.tail, test.open); got != test.want {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
		})
	}
}

// Whatever a process writes, and in whatever pieces it comes, the text is valid
// UTF-8 and bounded, tells how much is missing, and has all of what is short.
func FuzzText(f *testing.F) {
	f.Add([]byte("a€b\xff\xfe"), uint8(4), uint8(4), uint8(3), true)
	f.Add([]byte("\xe2\x82"), uint8(1), uint8(0), uint8(1), false)
	f.Add([]byte("\xff1\xff2\xff3\xff4\xff5\xff6"), uint8(3), uint8(5), uint8(2), false)
	f.Add([]byte(strings.Repeat("€", 30)), uint8(10), uint8(11), uint8(7), true)
	f.Fuzz(func(t *testing.T, in []byte, head, tail, piece uint8, open bool) {
		b := store.NewBuffer(int(head), int(tail))
		for at := 0; at < len(in); at += int(piece) + 1 {
			b.Add(int64(at), in[at:min(len(in), at+int(piece)+1)])
		}
		got := front.Text(b, int(head), int(tail), open)
		whole := strings.ToValidUTF8(string(in), "\uFFFD")
		gap := len(store.Gap(int64(len(in))))
		switch {
		case !utf8.ValidString(got):
			t.Errorf("%q is not valid", got)
		case len(got) > int(head)+int(tail)+gap:
			t.Errorf("%d bytes within bounds of %d and %d", len(got), head, tail)
		case !open && len(in) <= int(head)+int(tail) && len(whole) <= int(head)+int(tail) && got != whole:
			t.Errorf("got %q, want %q", got, whole)
		case open && !strings.Contains(got, "are not kept here") && !strings.HasPrefix(whole, got):
			t.Errorf("%q does not begin with %q", whole, got)
		case len(in) > int(head)+int(tail)+3 && !strings.Contains(got, "are not kept here"):
			t.Errorf("nothing of %d bytes is said to be missing: %q", len(in), got)
		}
		if part := front.Part(in); !utf8.ValidString(part) || len(part) > front.MaxExcerpt+100 {
			t.Errorf("a part has %d bytes: %q", len(part), part)
		}
	})
}
