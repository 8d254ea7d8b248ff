package main

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// growing is a stream of output of which each state of a job holds all that is
// kept: its start and, behind a line that tells how much is missing, its end.
type growing struct{ seen string }

// gapLine is what store.Gap writes, at the start of a text.
var gapLine = regexp.MustCompile(`^\n\[(\d{1,18}) bytes are not kept here\]\n`)

// longestGap is how many bytes such a line has at most.
const longestGap = len("\n[123456789012345678 bytes are not kept here]\n")

// add takes the stream as it is now and returns what is new in it.
func (g *growing) add(now string) string {
	before := g.seen
	if strings.HasPrefix(before, now) {
		return "" // what a daemon that died had not stored yet may be missing
	}
	g.seen = now
	if strings.HasPrefix(now, before) {
		return now[len(before):]
	}
	same := commonPrefix(before, now)
	start, end := gapAround(now, same)
	if start < 0 {
		return "\n[the output so far is no longer what was shown; it follows]\n" + now
	}
	tail := now[end:]
	fresh := written(now, start) - written(before, start)
	switch {
	case fresh <= 0:
		return ""
	case fresh > len(tail):
		return store.Gap(int64(fresh-len(tail))) + tail
	}
	for fresh < len(tail) && !utf8.RuneStart(tail[len(tail)-fresh]) {
		fresh++ // replacements of what is no text make the count inexact
	}
	return tail[len(tail)-fresh:]
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// gapAround returns the line about what is missing that a byte is at, in or
// right behind of, the last if there are two; a program may have written such lines
// itself. -1: none.
func gapAround(s string, at int) (start, end int) {
	for i := min(at, len(s)); i >= max(0, at-longestGap); i-- {
		if found := gapLine.FindStringIndex(s[i:]); found != nil && at <= i+found[1] {
			return i, i + found[1]
		}
	}
	return -1, -1
}

// written is how many bytes the stream has of which s is kept, with a gap at
// start if there is one.
func written(s string, start int) int {
	if start > len(s) {
		return len(s)
	}
	found := gapLine.FindStringSubmatchIndex(s[start:])
	if found == nil {
		return len(s)
	}
	missing, err := strconv.Atoi(s[start+found[2] : start+found[3]])
	if err != nil {
		return len(s)
	}
	return len(s) - found[1] + missing
}
