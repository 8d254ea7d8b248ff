//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/jobsclient"
)

func TestTokenLetsAShellInBeforeAnyDaemonRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's", "state")
	stdout, stderr, status := output("token", "me", "-state", dir)
	if status != exitOK || strings.Count(stdout, "\n") != 2 {
		t.Fatalf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if !strings.Contains(stderr, "wrote "+filepath.Join(dir, "agents.yaml")) {
		t.Errorf("stderr %q", stderr)
	}
	sh := exec.Command("sh", "-c", `eval "$VARIABLES"; printf '%s\n%s' "$OTTERSD_URL" "$OTTERS_AGENT_TOKEN"`)
	sh.Env = append(os.Environ(), "VARIABLES="+stdout)
	got, err := sh.Output()
	if err != nil {
		t.Fatal(err)
	}
	url, token, _ := strings.Cut(string(got), "\n")
	if url != "unix://"+filepath.Join(dir, "jobsd.sock") {
		t.Errorf("the address is %q", url)
	}
	r, err := agents.Open(filepath.Join(dir, "agents.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := r.ByToken(token); !ok || a.Name != "me" {
		t.Errorf("the token is one of %+v", a)
	}
	if strings.Contains(stderr, token) {
		t.Error("stderr holds the token")
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the state directory has the mode %v, %v", info.Mode(), err)
	}
	_, stderr, status = output("token", "-state", dir, "me")
	if status != exitOK || stderr != "" {
		t.Errorf("a second time: exit status %d, stderr %q", status, stderr)
	}
}

func TestTokenPrintsTheAddressOfTheDaemonThatRuns(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "address"), "unix:///run/a b/jobsd.sock\nhttp://127.0.0.1:5500\n")
	stdout, _, _ := output("token", "me", "-state", dir)
	if !strings.HasPrefix(stdout, "export OTTERSD_URL='unix:///run/a b/jobsd.sock'\nexport OTTERS_AGENT_TOKEN='jobsd_") {
		t.Errorf("stdout %q", stdout)
	}
	stdout, _, _ = output("token", "me", "-state", dir, "-url", "https://example.org")
	if !strings.HasPrefix(stdout, "export OTTERSD_URL='https://example.org'\n") {
		t.Errorf("stdout %q", stdout)
	}
}

func TestTokenPrintsForOtherReaders(t *testing.T) {
	dir := t.TempDir()
	url := `unix:///a'b\c`
	for format, want := range map[string]string{
		"env":        `export OTTERSD_URL='unix:///a'\''b\c'` + "\nexport OTTERS_AGENT_TOKEN='jobsd_",
		"fish":       `set -gx OTTERSD_URL 'unix:///a\'b\\c'` + "\nset -gx OTTERS_AGENT_TOKEN 'jobsd_",
		"powershell": `$env:OTTERSD_URL = 'unix:///a''b\c'` + "\n$env:OTTERS_AGENT_TOKEN = 'jobsd_",
	} {
		stdout, _, _ := output("token", "me", "-state", dir, "-url", url, "-format", format)
		if !strings.HasPrefix(stdout, want) || strings.Count(stdout, "\n") != 2 {
			t.Errorf("%s: stdout %q", format, stdout)
		}
	}
	stdout, _, _ := output("token", "me", "-state", dir, "-url", url, "-format", "json")
	var got map[string]string
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got[jobsclient.EnvDaemonURL] != url || !strings.HasPrefix(got[jobsclient.EnvAgentToken], "jobsd_") {
		t.Errorf("json: %q, %v", stdout, err)
	}
}

func TestTokenForAnAgentThatIsNotThere(t *testing.T) {
	stdout, stderr, status := output("token", "you", "-state", t.TempDir())
	if status != exitFailed || stdout != "" || !strings.Contains(stderr, `there is no agent "you"; there are me`) {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}

func TestTokenAddsToTheFileThatIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.yaml")
	writeFile(t, file, "agents: [{name: you}]\n")
	dir := filepath.Join(t.TempDir(), "none")
	if _, stderr, status := output("token", "you", "-state", dir, "-agents", file); status != exitOK || stderr != "" {
		t.Errorf("exit status %d, stderr %q", status, stderr)
	}
	src, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(src), "sha256:") {
		t.Errorf("the file is %q, %v", src, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the state directory was made: %v", err)
	}
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestATokenThatCouldNotBePrintedIsTold(t *testing.T) {
	var stderr strings.Builder
	status := run([]string{"token", "me", "-state", t.TempDir()}, closedWriter{}, &stderr)
	if status != exitFailed || !strings.Contains(stderr.String(), "delete it there") || strings.Contains(stderr.String(), "jobsd_") {
		t.Errorf("exit status %d, stderr %q", status, stderr.String())
	}
}
