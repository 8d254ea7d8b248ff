// Package readme keeps what a README shows of a program's output true. It is for
// tests.
package readme

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Check compares got with the first block of text behind a sentence of a Markdown
// file, and writes it there if update is set.
func Check(t *testing.T, path, sentence, got string, update bool) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start := strings.Index(string(src), sentence)
	if start < 0 {
		t.Fatalf("%s has no sentence %q", path, sentence)
	}
	before, rest, found := strings.Cut(string(src[start:]), "\n```text\n")
	want, after, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no block of text behind %q", path, sentence)
	}
	if update {
		want = got
		whole := string(src[:start]) + before + "\n```text\n" + got + "```\n" + after
		if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}
