package text

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Stream is what was kept of a child's output stream, cleaned.
type Stream struct {
	head, tail       cleaner // tail is empty if nothing is missing
	headRaw, tailRaw int     // their raw sizes in bytes
	missing          int64   // raw bytes between them
}

// NewStream cleans a stream of which head, then missing bytes that were not
// kept, then tail were written. With nothing missing, head and tail are one
// text.
func NewStream(head, tail []byte, missing int64) *Stream {
	s := &Stream{missing: missing}
	if missing <= 0 {
		s.missing = 0
		if len(tail) > 0 {
			head = append(head[:len(head):len(head)], tail...)
		}
		tail = nil
	} else {
		// A character that the gap cut in two is missing, not invalid.
		whole := head[:len(head)-partialRune(head)]
		rest := skipPartial(skipLead(tail))
		s.missing += int64(len(head) - len(whole) + len(tail) - len(rest))
		head, tail = whole, rest
	}
	s.head.clean(head)
	s.tail.clean(tail)
	s.headRaw, s.tailRaw = len(head), len(tail)
	return s
}

// Len is how many bytes of text the stream has to show.
func (s *Stream) Len() int { return len(s.head.out) + len(s.tail.out) }

// Blank reports whether there is nothing but white space to show and nothing
// is missing.
func (s *Stream) Blank() bool {
	return s.missing == 0 && len(strings.TrimSpace(string(s.head.out))) == 0
}

// Cut returns at most limit bytes of the stream's text, its head and its tail,
// with a notice between them that says how many bytes of the raw stream are
// missing, if any are. The cuts are on character boundaries.
func (s *Stream) Cut(limit int) string {
	limit = max(limit, 0)
	if s.missing == 0 {
		return s.cutWhole(limit)
	}
	head, tail := share(limit, len(s.head.out), len(s.tail.out))
	end := floor(s.head.out, head)
	start := ceil(s.tail.out, len(s.tail.out)-tail)
	missing := s.missing + int64(s.headRaw) - s.head.at(end, s.headRaw) + s.tail.at(start, s.tailRaw)
	return join(s.head.out[:end], missing, s.tail.out[start:])
}

func (s *Stream) cutWhole(limit int) string {
	out := s.head.out
	if len(out) <= limit {
		return string(out)
	}
	end := floor(out, limit/2)
	start := ceil(out, len(out)-(limit-limit/2))
	return join(out[:end], s.head.at(start, s.headRaw)-s.head.at(end, s.headRaw), out[start:])
}

// Share divides limit between two texts of a and b bytes: each gets half, and
// what one does not need the other gets.
func Share(limit int, a, b *Stream) (int, int) { return share(max(limit, 0), a.Len(), b.Len()) }

func share(limit, a, b int) (int, int) {
	half := limit / 2
	switch {
	case a <= half:
		return a, limit - a
	case b <= limit-half:
		return limit - b, b
	}
	return half, limit - half
}

func join(head []byte, missing int64, tail []byte) string {
	return fmt.Sprintf("%s\n[… %d bytes omitted …]\n%s", head, missing, tail)
}

// at returns where in rawLen raw bytes the text from out[i] on begins. What was
// dropped in front of it, such as a colour, counts to the text before.
func (c *cleaner) at(i, rawLen int) int64 {
	if i >= len(c.out) {
		return int64(rawLen)
	}
	return int64(c.rawAt(i))
}

// partialRune returns how many bytes at the end of b begin a character that b
// does not complete.
func partialRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		last := b[len(b)-n]
		if !utf8.RuneStart(last) {
			continue
		}
		if last >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
			return n
		}
		break
	}
	return 0
}

// lead is how many bytes of a tail are given up to find out whether it begins
// inside a terminal sequence: the ESC of one that the gap cut in two is missing.
const lead = 256

// skipLead returns a tail without its lead and without the sequence that lies
// across the end of it. A tail so short that its lead would be missed stays
// whole.
func skipLead(tail []byte) []byte {
	if len(tail) < 16*lead {
		return tail
	}
	end := lead
	if i := bytes.LastIndexByte(tail[:lead], esc); i >= 0 {
		end = max(end, i+sequence(tail[i:]))
	}
	return tail[end:]
}

// skipPartial returns b without the bytes at its start that end a character
// begun before.
func skipPartial(b []byte) []byte {
	n := 0
	for n < len(b) && n < utf8.UTFMax-1 && !utf8.RuneStart(b[n]) {
		n++
	}
	return b[n:]
}
