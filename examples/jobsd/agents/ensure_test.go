//go:build unix

package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheFirstFileServesItsUser(t *testing.T) {
	home := filepath.Join(t.TempDir(), `a "quoted" home: #1`)
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	path := filepath.Join(t.TempDir(), "agents.yaml")
	written, err := Ensure(path)
	if err != nil || !written {
		t.Fatalf("got %v, %v", written, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info, err)
	}
	token, err := AddToken(path, "me")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	me, ok := r.ByToken(token)
	if !ok || me.Name != "me" || !me.Can(Cancel) {
		t.Fatalf("the agent is %+v", me)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	if b := me.Bins["sh"]; b == nil || b.Path != sh || b.Dir != home {
		t.Errorf("sh is %+v", b)
	}
	if b := me.Bins["sort"]; b == nil || len(b.Def.Env) != 1 || b.Def.Env[0] != "LC_ALL=C" {
		t.Errorf("sort is %+v", b)
	}
}

func TestTheFirstFileIsRightWhereNothingIsInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	path := filepath.Join(t.TempDir(), "agents.yaml")
	if _, err := Ensure(path); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if me, ok := r.ByName("me"); !ok || len(me.Bins) != 0 {
		t.Errorf("the agent is %+v", me)
	}
}

func TestAFileThatIsThereIsNotWritten(t *testing.T) {
	path := write(t, "mine")
	dangling := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("nowhere", dangling); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, dangling} {
		if written, err := Ensure(p); err != nil || written {
			t.Errorf("%s: got %v, %v", p, written, err)
		}
	}
	if src, err := os.ReadFile(path); err != nil || string(src) != "mine" {
		t.Errorf("the file is %q, %v", src, err)
	}
	_, err := Ensure(filepath.Join(t.TempDir(), "none", "agents.yaml"))
	if err == nil || !strings.Contains(err.Error(), "locking the agents file") {
		t.Errorf("a directory that is not there: %v", err)
	}
}
