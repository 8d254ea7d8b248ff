package text

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// maxSequence bounds how far a terminal sequence is looked for, in bytes. What
// is longer is no sequence a terminal program writes: its ESC is dropped and
// the rest is text.
const maxSequence = 4 << 10

const (
	esc = 0x1b
	bel = 0x07
)

// cleaner writes cleaned text to out and remembers where each byte of it stood
// in the raw bytes.
type cleaner struct {
	out   []byte
	marks []mark // ascending; between two marks out and raw run in step

	line int // start in out of the line that is being written
	// What a terminal does when it goes back on a line and writes on: the new
	// text takes the place of the old. Nothing is removed before new text comes.
	returned bool // a carriage return came last
	back     int  // backspaces since the last character
}

// mark says that out[out:] came from raw[raw:].
type mark struct{ out, raw int }

func (c *cleaner) clean(raw []byte) {
	c.out = make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if n := plain(raw[i:]); n > 0 {
			c.write(raw[i:i+n], i)
			i += n
			continue
		}
		i += c.special(raw, i)
	}
}

// plain returns how many bytes of b from its start are printable ASCII or tabs.
func plain(b []byte) int {
	for i, ch := range b {
		if (ch < ' ' && ch != '\t') || ch >= 0x7f {
			return i
		}
	}
	return len(b)
}

// special handles the byte or sequence at raw[i], which is not plain, and
// returns its length.
func (c *cleaner) special(raw []byte, i int) int {
	switch raw[i] {
	case '\n':
		c.returned, c.back = false, 0
		c.write(raw[i:i+1], i)
		c.line = len(c.out)
		return 1
	case '\v', '\f':
		c.write([]byte{'\n'}, i)
		c.line = len(c.out)
		return 1
	case '\r':
		c.returned, c.back = true, 0
		return 1
	case '\b':
		c.back++
		return 1
	case esc:
		n := sequence(raw[i:])
		if c.returned && erasesLine(raw[i:i+n]) {
			c.truncate(c.line)
			c.returned = false
		}
		return n
	}
	r, n := utf8.DecodeRune(raw[i:])
	switch {
	case r == utf8.RuneError && n <= 1:
		c.write([]byte("\uFFFD"), i)
		return 1
	case !isControl(r):
		c.write(raw[i:i+n], i)
	}
	return n
}

// write appends b, which came from raw at position pos, after it took back what
// it overwrites.
func (c *cleaner) write(b []byte, pos int) {
	if c.returned {
		c.truncate(c.line)
		c.returned = false
	}
	for ; c.back > 0 && len(c.out) > c.line; c.back-- {
		_, n := utf8.DecodeLastRune(c.out)
		c.truncate(len(c.out) - n)
	}
	c.back = 0
	if len(c.marks) == 0 || c.rawAt(len(c.out)) != pos {
		c.marks = append(c.marks, mark{out: len(c.out), raw: pos})
	}
	c.out = append(c.out, b...)
}

func (c *cleaner) truncate(n int) {
	c.out = c.out[:n]
	for k := len(c.marks); k > 0 && c.marks[k-1].out >= n; k-- {
		c.marks = c.marks[:k-1]
	}
}

// rawAt returns where in the raw bytes the byte out[i] came from.
func (c *cleaner) rawAt(i int) int {
	k := sort.Search(len(c.marks), func(k int) bool { return c.marks[k].out > i })
	if k == 0 {
		return 0
	}
	m := c.marks[k-1]
	return m.raw + i - m.out
}

// sequence returns the length of the terminal sequence at the start of b, which
// is an ESC, by the grammar of ECMA-48: ESC [, parameters, intermediates and a
// final byte, or ESC, intermediates and a final byte. One that breaks the grammar
// ends before the byte that does. Control strings (window titles, links) end with
// BEL or ST on their line; without that end only the ESC goes, so that no text is
// swallowed.
func sequence(b []byte) int {
	b = b[:min(len(b), maxSequence)]
	if len(b) > 1 && bytes.IndexByte([]byte("]PX^_"), b[1]) >= 0 {
		return controlString(b)
	}
	n, final := 1, byte('0')
	if len(b) > 1 && b[1] == '[' {
		final = '@'
		n = 2 + span(b[2:], '<', '?')
		n += span(b[n:], '0', ';')
	}
	n += span(b[n:], ' ', '/')
	switch {
	case n == maxSequence:
		return 1
	case n < len(b) && final <= b[n] && b[n] <= '~':
		return n + 1
	}
	return n
}

// span returns how many bytes at the start of b are from first to last.
func span(b []byte, first, last byte) int {
	for i, c := range b {
		if c < first || c > last {
			return i
		}
	}
	return len(b)
}

// controlString returns the length of a control string. The byte 0x9C, which ends
// one in 8-bit terminals, does not: it is also part of UTF-8 characters.
func controlString(b []byte) int {
	for i := 2; i < len(b); i++ {
		switch b[i] {
		case bel:
			return i + 1
		case esc:
			if i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
			return 1
		case '\n':
			return 1
		}
	}
	return 1
}

// erasesLine reports whether seq is one of the sequences that erase the line
// right of the cursor or all of it.
func erasesLine(seq []byte) bool {
	switch string(seq) {
	case "\x1b[K", "\x1b[0K", "\x1b[2K":
		return true
	}
	return false
}
