// Package text makes what programs and peers print fit for a model: valid
// UTF-8 without NUL, without terminal sequences, and no longer than a bound,
// with the cut announced.
//
// [Clean] is for text whose size is known to be small, [Cut] bounds a string,
// [Line] makes one line of it, and [Stream] bounds what was kept of a child's
// output, counting what is missing in bytes as the child wrote them.
package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultMax is how many bytes of text a tool's answer may hold, notices
// aside, where nobody asked for another bound.
const DefaultMax = 32 << 10

// Clean returns s as valid UTF-8 without NUL and other control characters
// (tab and newline stay), without ANSI sequences, and with lines that were
// redrawn after a carriage return or a backspace reduced to their last state.
// Invalid bytes become U+FFFD.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var c cleaner
	c.clean([]byte(s))
	return string(c.out)
}

// Cut returns s cleaned and no longer than limit bytes, notice aside: the head
// and the tail are kept, and the notice between them says how many bytes,
// counted as they stand in s, are missing.
func Cut(s string, limit int) string {
	if len(s) <= limit && isClean(s) {
		return s
	}
	return NewStream([]byte(s), nil, 0).Cut(limit)
}

// Line returns s as one cleaned line of at most limit bytes: white space is
// folded into single blanks, invisible formatting characters (such as those
// that reverse the direction of text) are gone, and an end that was cut off is
// announced with its size.
func Line(s string, limit int) string {
	visible := func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}
	line := strings.Join(strings.Fields(strings.Map(visible, Clean(s))), " ")
	if len(line) <= limit {
		return line
	}
	end := floor(line, limit)
	return line[:end] + "… (" + strconv.Itoa(len(line)-end) + " bytes omitted)"
}

// isClean reports whether Clean would return s as it is.
func isClean(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if isControl(rune(c)) {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || isControl(r) {
			return false
		}
		i += n
	}
	return true
}

// isControl reports whether r is a C0 or C1 control character other than tab
// and newline.
func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0
}

// floor returns the largest character boundary of valid UTF-8 that is not
// above i.
func floor[T string | []byte](s T, i int) int {
	for i = max(0, min(i, len(s))); i > 0 && i < len(s) && !utf8.RuneStart(s[i]); {
		i--
	}
	return i
}

// ceil returns the smallest character boundary of valid UTF-8 that is not
// below i.
func ceil[T string | []byte](s T, i int) int {
	for i = max(0, i); i < len(s) && !utf8.RuneStart(s[i]); {
		i++
	}
	return min(i, len(s))
}
