package text

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain text stays as it is", "a\tb\nc é 漢 🙂\n", "a\tb\nc é 漢 🙂\n"},
		{"NUL is dropped", "a\x00b\x00", "ab"},
		{"UTF-16 text survives", "\xff\xfeh\x00i\x00\n\x00", "\uFFFD\uFFFDhi\n"},
		{"an invalid byte becomes one replacement character", "ok \xff\xfe end", "ok \uFFFD\uFFFD end"},
		{"a character cut short becomes replacement characters", "a\xe6\xbc", "a\uFFFD\uFFFD"},
		{"a surrogate is invalid", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"colours go", "\x1b[31mred\x1b[0m \x1b[1;38;5;196mbold\x1b[m", "red bold"},
		{"a window title goes", "\x1b]0;title\x07text", "text"},
		{"a window title in UTF-8 goes whole", "\x1b]0;✓ done\x1b\\text", "text"},
		{"a link keeps its text", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"a control string without an end swallows no text", "\x1b]0;title\nnext line\n", "]0;title\nnext line\n"},
		{"a device control string without an end swallows no text", "\x1bPabc", "Pabc"},
		{"a control string that another sequence breaks off swallows no text", "\x1b]0;a\x1b[31mred\n", "]0;ared\n"},
		{"a lone ESC goes", "a\x1b", "a"},
		{"an unfinished colour goes", "a\x1b[3", "a"},
		{"a sequence that is broken off by a newline ends there", "\x1b[3\nb", "\nb"},
		{"a charset sequence goes", "\x1b(Bx", "x"},
		{"a progress line keeps its last state", "10%\r20%\r100%\n", "100%\n"},
		{"a progress line without a newline keeps its last state", "10%\r50%\r", "50%"},
		{"Windows line ends become newlines", "a\r\nb\r\r\nc", "a\nb\nc"},
		{"a line that is erased and not written again is empty", "working\r\x1b[K\ndone\n", "\ndone\n"},
		{"an erase after text erases nothing of it", "text\x1b[K\n", "text\n"},
		{"only the line itself is redrawn", "first\na\rb\n", "first\nb\n"},
		{"a redraw removes nothing of what came before with colours", "x\n\x1b[32m1%\x1b[0m\r\x1b[32m2%\x1b[0m\n", "x\n2%\n"},
		{"overstruck letters of a manual page are single letters", "N\bNA\bAM\bME\bE _\bx", "NAME x"},
		{"a spinner keeps its last state", "|\b/\b-\bdone", "done"},
		{"backspaces at the end remove nothing", "50%\b\b\b", "50%"},
		{"a backspace does not reach into the line before", "a\n\b\bb", "a\nb"},
		{"form feed and vertical tab end a line", "a\fb\vc", "a\nb\nc"},
		{"bell and other controls go", "a\x07\x01\x7f\u0085\u009bb", "ab"},
		{"nothing stays nothing", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Clean(tc.in)); diff != "" {
				t.Errorf("Clean(%q) (-want +got):\n%s", tc.in, diff)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"what fits stays whole", "12345678", 8, "12345678"},
		{"head and tail are kept and the rest is counted", "0123456789abcdef", 8, "0123\n[… 8 bytes omitted …]\ncdef"},
		{"the head ends on a character boundary", "ab漢0123456789xyz", 8, "ab\n[… 12 bytes omitted …]\n9xyz"},
		{"the tail begins on a character boundary", "abc0123456789漢yz", 8, "abc0\n[… 12 bytes omitted …]\nyz"},
		{"missing bytes are counted as they came, without the sequences around them", "0123\x1b[31m456789\x1b[0mabcdef", 8, "0123\n[… 12 bytes omitted …]\ncdef"},
		{"an invalid byte counts one", "0123\xff\xff\xff\xff\xff\xff4567", 8, "0123\n[… 6 bytes omitted …]\n4567"},
		{"text that fits once it is clean stays whole", "\x1b[31m12\x1b[0m", 4, "12"},
		{"a limit of nothing shows the count", "0123456789", 0, "\n[… 10 bytes omitted …]\n"},
		{"a negative limit is nothing", "0123456789", -5, "\n[… 10 bytes omitted …]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Cut(tc.in, tc.limit)); diff != "" {
				t.Errorf("Cut(%q, %d) (-want +got):\n%s", tc.in, tc.limit, diff)
			}
		})
	}
}

