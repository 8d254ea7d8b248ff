package front

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

const replacement = "\uFFFD"

// bounds is how many bytes of text are shown of a stream's start and of its end.
type bounds struct{ head, tail int }

// text renders what is kept of a stream as valid UTF-8: each run of invalid bytes
// becomes one U+FFFD, and a line stands in for what is not kept. No character is
// halved: at that line its bytes count as not kept, and at the end of a stream
// that is open they are held back until the rest has come.
// Replacements are longer than what they replace; where text would exceed the
// bounds for them, more is left out at the line.
func (limit bounds) text(b *store.Buffer, open bool) string {
	head, tail := b.Head(), b.Tail()
	if b.Missing() == 0 {
		return limit.whole(join(head, tail), open)
	}
	whole := b.Size()
	if open {
		held := unfinished(tail)
		tail, whole = tail[:len(tail)-held], whole-int64(held)
	}
	head = head[:limit.prefix(head[:len(head)-unfinished(head)])]
	tail = tail[continued(tail):]
	tail = tail[limit.suffix(tail):]
	return valid(head) + store.Gap(whole-int64(len(head)+len(tail))) + valid(tail)
}

// whole renders a stream of which all is kept.
func (limit bounds) whole(b []byte, open bool) string {
	if open {
		b = b[:len(b)-unfinished(b)]
	}
	s := valid(b)
	if len(s) <= limit.head+limit.tail {
		return s
	}
	end := limit.prefix(b)
	start := end + limit.suffix(b[end:])
	return valid(b[:end]) + store.Gap(int64(start-end)) + valid(b[start:])
}

// prefix is how many bytes of b are at most limit.head bytes of text.
func (limit bounds) prefix(b []byte) int {
	if len(b) > limit.head {
		if start := b[:limit.head]; utf8.Valid(start[:len(start)-unfinished(start)]) {
			return len(start) - unfinished(start)
		}
	}
	size, run := 0, false
	for i := 0; i < len(b); {
		n, ok := character(b[i:])
		switch {
		case ok:
			size += n
		case !run:
			size += len(replacement)
		}
		if size > limit.head {
			return i
		}
		i, run = i+n, !ok
	}
	return len(b)
}

// suffix is where the end of b begins that is at most limit.tail bytes of text.
func (limit bounds) suffix(b []byte) int {
	i := 0
	if utf8.Valid(b) {
		i = max(0, len(b)-limit.tail)
		return i + continued(b[i:])
	}
	for size := len(valid(b)); i < len(b) && size > limit.tail; {
		n, ok := character(b[i:])
		i += n
		if ok {
			size -= n
			continue
		}
		size -= len(replacement)
		for i < len(b) && !ok { // the rest of the run goes with its one replacement
			if n, ok = character(b[i:]); !ok {
				i += n
			}
		}
	}
	return i
}

// character is how many bytes the first character of b has, and whether it is
// valid.
func character(b []byte) (int, bool) {
	r, n := utf8.DecodeRune(b)
	return n, r != utf8.RuneError || n > 1
}

func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte(replacement)))
}

func join(head, tail []byte) []byte {
	if len(tail) == 0 {
		return head
	}
	b := make([]byte, 0, len(head)+len(tail))
	return append(append(b, head...), tail...)
}

// unfinished is how many bytes at the end of b begin a character whose rest is
// missing.
func unfinished(b []byte) int {
	for n := 1; n <= min(len(b), utf8.UTFMax-1); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// continued is how many bytes at the start of b may end a character whose start
// is missing.
func continued(b []byte) int {
	n := 0
	for n < min(len(b), utf8.UTFMax-1) && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}

// cut returns at most so many bytes of valid UTF-8, without half a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// shown is a name from a request as answers show it: it may be anything, of any
// length.
func shown(name string) string {
	const longest = 100
	if len(name) > longest {
		return cut(strings.ToValidUTF8(name, replacement), longest) + "…"
	}
	return name
}
