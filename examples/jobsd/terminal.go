package main

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// show writes what a job wrote: to a file or a pipe as it is, to a terminal
// without what would steer it.
func show(w io.Writer, s string) error {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s = harmless(s)
	}
	_, err := io.WriteString(w, s)
	return err
}

// harmless puts U+FFFD in the place of control characters, save line ends and
// tabs, and of those that turn the direction of the text that follows.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
