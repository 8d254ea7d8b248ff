package main

import (
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	long := strings.Repeat("é", maxColumns)
	for _, tc := range []struct{ name, in, want string }{
		{"one line", "a", "a\n"},
		{"line ends at the end are not counted", "a\nb\n\n", "a\nb\n"},
		{"as many lines as fit", strings.Repeat("x\n", maxLines), strings.Repeat("x\n", maxLines)},
		{"more lines", strings.Repeat("x\n", maxLines) + "12\n345\n", strings.Repeat("x\n", maxLines) + "… and 2 more lines, 6 bytes (-full prints them)\n"},
		{"one line more", strings.Repeat("x\n", maxLines) + "12", strings.Repeat("x\n", maxLines) + "… and 1 more line, 2 bytes (-full prints them)\n"},
		{"a line as long as fits", long, long + "\n"},
		{"a longer line", long + "xyz\na", long + "… and 3 more characters\na\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := shorten(tc.in); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPrintableLeavesNothingThatSteersATerminal(t *testing.T) {
	if got, want := printable("a\x1b[31m\tb\r\n\u009bc\x00é"), "a�[31m\tb�\n�c�é"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
