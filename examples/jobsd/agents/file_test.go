//go:build unix

package agents

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/tool"
)

func TestAFileIsReadWithAllItsKeys(t *testing.T) {
	token := newToken()
	path := write(t, `
agents:
  - name: me
    tokens: ["`+hashOf(token).String()+`"]
    capabilities: [job_submit, job_watch]
    workdir: garden
    bins:
      - {name: water, binary: bin/water, args: [--slow, "2"], env: [LANG=C, API_KEY], timeout: 1m30s, description: Waters., doc: none.txt, max_output: 7, parallel: true}
      - {name: own, binary: own}
      - {name: gone, binary: there-is-no-such-program, optional: true}
  - name: you
`)
	garden := filepath.Join(filepath.Dir(path), "garden")
	water := executableFile(t, filepath.Join(garden, "bin", "water"))
	own := executableFile(t, filepath.Join(garden, "usr", "bin", "own"))
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := r.ByToken(token)
	want := &Agent{
		Name:         "me",
		Capabilities: []string{"job_submit", "job_watch"},
		Bins: map[string]*Bin{
			"water": {Path: water, Dir: garden, Def: tool.Def{
				Name: "water", Description: "Waters.", Binary: "bin/water", Args: []string{"--slow", "2"}, Doc: "none.txt",
				Env: []string{"LANG=C", "API_KEY"}, Timeout: 90 * time.Second, MaxOutput: 7, Parallel: true,
			}},
			"own": {Path: own, Dir: garden, Def: tool.Def{Name: "own", Binary: "own"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.Can(Cancel) || !got.Can(Watch) {
		t.Error("the capabilities are not kept to")
	}
	you, ok := r.ByName("you")
	if !ok || !you.Can(Cancel) || len(you.Bins) != 0 {
		t.Errorf("an agent with a name alone: %+v", you)
	}
	if diff := cmp.Diff([]string{"me", "you"}, r.Names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"own", "water"}, got.BinNames()); diff != "" {
		t.Error(diff)
	}
}

func TestAFileIsRefused(t *testing.T) {
	const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	agent := func(more string) string { return "agents:\n  - name: me\n" + more }
	for _, tc := range []struct{ name, src, want string }{
		{"an empty file", "", "no agents; they stand in a list under the key agents"},
		{"a file of comments", "# nothing\n", "no agents; they stand in a list under the key agents"},
		{"a key without a list", "agents:\n", "no agents; they stand in a list under the key agents"},
		{"what is not YAML", "agents: [", "agents.yaml: "},
		{"a text in place of the list", "agents: me", "agents.yaml: "},
		{"an unknown key", agent("    token: []\n"), `unknown field "token"`},
		{"a key given twice", agent("    name: you\n"), "already defined"},
		{"a second document", agent("---\nagents: []\n"), "second document"},
		{"an agent without a name", "agents:\n  - tokens: []\n", "agent number 1: the name is empty"},
		{"a name with a dot", "agents: [{name: a.b}]", `agent "a.b": the name may hold only letters`},
		{"a name that is too long", "agents: [{name: " + strings.Repeat("n", 65) + "}]", "at most 64"},
		{"a name given twice", agent("  - name: me\n"), `agent "me": there is another one of this name`},
		{"an unknown capability", agent("    capabilities: [job_wait]\n"), `the capability "job_wait" is not known; there are job_submit, job_status`},
		{"capabilities without a value", agent("    capabilities:\n"), "agent 1: capabilities is empty; write [] for none"},
		{"a hash that is too short", agent("    tokens: ['sha256:abcd']\n"), "entry 1 of tokens is not sha256: and 64 hexadecimal digits"},
		{"a hash of another kind", agent("    tokens: ['sha256:" + sum + "', 'md5:" + sum + "']\n"), "entry 2 of tokens is not sha256:"},
		{"a token at two agents", agent("    tokens: ['sha256:" + sum + "']\n  - {name: you, tokens: ['sha256:" + sum + "']}\n"), `agent "you": entry 1 of tokens stands at agent "me" already`},
		{"a directory that is not there", agent("    workdir: nowhere\n"), "nowhere does not exist"},
		{"a program that is not there", agent("    bins: [{name: a, binary: there-is-no-such-program}]\n"), `agent "me": tool "a": the binary "there-is-no-such-program" is neither in`},
		{"a bin without a name", agent("    bins: [{binary: sh}]\n"), `tool number 1 (binary "sh"): the name is empty`},
		{"a bin without a binary", agent("    bins: [{name: a}]\n"), `tool "a": the binary is empty`},
		{"two bins of one name", agent("    bins: [{name: a, binary: sh}, {name: A, binary: sh}]\n"), "have the same name"},
		{"a bin with the name of a tool", agent("    bins: [{name: job_submit, binary: sh}]\n"), "is that of a tool of this library"},
		{"a bad entry of env", agent("    bins: [{name: a, binary: sh, env: [=x]}]\n"), "neither KEY=VALUE nor KEY"},
		{"a duration without a unit", agent("    bins: [{name: a, binary: sh, timeout: 30}]\n"), "time.Duration"},
		{"an optional path", agent("    bins: [{name: a, binary: ./a, optional: true}]\n"), "optional is for a program that PATH may have"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Open(write(t, tc.src), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got the error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestAllProblemsOfAFileAreInOneError(t *testing.T) {
	_, err := Open(write(t, `
agents:
  - name: a.b
    tokens: [x]
    bins: [{name: "", binary: sh}, {name: gone, binary: ./gone}]
  - name: you
    workdir: nowhere
`), nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"the name may hold", "entry 1 of tokens", "tool number 1", `tool "gone"`, "nowhere does not exist"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 5 {
		t.Errorf("%d lines:\n%v", n, err)
	}
}

func TestWhatIsWrongWithAFileQuotesNoSecret(t *testing.T) {
	for _, src := range []string{
		"agents:\n  - name: me\n    tokens: [jobsd_secret]\n",
		"agents:\n  - name: me\n    tokens: {jobsd_secret: [}\n",
		"agents:\n  - name: me\n    bins: [{name: a, binary: sh, env: [KEY=jobsd_secret], wrong: 1}]\n",
		"agents:\n  - name: me\n    bins: [{name: a, binary: ./x, env: [KEY=jobsd_secret, KEY=jobsd_secret]}]\n",
	} {
		_, err := Open(write(t, src), nil)
		if err == nil || strings.Contains(err.Error(), "jobsd_secret") {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "none.yaml"), nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	_, err = Open(t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxFile+1); err != nil {
		t.Fatal(err)
	}
	_, err = Open(big, nil)
	if err == nil || !strings.Contains(err.Error(), "it may have 1048576") {
		t.Errorf("a file that is too large: %v", err)
	}
}

func TestAByteOrderMarkIsNoPartOfTheFile(t *testing.T) {
	r, err := Open(write(t, "\uFEFFagents: [{name: me}]\r\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.ByName("me"); !ok {
		t.Error("the agent is not there")
	}
}
