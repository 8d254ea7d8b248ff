package pilot

import (
	"strings"
	"testing"
)

func TestAListIsSharedSoThatEveryTextIsThere(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("x\n", 5000)
	for name, texts := range map[string][]string{
		"none":                   {},
		"one short":              {"hello"},
		"one long":               {strings.Repeat("x", 1<<20)},
		"a hundred long":         repeat(strings.Repeat("x", 10<<10), 100),
		"a hundred of lines":     repeat(lines, 100),
		"one long among short":   append(repeat("short", 99), strings.Repeat("x", 1<<20)),
		"ten that just fit":      repeat(strings.Repeat("x", 2000), 10),
		"a hundred empty":        repeat("", 100),
		"three hundred of words": repeat("a few words", 300),
	} {
		limit := share(texts)
		total := 0
		for _, s := range texts {
			got := quote(s, limit)
			total += len(got)
			if strings.TrimSpace(got) == ">" || got == "" {
				t.Errorf("%s: a text is gone", name)
			}
		}
		if limit < 1 || limit > MaxBody {
			t.Errorf("%s: %d bytes each", name, limit)
		}
		if len(texts) <= maxInbox && total > listBudget+len(texts)*entryLine {
			t.Errorf("%s: %d bytes", name, total)
		}
	}
	if limit := share(append(repeat("short", 9), strings.Repeat("x", 1<<20))); limit != MaxBody {
		t.Errorf("the long one gets %d bytes of what the short ones leave", limit)
	}
}

func repeat(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}
