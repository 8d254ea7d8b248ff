package providers

import (
	"strings"
	"testing"
	"unicode/utf8"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/tool"
)

// Every tool of the library refuses what no tool can take, before it does
// anything, in words that a model can act on.
func TestEveryToolRefusesWhatNoToolTakes(t *testing.T) {
	for name, input := range map[string]string{
		"a list":             `[]`,
		"a string":           `"x"`,
		"a number":           `7`,
		"broken JSON":        `{"a":`,
		"trailing data":      `{} {}`,
		"an unknown key":     `{"no_such_key":1}`,
		"a key twice":        `{"no_such_key":1,"no_such_key":2}`,
		"invalid UTF-8":      "{\"a\":\"\xff\"}",
		"half a character":   `{"a":"\ud800"}`,
		"very deep nesting":  strings.Repeat("[", 100_000),
		"a very large input": `{"no_such_key":"` + strings.Repeat("x", 8<<20) + `"}`,
	} {
		for _, one := range tools(t) {
			info := one.Info()
			resp, err := one.Run(t.Context(), fantasy.ToolCall{ID: "1", Name: info.Name, Input: input})
			switch {
			case err != nil:
				t.Errorf("%s, %s: a Go error: %v", info.Name, name, err)
			case !resp.IsError || !strings.HasPrefix(resp.Content, "Nothing was run: "):
				t.Errorf("%s, %s: %.200q", info.Name, name, resp.Content)
			case len(resp.Content) > 1500 || !utf8.ValidString(resp.Content):
				t.Errorf("%s, %s: %d bytes: %.200q", info.Name, name, len(resp.Content), resp.Content)
			}
			for _, jargon := range []string{"json:", "unmarshal", "struct", "Input."} {
				if strings.Contains(resp.Content, jargon) {
					t.Errorf("%s, %s: %.200q speaks of %q", info.Name, name, resp.Content, jargon)
				}
			}
		}
	}
}

// A Def of the name of one of the library's tools would hide it, or make a
// provider refuse all tools.
func TestNoDefMayHaveTheNameOfAToolOfTheLibrary(t *testing.T) {
	var free []string
	for _, other := range tools(t) {
		name := other.Info().Name
		if !strings.HasPrefix(name, "job_") && !strings.HasPrefix(name, "pilot_") {
			continue
		}
		for _, spelling := range []string{name, strings.ToUpper(name)} {
			_, err := tool.LoadTools([]tool.Def{{Name: spelling, Description: "Another.", Binary: "go"}}, "", nil)
			if err == nil || !strings.Contains(err.Error(), "the name is that of a tool of this library") {
				free = append(free, spelling)
			}
		}
	}
	if diff := cmp.Diff([]string(nil), free); diff != "" {
		t.Errorf("names that LoadTools takes (-want +got):\n%s", diff)
	}
}
