//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

var update = flag.Bool("update", false, "write the goldens, and what the README shows of the output")

// limit bounds what takes moments, on a machine that is busy.
const limit = time.Minute

// built is the program as the README says how to build it, and builtPilotctl the
// fake one: as processes they start faster than the test binary does with -race.
var built, builtPilotctl string

func TestMain(m *testing.M) {
	pilottest.Main()
	flag.Parse()
	dir, err := os.MkdirTemp("", "toolbox")
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator),
		".", "github.com/fantasytools/fantasytools/pilot/pilottest/cmd/pilotctl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	built, builtPilotctl = filepath.Join(dir, "toolbox"), filepath.Join(dir, "pilotctl")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(dir)
		os.Exit(status)
	}))
}

// machine sets an environment for the test in which nothing is configured: no
// daemon, no pilotctl, a home without files, and a PATH with these programs. It
// returns the home, which is also the working directory.
func machine(t *testing.T, programs ...string) string {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{jobsclient.EnvDaemonURL, jobsclient.EnvAgentToken, pilot.EnvBinary, "PILOT_SOCKET", "PILOT_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", bin)
	t.Setenv("LC_ALL", "C")
	t.Chdir(home)
	return home
}

// outcome is what a run printed and how it ended.
type outcome struct {
	stdout, stderr string
	status         int
}

// toolbox runs the program in this process.
func toolbox(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(args, strings.NewReader(stdin), &stdout, &stderr)
	return outcome{stdout.String(), stderr.String(), status}
}

// decode reads the one JSON document that a run printed.
func decode[T any](t *testing.T, o outcome) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(o.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q (stderr %q)", err, o.stdout, o.stderr)
	}
	if d.More() {
		t.Fatalf("there is more than one document in %q", o.stdout)
	}
	return v
}

// process is the program as a process of its own, in the environment of the
// test. It is killed when the test has ended, or when it takes too long.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, built, args...)
	cmd.Env = os.Environ()
	return cmd
}

// ended runs a command to its end.
func ended(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func writeFile(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// golden compares with a file of testdata.
func golden(t *testing.T, dir, name, got string) {
	t.Helper()
	path := filepath.Join(dir, "testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", name, diff)
	}
}

// here is the directory of the package; tests change theirs.
var here = func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}()

func TestACommandLineThatIsWrongDoesNothingAndSaysWhatIsRight(t *testing.T) {
	machine(t, "sh")
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no command", nil, "usage: toolbox [flags] COMMAND"},
		{"no command, with a flag", []string{"-v"}, "usage: toolbox [flags] COMMAND"},
		{"an unknown command", []string{"lst"}, "the commands are list, schema, call, doctor, version"},
		{"an unknown flag", []string{"list", "-colour"}, "toolbox -h lists the flags"},
		{"a flag without its value", []string{"list", "-tools"}, "-tools"},
		{"too much for list", []string{"list", "sh"}, `there is "sh" too much: toolbox list`},
		{"two tools for schema", []string{"schema", "sh", "git"}, `there is "git" too much: toolbox schema [TOOL]`},
		{"no tool for call", []string{"call"}, "toolbox call TOOL [INPUT|-]"},
		{"an input that the shell has split", []string{"call", "sh", `{"args":`, `["-c"]}`}, "quote it for the shell"},
		{"a result file for list", []string{"list", "-o", "x"}, "-o is for call"},
		{"the result to standard output", []string{"call", "sh", "{}", "-o", "-"}, "-o is for a file"},
		{"a tools file of a variable that is not set", []string{"list", "-tools", ""}, "-tools is empty"},
		{"a workdir of blanks", []string{"list", "-workdir", " "}, "-workdir is empty"},
		{"a tools file without an end", []string{"list", "-tools", "/dev/zero"}, "longer than 1048576 bytes"},
		{"no time", []string{"doctor", "-wait", "0s"}, "-wait is 0s"},
		{"a time without a unit", []string{"doctor", "-wait", "5"}, "-wait"},
		{"a tools file that is not there", []string{"list", "-tools", "none.yaml"}, "none.yaml"},
		{"a workdir that is not there", []string{"list", "-workdir", "none"}, "does not exist"},
		{"an unknown tool", []string{"schema", "none-of-them"}, "toolbox list names all"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := toolbox(t, "", tc.args...)
			if o.status != exitUsage || o.stdout != "" || !strings.Contains(o.stderr, tc.want) {
				t.Errorf("status %d, stdout %q, stderr %q; want %q", o.status, o.stdout, o.stderr, tc.want)
			}
			where := 0
			if len(tc.args) > 0 && !slices.Contains(tc.args, "-tools") { // which takes the next word
				where = len(tc.args)
			}
			o = toolbox(t, "", slices.Insert(slices.Clone(tc.args), where, "-json")...)
			if e := decode[errorReport](t, o).Error; o.status != exitUsage || e.Status != exitUsage || e.Message == "" {
				t.Errorf("with -json: status %d, %+v", o.status, e)
			}
		})
	}
}

