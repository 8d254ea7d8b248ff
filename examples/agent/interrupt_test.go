//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fantasytools/fantasytools/examples/internal/pipetest"
)

// waitFor makes a named pipe in the command's directory, starts the command, and
// returns the pipe when a child of the agent has written to it.
func waitFor(t *testing.T, cmd *exec.Cmd, start func() error) *bufio.Reader {
	t.Helper()
	path := pipetest.Make(t, cmd.Dir)
	if err := start(); err != nil {
		t.Fatal(err)
	}
	return pipetest.Ready(t, path, limit)
}

// gone fails the test if a process still holds the pipe.
func gone(t *testing.T, pipe io.Reader) {
	t.Helper()
	pipetest.Gone(t, pipe, limit)
}

func TestAnInterruptStopsTheRunningChild(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd := command(t, "-script", "my.txt")
			writeFiles(t, cmd.Dir, map[string]string{
				"my.txt": `sh {"args":["-c","exec 3>pipe; sleep 300 & echo ready >&3; wait"]}` + "\n\n> There.",
			})
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			pipe := waitFor(t, cmd, cmd.Start)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			gone(t, pipe)
			if status := cmd.ProcessState.ExitCode(); status != exitInterrupted || stderr.String() != "agent: interrupted\n" {
				t.Errorf("exit status %d, stderr %q", status, stderr.String())
			}
			if out := stdout.String(); !strings.Contains(out, "\n[1] cancelled, ") || strings.Contains(out, "There.") {
				t.Errorf("stdout:\n%s", out)
			}
		})
	}
}

func TestAReaderThatGoesAwayEndsTheRunAndItsChild(t *testing.T) {
	cmd := command(t, "-tools", "my.yaml", "-script", "my.txt")
	writeFiles(t, cmd.Dir, map[string]string{
		"my.yaml": "tools: [{name: sh, description: A shell., binary: sh, parallel: true}]",
		"my.txt": `sh {"args":["-c","exec 3>pipe; sleep 300 & echo ready >&3; wait"]}` + "\n" +
			`sh {"args":["-c","read x <go"]}` + "\n\n> There.",
	})
	release := filepath.Join(cmd.Dir, "go")
	if err := syscall.Mkfifo(release, 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe := waitFor(t, cmd, cmd.Start)
	if err := stdout.Close(); err != nil { // as head does
		t.Fatal(err)
	}
	if err := os.WriteFile(release, []byte("\n"), 0o600); err != nil { // the second call ends, and its result has no reader
		t.Fatal(err)
	}
	_ = cmd.Wait()
	gone(t, pipe)
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted {
		t.Errorf("exit status %d", status)
	}
}

func TestAProgramThatDoesNotReadItsInputInterruptsNothing(t *testing.T) {
	cmd := command(t, "-script", "my.txt")
	writeFiles(t, cmd.Dir, map[string]string{
		"my.txt": `head {"args":["-c","1"],"stdin":"` + strings.Repeat("x", 4<<20) + `"}` + "\n\n> There.",
	})
	stdout, stderr, status := output(t, cmd)
	if status != exitOK || stderr != "" || !strings.Contains(stdout, "\nThere.\n") {
		t.Errorf("exit status %d: %s\n%.200s", status, stderr, stdout)
	}
}