func TestStreamWithAGap(t *testing.T) {
	for _, tc := range []struct {
		name       string
		head, tail string
		missing    int64
		limit      int
		want       string
	}{
		{"everything kept is shown when it fits", "head", "tail", 100, 8, "head\n[… 100 bytes omitted …]\ntail"},
		{"what is cut adds to what was not kept", "head++++", "++++tail", 100, 8, "head\n[… 108 bytes omitted …]\ntail"},
		{"a character that the gap cut in two is missing", "head\xe6\xbc", "\xa2tail", 100, 20, "head\n[… 103 bytes omitted …]\ntail"},
		{"what the head does not need the tail gets", "h", "++++tail", 5, 6, "h\n[… 8 bytes omitted …]\n+tail"},
		{"what the tail does not need the head gets", "head++++", "t", 5, 6, "head+\n[… 8 bytes omitted …]\nt"},
		{"without a gap head and tail are one text", "one \xe6\xbc", "\xa2 text", 0, 20, "one 漢 text"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := NewStream([]byte(tc.head), []byte(tc.tail), tc.missing).Cut(tc.limit)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestASequenceThatTheGapCutInTwoIsNotShown(t *testing.T) {
	const colour, title = "\x1b[38;5;196mx\x1b[0m", "\x1b]0;a title\x07x"
	for _, unit := range []string{colour, title} {
		whole := strings.Repeat(unit, 8000/len(unit))
		for cut := range unit {
			got := NewStream(nil, []byte(whole[cut:]), 100).Cut(len(whole))
			_, shown, _ := strings.Cut(got, "…]\n")
			if strings.Trim(shown, "x") != "" {
				t.Errorf("cut at byte %d of %q, the tail begins %.20q", cut, unit, shown)
			}
		}
	}
}

func TestShareGivesTheRestToTheStreamThatNeedsIt(t *testing.T) {
	stream := func(n int) *Stream { return NewStream(bytes.Repeat([]byte("x"), n), nil, 0) }
	for _, tc := range []struct{ limit, a, b, wantA, wantB int }{
		{100, 10, 10, 10, 90},
		{100, 10, 500, 10, 90},
		{100, 500, 10, 90, 10},
		{100, 500, 500, 50, 50},
		{-1, 5, 5, 0, 0},
	} {
		a, b := Share(tc.limit, stream(tc.a), stream(tc.b))
		if a != tc.wantA || b != tc.wantB {
			t.Errorf("Share(%d, %d, %d) = %d, %d, want %d, %d", tc.limit, tc.a, tc.b, a, b, tc.wantA, tc.wantB)
		}
	}
}

func TestLine(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"white space is folded", "  a\n\tb  c ", 80, "a b c"},
		{"characters that turn text round go", "ab\u202ecd\u200b", 80, "abcd"},
		{"a cut is announced", "0123456789", 4, "0123… (6 bytes omitted)"},
		{"a cut is on a character boundary", "漢漢", 4, "漢… (3 bytes omitted)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Line(tc.in, tc.limit); got != tc.want {
				t.Errorf("Line(%q, %d) = %q, want %q", tc.in, tc.limit, got, tc.want)
			}
		})
	}
}

var notice = regexp.MustCompile(`\n\[… ([0-9]+) bytes omitted …\]\n`)

// FuzzCut checks what a host relies on, for any output of a child and any
// part of it that was not kept.
func FuzzCut(f *testing.F) {
	f.Add([]byte("10%\r20%\r\x1b[31mred\x1b[0m\n"), []byte("tail \xff"), int64(0), 8)
	f.Add([]byte("\x1b]0;✓ title\x07\x00\xe6\xbc"), []byte("\xa2漢"), int64(1<<40), 3)
	f.Add([]byte("N\bNA\bA\f\v\u0085"), []byte{}, int64(0), 0)
	f.Fuzz(func(t *testing.T, head, tail []byte, missing int64, limit int) {
		missing, limit = max(missing, 0)%(1<<50), max(limit, 0)%(1<<20)
		s := NewStream(head, tail, missing)
		got := s.Cut(limit)
		if !utf8.ValidString(got) || !isClean(got) {
			t.Fatalf("not clean: %q", got)
		}
		if again := Clean(got); again != got {
			t.Fatalf("cleaning twice changes %q to %q", got, again)
		}
		if missing == 0 && s.Len() <= limit {
			if want := Clean(string(head) + string(tail)); got != want {
				t.Fatalf("got %q, want all of it: %q", got, want)
			}
			return
		}
		checkCut(t, s, got, limit, int64(len(head)+len(tail))+missing)
	})
}

// checkCut checks that got is the head and the tail of s with a true notice.
func checkCut(t *testing.T, s *Stream, got string, limit int, total int64) {
	t.Helper()
	first, last := string(s.head.out), string(s.tail.out)
	if s.missing == 0 {
		last = first
	}
	for _, at := range notice.FindAllStringSubmatchIndex(got, -1) {
		before, after := got[:at[0]], got[at[1]:]
		n, err := strconv.ParseInt(got[at[2]:at[3]], 10, 64)
		if err == nil && n >= 0 && n <= total && len(before)+len(after) <= limit &&
			len(before)+len(after) >= min(limit, s.Len())-2*(utf8.UTFMax-1) &&
			strings.HasPrefix(first, before) && strings.HasSuffix(last, after) {
			return
		}
	}
	t.Fatalf("no true notice within %d bytes: %q", limit, got)
}

func BenchmarkClean(b *testing.B) {
	line := "\x1b[32mok\x1b[0m  github.com/example/package  0.123s  漢字\n"
	for _, bc := range []struct{ name, text string }{
		{"colours", strings.Repeat(line, 64<<10/len(line))},
		{"plain", strings.Repeat("plain text of a program\n", 64<<10/24)},
		{"hostile", strings.Repeat("\x1b]a\b\r", 64<<10/5)},
	} {
		b.Run(fmt.Sprintf("%s/%d", bc.name, len(bc.text)), func(b *testing.B) {
			b.SetBytes(int64(len(bc.text)))
			for b.Loop() {
				NewStream([]byte(bc.text), nil, 0).Cut(DefaultMax)
			}
		})
	}
}
