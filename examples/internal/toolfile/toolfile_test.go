package toolfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseToolsReadsEveryKey(t *testing.T) {
	got, err := parse("t", []byte(`
tools:
  - name: count
    description: Counts.
    binary: bin/count
    args: [--fast, "2"]
    doc: count.txt
    env: [LANG=C, API_KEY]
    timeout: 1m30s
    max_output: 4096
    parallel: true
  - {name: wc, description: Counts too., binary: wc, timeout: -1s, optional: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{
			Name: "count", Description: "Counts.", Binary: "bin/count", Args: []string{"--fast", "2"}, Doc: "count.txt",
			Env: []string{"LANG=C", "API_KEY"}, Timeout: 90 * time.Second, MaxOutput: 4096, Parallel: true,
		},
		{Name: "wc", Description: "Counts too.", Binary: "wc", Timeout: -time.Second, Optional: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestParseToolsRefuses(t *testing.T) {
	entry := func(more string) string {
		return "tools:\n  - name: ls\n    description: Lists.\n    binary: ls\n" + more
	}
	for _, tc := range []struct{ name, src, want string }{
		{"an empty file", "", "t: no tools"},
		{"an empty list", "tools: []", "t: no tools"},
		{"an unknown key of a tool", entry("    descr: x\n"), `unknown field "descr"`},
		{"an unknown key beside the tools", "tool: []\n", `unknown field "tool"`},
		{"a key given twice", entry("    name: ll\n"), "already defined"},
		{"a duration without a unit", entry("    timeout: 30\n"), "time.Duration"},
		{"a duration in a string without a unit", entry("    timeout: \"30\"\n"), "missing unit"},
		{"a text for a number", entry("    max_output: much\n"), "cannot unmarshal"},
		{"what is not YAML", "tools: [", "t: "},
		{"a tag without a value, on which the YAML library panics", "tools:\n- &a\n  name: ls\n  args: !!seq ", "t: this is no YAML"},
		{"a second document", entry("---\ntools: []\n"), "second document"},
		{"an optional path", entry("    optional: true\n") + "  - {name: a, description: b, binary: ./a, optional: true}\n", "t: tool 2 (a): optional is for a program that PATH may have"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parse("t", []byte(tc.src))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %+v and %v, want an error with %q", got, err, tc.want)
			}
		})
	}
}

func TestReadRefusesAFileThatIsTooLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tools.yaml")
	if err := os.WriteFile(path, bytes.Repeat([]byte("# comment\n"), maxFile/10+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("got the error %v", err)
	}
}

func TestTheBuiltInToolsAreLoadedWhereTheyAreInstalled(t *testing.T) {
	var notes bytes.Buffer
	found, err := Installed("", func(s string) { notes.WriteString(s + "\n") })
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.LoadTools(Defs(found), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := parse("tools.yaml", builtIn)
	if err != nil {
		t.Fatal(err)
	}
	missing := strings.Count(notes.String(), "is not installed")
	if len(tools)+missing != len(entries) || len(tools) == 0 {
		t.Errorf("%d tools and %d notes for %d entries:\n%s", len(tools), missing, len(entries), notes.String())
	}
}
