//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// limit bounds what takes moments, on a machine that is busy.
const limit = time.Minute

// command is the built agent in an environment that holds no key. It is killed
// when the test has ended, or when it takes too long.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, agentBinary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "LC_ALL=C"}
	return cmd
}

// output runs the command to its end.
func output(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// linkPrograms makes a directory for PATH that holds only these programs.
func linkPrograms(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAProgramThatIsNotInstalledIsReportedAndLeftOut(t *testing.T) {
	cmd := command(t)
	cmd.Env = append(cmd.Env, "PATH="+linkPrograms(t, "sh", "grep", "find", "wc", "sort", "head", "ls"))
	stdout, stderr, status := output(t, cmd)
	if want := "agent: git is not installed; its tool is left out\n"; status != exitOK || stderr != want {
		t.Errorf("exit status %d, stderr %q, want %q", status, stderr, want)
	}
	if want := "\ntools:   sh, grep, find, wc, sort, head\n"; !strings.Contains(stdout, want) {
		t.Errorf("%q is missing in\n%s", want, stdout)
	}
}

func TestTheOfflineRunEndsWellInAnEmptyDirectory(t *testing.T) {
	stdout, stderr, status := output(t, command(t))
	if status != exitOK || !strings.Contains(stdout, "calls: 10, 1 of them failed\n") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
}

func TestAScriptPlaysWithToolsOfOnesOwn(t *testing.T) {
	cmd := command(t, "-tools", "my.yaml", "-script", "my.txt", "-workdir", "work", "Count", "them")
	writeFiles(t, cmd.Dir, map[string]string{
		"work/numbers": strings.Repeat("7\n", 40),
		"my.yaml":      "tools: [{name: show, description: Shows a file., binary: cat, args: [-u]}]",
		"my.txt":       "show {\"args\":[\"numbers\"]}\nshow {\"arg\":\"numbers\"}\nlist {}\n\n> There.",
	})
	stdout, stderr, status := output(t, cmd)
	if status != exitOK || stderr != "" {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
	for _, want := range []string{
		"model:   none, my.txt plays its part\nworkdir: /", "/work\ntools:   show\njobs:    job_submit,", "\nprompt:  Count them\n",
		`[1] show {"args":["numbers"]}`,
		"[1] exit code 0, ", ", 80 bytes\n",
		strings.Repeat("    7\n", 12) + "    … and 28 more lines, 55 bytes (-full prints them)\n",
		"[2] refused\n", // an unknown key
		"[3] refused\n    tool not found: list",
		"\nThere.\n",
		"steps: 2; calls: 3, 2 of them failed\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	for _, bad := range []string{"\x1b", "\r"} {
		if strings.Contains(stdout, bad) {
			t.Errorf("there is %q in a pipe", bad)
		}
	}
	cmd2 := command(t, append([]string{"-full"}, cmd.Args[1:]...)...)
	cmd2.Dir = cmd.Dir
	if full, _, _ := output(t, cmd2); !strings.Contains(full, strings.Repeat("    7\n", 40)) {
		t.Errorf("-full does not print all:\n%s", full)
	}
}

func TestChildrenSeeNoKey(t *testing.T) {
	cmd := command(t, "-script", "my.txt", "-full")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-secret-1", "ANTHROPIC_API_KEY=sk-secret-2", "GREETING=hello")
	writeFiles(t, cmd.Dir, map[string]string{"my.txt": "sh {\"args\":[\"-c\",\"env\"]}\n\n> There."})
	stdout, stderr, status := output(t, cmd)
	if status != exitOK || !strings.Contains(stdout, "GREETING=hello") || strings.Contains(stdout+stderr, "sk-secret") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
}

func TestARunThatNeedsMoreStepsThanAllowedFails(t *testing.T) {
	stdout, stderr, status := output(t, command(t, "-steps", "2"))
	if want := "agent: stopped after 2 steps, though the model wanted more; -steps allows them\n"; status != exitFailed || stderr != want {
		t.Errorf("exit status %d, stderr %q\n%s", status, stderr, stdout)
	}
}

func TestNothingIsRunIfTheSettingIsWrong(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		env  string
		want string
	}{
		{"an unknown flag", []string{"-nope"}, "", "flag provided but not defined: -nope"},
		{"a tools file that is not there", []string{"-tools", "none.yaml"}, "", "none.yaml"},
		{"a tools file with an unknown key", []string{"-tools", "bad.yaml"}, "", `unknown field "binry"`},
		{"a script that is not there", []string{"-script", "none.txt"}, "", "none.txt"},
		{"a broken script", []string{"-script", "bad.txt"}, "", "bad.txt:1: a call is"},
		{"a work dir that is not there", []string{"-workdir", "none"}, "", "none does not exist"},
		{"a model without a service", []string{"-model", "m"}, "", "no variable chooses one"},
		{"a service without a model", nil, "OPENAI_BASE_URL=http://127.0.0.1:1/v1", "needs -model"},
		{"an address that is none", []string{"-model", "m"}, "OPENAI_BASE_URL=localhost:1/secret", "OPENAI_BASE_URL is not an address"},
		{"no program that is installed", nil, "PATH=/none", "none of the tools' programs is installed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := command(t, tc.args...)
			if tc.env != "" {
				cmd.Env = append(cmd.Env, tc.env)
			}
			writeFiles(t, cmd.Dir, map[string]string{
				"bad.yaml": "tools: [{name: ls, description: Lists., binry: ls}]",
				"bad.txt":  "Hello",
			})
			stdout, stderr, status := output(t, cmd)
			if status != exitUsage || stdout != "" || !strings.Contains(stderr, tc.want) || strings.Contains(stderr, "secret") {
				t.Errorf("exit status %d, stdout %q, stderr %q, want %q", status, stdout, stderr, tc.want)
			}
		})
	}
}

func TestHelpIsNoError(t *testing.T) {
	stdout, stderr, status := output(t, command(t, "-h"))
	if status != exitOK || stderr != "" || stdout != usage() {
		t.Errorf("exit status %d, stderr %q\n%s", status, stderr, stdout)
	}
}
