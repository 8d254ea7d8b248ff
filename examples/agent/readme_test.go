//go:build unix

package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/examples/internal/readme"
)

var update = flag.Bool("update", false, "write what the READMEs show of the agent's output")

// What differs from run to run and from machine to machine, and what stands for
// it in the READMEs.
var (
	workDirs      = regexp.MustCompile(`(?m)^workdir: /(?:.*/)?([^/\n]+)$`)
	jobIDs        = regexp.MustCompile(`job_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	durations     = regexp.MustCompile(`(?m)(^\[\d+\] (?:exit code \d+|timed out|cancelled), )[0-9.]+m?s\b`)
	startDuration = regexp.MustCompile(`(?m)(^\[\d+\] job running, )\d+s\b`)
	jobDurations  = regexp.MustCompile(`(?m)(^\[\d+\] job .*?, )\d+s\b`)
	peerDurations = regexp.MustCompile(`(?m)(^\[\d+\] answered, )[0-9.]+m?s$`)
)

func normalise(out string) string {
	out = workDirs.ReplaceAllString(out, "workdir: /home/you/$1")
	out = jobIDs.ReplaceAllString(out, "job_0b7e6f1c-52d4-4b0e-9a3f-8c1d2e3f4a5b")
	out = durations.ReplaceAllString(out, "${1}5ms")
	out = jobDurations.ReplaceAllString(out, "${1}2s")
	out = startDuration.ReplaceAllString(out, "${1}0s")
	return peerDurations.ReplaceAllString(out, "${1}50ms")
}

// offlineRun is what the agent prints in dir where no program is missing, and
// nothing but its own network and daemon is there.
func offlineRun(t *testing.T, dir string) string {
	t.Helper()
	cmd := command(t)
	cmd.Dir = dir
	programs := linkPrograms(t, "sh", "grep", "find", "wc", "sort", "head", "ls", "sleep")
	if err := os.Symlink("sh", filepath.Join(programs, "git")); err != nil { // is there, and not called
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "PATH="+programs)
	stdout, stderr, status := output(t, cmd)
	if status != exitOK || stderr != "" {
		t.Errorf("exit status %d, stderr %q", status, stderr)
	}
	return normalise(stdout)
}

// The files of the examples are part of what is shown: a directory or program
// more needs an -update.
func TestTheReadmeShowsTheFirstRun(t *testing.T) {
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	out := strings.Replace(offlineRun(t, dir), "/home/you/examples\n", "/home/you/fantasytools/examples\n", 1)
	readme.Check(t, "../../README.md", "<!-- The output of that command; a test of examples/agent compares it. -->", out, *update)
	if n := strings.Count(out, "\n"); n > 90 {
		t.Errorf("the first run prints %d lines; 90 can be read", n)
	}
}

func TestTheOfflineRunShowsRealCallsOnRealFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "garden")
	writeFiles(t, dir, map[string]string{
		"README.md":       "# A garden\n\nWhat grows here.\n",
		"plants.txt":      "ash\nbirch\ncedar\ndogwood\n",
		"empty":           "",
		"water/main.go":   "package main\n\nfunc main() {\n}\n",
		"water/README.md": "# Watering\n",
		"water/.hidden":   "x",
	})
	readme.Check(t, "README.md", "With `-workdir ~/garden` it prints:", offlineRun(t, dir), *update)
}
