//go:build unix

package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// environmentOf returns what a child of a Def sees.
func environmentOf(t *testing.T, d Def, work string) map[string]string {
	t.Helper()
	d.Name, d.Description, d.Binary = "env", "Prints the environment.", "/usr/bin/env"
	tools, err := LoadTools([]Def{d}, work, nil)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	resp := call(t, tools[0], Input{Stdin: "x"})
	for line := range strings.Lines(resp.Content) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if old, twice := env[name]; twice {
			t.Errorf("%s is there twice: %q, %q", name, old, value)
		}
		env[name] = value
	}
	return env
}

func TestTheEnvironmentOfAChild(t *testing.T) {
	work := t.TempDir()
	bin := filepath.Join(work, "usr", "bin")
	t.Setenv("OPENAI_API_KEY", "hidden-1")
	t.Setenv("OTTERS_AGENT_TOKEN", "hidden-2")
	t.Setenv("GITHUB_TOKEN", "named")
	t.Setenv("PLAIN", "kept")
	t.Setenv("FOO", "inherited")
	t.Setenv("PATH", "/usr/bin:/bin")
	got := environmentOf(t, Def{Env: []string{"FOO=1", "GITHUB_TOKEN", "MY_KEY=set", "UNSET_TOKEN", "EMPTY="}}, work)
	for name, want := range map[string]string{
		"FOO": "1", "GITHUB_TOKEN": "named", "MY_KEY": "set", "EMPTY": "", "PLAIN": "kept",
		"HOME": os.Getenv("HOME"), "PATH": bin + ":/usr/bin:/bin", "PWD": work,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s=%q (there: %v), want %q", name, value, ok, want)
		}
	}
	for _, name := range []string{"OPENAI_API_KEY", "OTTERS_AGENT_TOKEN", "UNSET_TOKEN"} {
		if value, ok := got[name]; ok {
			t.Errorf("%s=%q is there", name, value)
		}
	}
}

func TestPathOfADefKeepsUsrBinInFront(t *testing.T) {
	work := t.TempDir()
	bin := filepath.Join(work, "usr", "bin")
	if got := environmentOf(t, Def{Env: []string{"PATH=/opt/bin"}}, work)["PATH"]; got != bin+":/opt/bin" {
		t.Errorf("PATH=%q", got)
	}
	t.Setenv("PATH", "/only/here") // and unset it again after the test
	if err := os.Unsetenv("PATH"); err != nil {
		t.Fatal(err)
	}
	if got := environmentOf(t, Def{}, work)["PATH"]; got != bin+":/usr/local/bin:/usr/bin:/bin" {
		t.Errorf("without a PATH of this process, PATH=%q", got)
	}
}

func TestAWorkDirWithTheSeparatorOfPathIsNotPutThere(t *testing.T) {
	work := filepath.Join(t.TempDir(), "a:b")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := environmentOf(t, Def{Env: []string{"PATH=/opt/bin"}}, work)["PATH"]; got != "/opt/bin" {
		t.Errorf("PATH=%q", got)
	}
}

func TestAValueIsReadAtEachCall(t *testing.T) {
	tool := load(t, Def{Binary: "/bin/sh", Env: []string{"ROTATING_TOKEN"}})
	for _, value := range []string{"first", "second"} {
		t.Setenv("ROTATING_TOKEN", value)
		if resp := call(t, tool, script(`echo "$ROTATING_TOKEN"`)); resp.Content != value+"\n" {
			t.Errorf("got %q, want %q", resp.Content, value)
		}
	}
}
