//go:build unix

package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/fantasy"
)

// TestBadInputSaysWhatToDoAndRunsNothing sends what models send by mistake. The
// program leaves a file behind if it runs.
func TestBadInputSaysWhatToDoAndRunsNothing(t *testing.T) {
	work := t.TempDir()
	writeFile(t, filepath.Join(work, "program"), "#!/bin/sh\ntouch ran\ncat\n", 0o755)
	tools, err := LoadTools([]Def{{Name: "it", Description: "It.", Binary: "./program"}}, work, nil)
	if err != nil {
		t.Fatal(err)
	}
	const provide = "provide args, stdin, or both"
	for _, tc := range []struct{ name, input, want string }{
		{"nothing", "", provide},
		{"blanks", " \n", provide},
		{"null", "null", provide},
		{"an empty object", "{}", provide},
		{"empty arguments", `{"args":[]}`, provide},
		{"an empty stdin", `{"stdin":""}`, provide},
		{"null for both", `{"args":null,"stdin":null}`, provide},
		{"a list", `["-l"]`, `{"args": ["text"]}`},
		{"a string", `"x"`, "must be a JSON object"},
		{"a number", `1`, "must be a JSON object"},
		{"broken JSON", `{"args":["a"`, "not valid JSON"},
		{"trailing data", `{"args":["a"]} {"args":["b"]}`, "more text"},
		{"a misspelt key", `{"arguments":["--dry-run"]}`, `the keys are "args", "stdin"`},
		{"a key in another case", `{"Args":["a"]}`, `did you mean "args"?`},
		{"a key twice", `{"args":["a"],"args":["b"]}`, "twice"},
		{"a plain string for the list", `{"args":"-l /tmp"}`, "args must be a list of strings"},
		{"a number for the list", `{"args":7}`, "args must be a list of strings"},
		{"an object for the list", `{"args":{"0":"a"}}`, "args must be a list of strings"},
		{"a list in the list", `{"args":["a",["b"]]}`, "args[1] must be a string"},
		{"a list for stdin", `{"stdin":["a"]}`, "stdin must be a string"},
		{"NUL in an argument", `{"args":["a","b\u0000c"]}`, "args[1] holds a NUL character"},
		{"an argument over the system's limit", `{"args":["` + strings.Repeat("a", 131072) + `"]}`, "stdin"},
		{"invalid UTF-8", "{\"args\":[\"\xff\"]}", "not valid UTF-8"},
		{"half a surrogate pair", `{"args":["\ud800"]}`, "half a character"},
		{"very deep nesting", strings.Repeat("[", 100_000), "levels deep"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, err := tools[0].Run(t.Context(), fantasy.ToolCall{Input: tc.input})
			if err != nil {
				t.Fatalf("a Go error: %v", err)
			}
			checkFit(t, resp)
			if !resp.IsError || !strings.Contains(resp.Content, tc.want) {
				t.Errorf("got %.300q, want it to contain %q", resp.Content, tc.want)
			}
			for _, jargon := range []string{"json:", "struct", "unmarshal", "Input.", "[]string", "goroutine", "fork/exec"} {
				if strings.Contains(resp.Content, jargon) {
					t.Errorf("%.300q speaks of %q", resp.Content, jargon)
				}
			}
			if len(resp.Content) > 1000 {
				t.Errorf("%d bytes of explanation", len(resp.Content))
			}
			if _, err := os.Stat(filepath.Join(work, "ran")); err == nil {
				t.Error("the program ran")
			}
		})
	}
}

func TestOddInputThatIsClearRuns(t *testing.T) {
	tool := load(t, Def{Binary: "/bin/sh", Args: []string{"-c", `cat; printf '[%s]' "$@"`, "sh"}, MaxOutput: 16 << 20})
	stdin := strings.Repeat("0123456789abcdef", 8<<20/16)
	for _, tc := range []struct{ name, input, want string }{
		{"a list as JSON inside a string", `{"args":"[\"-l\",\"/tmp\"]"}`, "[-l][/tmp]"},
		{"numbers and booleans in the list", `{"args":["-n",10,true,1.50]}`, "[-n][10][true][1.50]"},
		{"null for one key", `{"args":["a"],"stdin":null}`, "[a]"},
		{"white space around", " {\"args\" : [ \"a\" ] }\n", "[a]"},
		{"an empty argument", `{"args":[""]}`, "[]"},
		{"8 MiB of stdin", `{"args":["a"],"stdin":"` + stdin + `"}`, stdin + "[a]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, err := tool.Run(t.Context(), fantasy.ToolCall{Input: tc.input})
			if err != nil || resp.IsError || resp.Content != tc.want {
				t.Errorf("got %.300q (%d bytes), %v, want %.300q", resp.Content, len(resp.Content), err, tc.want)
			}
		})
	}
}
