//go:build unix

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/examples/internal/readme"
)

var update = flag.Bool("update", false, "write what the README shows of the output")

// TestTheReadmesFirstMinute does what the README says, with the programs that it
// names, as a user who has no daemon yet.
func TestTheReadmesFirstMinute(t *testing.T) {
	home := newSite(t).dir
	jobsd, agent := build(t, "."), build(t, "../agent")
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("OTTERSD_URL", "")
	t.Setenv("OTTERS_AGENT_TOKEN", "")
	var said []string
	c := launchProgram(t, jobsd, "", "wrote")
	said = append(said, c.heard...)
	c.await(t, "lets a shell's programs in")
	said = append(said, c.heard...)
	first := ""
	for _, line := range said {
		if strings.HasPrefix(line, "jobsd: ") {
			first += strings.ReplaceAll(line, home, "/home/you") + "\n"
		}
	}
	readme.Check(t, "README.md", "What jobsd prints at its first start", first, *update)

	script := exec.Command("sh", "-c", `eval "$("$0" token me)" && exec "$1" -offline`, jobsd, agent)
	script.Dir = ".."
	out, err := script.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	line := regexp.MustCompile(`(?m)^jobs: .*\n`).FindString(string(out))
	readme.Check(t, "README.md", "The line of the agent's header", line, *update)

	out, err = exec.Command(jobsd, "jobs").Output()
	if err != nil {
		t.Fatal(err)
	}
	readme.Check(t, "README.md", "What jobsd jobs prints then", steady(string(out)), *update)
}

// steady replaces what differs from run to run.
func steady(out string) string {
	out = regexp.MustCompile(`job_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllString(out, "job_0b7e6f1c-52d4-4b0e-9a3f-8c1d2e3f4a5b")
	out = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`).ReplaceAllString(out, "2026-01-02 15:04:05")
	return regexp.MustCompile(`\b\ds `).ReplaceAllString(out, "2s ")
}

// build makes the program of a package.
func build(t *testing.T, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func TestTheReadmeNamesFlagsThatExist(t *testing.T) {
	src, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"json": true, "f": true, "h": true}
	for _, r := range []role{roleServe, roleFront, roleWorker} {
		newOptions(r).flags().VisitAll(func(f *flag.Flag) { known[f.Name] = true })
	}
	table, _, _ := strings.Cut(string(src), "\n## Numbers\n") // which has flags of go test
	named := 0
	for _, m := range regexp.MustCompile("`-([a-z-]+)| -([a-z-]{2,}) ").FindAllStringSubmatch(table, -1) {
		named++
		if name := m[1] + m[2]; !known[name] {
			t.Errorf("the README names -%s", name)
		}
	}
	if named < 20 {
		t.Errorf("only %d flags were found in the README", named)
	}
}
