package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is shown of a long result, unless -full asks for all. The model reads it
// as the tool returned it.
const (
	maxLines   = 12
	maxColumns = 160 // characters
)

// shorten keeps the first lines of a text and the start of each, and says how
// much it left out.
func shorten(s string) string {
	s = strings.TrimRight(s, "\n")
	var b strings.Builder
	n, rest := 0, s
	for line := range strings.Lines(s) {
		if n == maxLines {
			break
		}
		n++
		rest = rest[len(line):]
		b.WriteString(cutLine(strings.TrimRight(line, "\n")) + "\n")
	}
	if rest != "" {
		lines := "1 more line"
		if n := strings.Count(rest, "\n"); n > 0 {
			lines = fmt.Sprintf("%d more lines", n+1)
		}
		fmt.Fprintf(&b, "… and %s, %d bytes (-full prints them)\n", lines, len(rest))
	}
	return b.String()
}

// cutLine keeps the start of a line.
func cutLine(line string) string {
	n := utf8.RuneCountInString(line)
	if n <= maxColumns {
		return line
	}
	return fmt.Sprintf("%s… and %d more characters", string([]rune(line)[:maxColumns]), n-maxColumns)
}

// printable replaces what would steer a terminal: what a model or a service
// sends may hold anything.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
