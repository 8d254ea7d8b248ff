//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/examples/internal/readme"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

var durations = regexp.MustCompile(`(duration: |"duration_ms":)\d+`)

// example is a machine as the README has it: two programs and an optional one, a
// daemon that was stopped, and no pilotctl. It returns a function that runs the
// program and makes what differs from machine to machine what the README shows.
func example(t *testing.T) func(args ...string) string {
	t.Helper()
	home := machine(t, "git", "wc")
	d := jobstest.New(t, jobstest.Options{})
	t.Setenv(jobsclient.EnvDaemonURL, d.URL())
	t.Setenv(jobsclient.EnvAgentToken, d.Token())
	d.Stop()
	writeFile(t, filepath.Join(home, "my.yaml"), `
tools:
  - {name: git, description: Runs git in the working copy., binary: git}
  - {name: count, description: "Counts lines (-l), words (-w) and bytes (-c) of files, or of stdin.", binary: wc}
  - {name: jq, description: Picks values out of JSON., binary: jq, optional: true}
`)
	bin := os.Getenv("PATH")
	if err := os.WriteFile(filepath.Join(bin, "apt-get"), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // is to be executable
		t.Fatal(err)
	}
	return func(args ...string) string {
		o := toolbox(t, "", append([]string{"-tools", "my.yaml"}, args...)...)
		out := strings.NewReplacer(bin, "/usr/bin", strings.TrimPrefix(d.URL(), "unix://"), "/home/you/.otters/otters.sock").Replace(o.stdout + o.stderr)
		return durations.ReplaceAllString(out, "${1}2")
	}
}

// checkBlock compares the first block of text behind a sentence of the README.
func checkBlock(t *testing.T, sentence, got string) {
	t.Helper()
	readme.Check(t, filepath.Join(here, "README.md"), sentence, got, *update)
}

func TestTheReadmeShowsWhatTheProgramPrints(t *testing.T) {
	toolbox := example(t)
	list, _, _ := strings.Cut(toolbox("list"), "toolbox: ") // notes stand on standard error
	checkBlock(t, "`toolbox -tools my.yaml list` prints:", list)
	checkBlock(t, "`toolbox -tools my.yaml schema count` prints:", toolbox("schema", "count"))
	checkBlock(t, "`toolbox -tools my.yaml call count '{\"args\":[\"-l\"],\"stdin\":\"a\\nb\\n\"}'` prints:",
		toolbox("call", "count", `{"args":["-l"],"stdin":"a\nb\n"}`))
	checkBlock(t, "With `{\"args\":[\"-x\"]}` it is an error result", toolbox("call", "count", `{"args":["-x"]}`))
	checkBlock(t, "`toolbox -tools my.yaml doctor` prints:", toolbox("doctor"))
}

func TestTheReadmeNamesEveryKeyOfTheJSON(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(here, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []string{
		keysOf[listed](), keysOf[parameter](), keysOf[result](), keysOf[finding](), keysOf[errorJSON](), keysOf[versions](),
	} {
		if !strings.Contains(string(src), keys) {
			t.Errorf("%s is missing", keys)
		}
	}
}

func TestTheProgramHoldsNoProviderAndNoFake(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Dir = here
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		for _, unwanted := range []string{"fantasy/providers", "anthropic-sdk", "openai-go", "genai", "aws-sdk", "cloud.google.com", "pilottest", "jobstest", "go-cmp", "goleak"} {
			if strings.Contains(path, unwanted) {
				t.Errorf("the program holds %s", path)
			}
		}
	}
	if !strings.Contains(string(out), "charm.land/fantasy\n") {
		t.Errorf("this is not the list of what the program holds:\n%s", out)
	}
}

func TestTheProgramIsOneStaticBinaryOfTheSizeThatTheReadmeTells(t *testing.T) {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("the README tells the size of linux/amd64")
	}
	src, err := os.ReadFile(filepath.Join(here, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`one static binary of (\d+) MB`).FindSubmatch(src)
	if told == nil {
		t.Fatal("the README tells no size")
	}
	want, _ := strconv.ParseFloat(string(told[1]), 64)
	info, err := os.Stat(built)
	if err != nil {
		t.Fatal(err)
	}
	if got := float64(info.Size()) / 1e6; got > want*1.1 || got < want*0.9 {
		t.Errorf("it has %.1f MB, and the README tells %v", got, want)
	}
	// Alone in an empty environment: what it needs, it has.
	cmd := exec.Command(built, "doctor")
	cmd.Env, cmd.Dir = []string{}, t.TempDir()
	if o := ended(t, cmd); o.status != exitOK || !strings.Contains(o.stdout, "0 faults") {
		t.Errorf("%+v", o)
	}
	if isDynamic(t, built) {
		t.Error("it needs a loader of the system")
	}
}

// BenchmarkStart compares the start of the program with that of the smallest
// there is.
func BenchmarkStart(b *testing.B) {
	for _, bm := range []struct {
		name string
		argv []string
	}{{"toolbox version", []string{built, "version"}}, {"true", []string{"true"}}} {
		b.Run(bm.name, func(b *testing.B) {
			for b.Loop() {
				if err := exec.Command(bm.argv[0], bm.argv[1:]...).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