func TestFlagsStandBeforeBehindAndBetween(t *testing.T) {
	want := &options{command: "call", args: []string{"sh", "-"}, toolsFile: "t", workDir: "w", output: "o", wait: time.Second, json: true, verbose: true}
	for _, line := range []string{
		"-tools t -workdir w -o o -wait 1s -json -v call sh -",
		"call sh - -tools t -workdir w -o o -wait 1s -json -v",
		"-tools=t call -workdir=w -json sh --o o -v - -wait 1s",
		"-tools t -workdir w -o o -wait 1s -json -v call -- sh -",
	} {
		got, err := parseFlags(strings.Fields(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	got, err := parseFlags([]string{"call", "sh", "--", "-json"})
	if err != nil || got.json || !slices.Equal(got.args, []string{"sh", "-json"}) {
		t.Errorf("behind --: %+v, %v", got, err)
	}
}

func TestHelpNamesEveryCommandFlagAndVariable(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"help"}, {"--help"}, {"call", "-h"}, {"help", "doctor"}} {
		o := toolbox(t, "", args...)
		if o.status != exitOK || o.stderr != "" || o.stdout != usage() {
			t.Errorf("%q: status %d, stderr %q", args, o.status, o.stderr)
		}
	}
	help := usage()
	newFlagSet(&options{}).VisitAll(func(f *flag.Flag) {
		if !strings.Contains(help, "  -"+f.Name) {
			t.Errorf("-%s is missing", f.Name)
		}
	})
	for _, c := range commands {
		if !strings.Contains(help, "\n  "+c.name+" ") {
			t.Errorf("%s is missing", c.name)
		}
	}
	for _, name := range []string{jobsclient.EnvDaemonURL, jobsclient.EnvAgentToken, pilot.EnvBinary, "NO_COLOR"} {
		if !strings.Contains(help, name) {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestVersionNamesFantasyGoAndThePlatform(t *testing.T) {
	o := toolbox(t, "", "version")
	if o.status != exitOK || !strings.HasPrefix(o.stdout, "toolbox ") || !strings.Contains(o.stdout, ", go1.") || strings.Count(o.stdout, "\n") != 1 {
		t.Errorf("%+v", o)
	}
	if v := decode[versions](t, toolbox(t, "", "version", "-json")); v.Go == "" || v.Platform == "" || v.Toolbox == "" || v.Fantasy == "" {
		t.Errorf("%+v", v)
	}
}

func TestTheLogIsOnStandardErrorAndOnlyWhereItIsWanted(t *testing.T) {
	machine(t, "sh")
	args := []string{"call", "sh", `{"args":["-c","echo a"]}`}
	if o := toolbox(t, "", args...); strings.Contains(o.stderr, "DEBUG") {
		t.Errorf("%+v", o)
	}
	if o := toolbox(t, "", append(args, "-v")...); o.stdout != "a\n" || !strings.Contains(o.stderr, "DEBUG\ttool ran its program") {
		t.Errorf("%+v", o)
	}
}

func TestOutputThatNobodyTakesIsAFailure(t *testing.T) {
	machine(t, "sh")
	for _, args := range [][]string{{"list"}, {"schema"}, {"doctor"}, {"doctor", "-json"}, {"version"}, {"-h"}, {"help", "-json"}, {"call", "sh", `{"args":["-c","echo x"]}`}} {
		var stderr bytes.Buffer
		status := run(args, strings.NewReader(""), full{}, &stderr)
		if status != exitFailed || !strings.Contains(stderr.String(), "toolbox: writing the output: no room") {
			t.Errorf("%q: status %d, %q", args, status, stderr.String())
		}
	}
}

// full is a device without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }
