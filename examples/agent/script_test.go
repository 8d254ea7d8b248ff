package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/internal/scripted"
)

func TestParseScript(t *testing.T) {
	src := strings.Join([]string{
		"# what follows is a script",
		"> First this,",
		"> on two lines.",
		`ls {"args":["-l"]}`,
		"# a comment ends no turn",
		`grep   {"args": ["a b"]}  `,
		"",
		"   ",
		`ls {"args":["-a"]}` + "\r",
		"",
		">Done.",
	}, "\n")
	want := []scripted.Turn{
		{Text: "First this,\non two lines.", Calls: []scripted.Call{
			{Tool: "ls", Input: `{"args":["-l"]}`},
			{Tool: "grep", Input: `{"args": ["a b"]}`},
		}},
		{Calls: []scripted.Call{{Tool: "ls", Input: `{"args":["-a"]}`}}},
		{Text: "Done."},
	}
	got, err := parseScript("s", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestParseScriptRefuses(t *testing.T) {
	const call = `ls {"args":["-l"]}`
	for _, tc := range []struct{ name, src, want string }{
		{"an empty script", "", "s: the last turn must be text alone"},
		{"a script of comments", "# nothing\n", "s: the last turn must be text alone"},
		{"a script that ends with a call", "> a\n\n" + call, "s:3: the turn before this one calls no tool"},
		{"a script without text at the end", call, "s: the last turn must be text alone"},
		{"a last turn with text and a call", "> a\n" + call, "s: the last turn must be text alone"},
		{"text behind a call", call + "\n> a", "s:2: text stands before the calls"},
		{"turns behind the end", "> a\n\n> b", "s:3: the turn before this one calls no tool"},
		{"a call without an input", "ls", "s:1: a call is the tool's name and its input as JSON"},
		{"an input that is not JSON", `ls {"args":[}`, "s:1: a call is the tool's name and its input as JSON"},
		{"text without a mark", "Hello, I look around.", "s:1: a call is the tool's name and its input as JSON"},
		{"a mark without text", ">", "s:1: there is no text"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			turns, err := parseScript("s", []byte(tc.src))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %+v and %v, want an error with %q", turns, err, tc.want)
			}
		})
	}
}

func TestReadScriptNamesAFileThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.txt")
	if _, err := readScript(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

// FuzzParseScript holds that every script that is accepted can be played to its
// end.
func FuzzParseScript(f *testing.F) {
	f.Add(builtInScript)
	f.Add([]byte("> a\nls {}\n\n> b"))
	f.Add([]byte("ls []\n\r\n>\xff\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		turns, err := parseScript("s", src)
		if err != nil {
			return
		}
		for i, turn := range turns {
			if last := i == len(turns)-1; last != (len(turn.Calls) == 0) || last && turn.Text == "" {
				t.Errorf("turn %d of %d is %+v", i, len(turns), turn)
			}
		}
	})
}
