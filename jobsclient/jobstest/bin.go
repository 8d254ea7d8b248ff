package jobstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Bin is a binary that agents may submit jobs for: a real program, or a Go
// function that plays one. Exactly one of Path and Run is set.
type Bin struct {
	// Path is the program to run, absolute or found in PATH. It runs with the
	// environment of Env only, in Dir. A process that it leaves behind with its
	// output open is waited for 2 seconds.
	Path string
	Args []string // put before a job's own
	Env  []string
	Dir  string

	// Run plays a program and returns its exit code. When the job is cancelled,
	// or the daemon dies, its context ends, and what it does from then on has no
	// effect.
	Run func(ctx context.Context, p *Process) int
}

// Process is what a Bin.Run gets of its job. What it writes shows in the job at
// once.
type Process struct {
	JobID  string
	Args   []string
	Stdin  string
	Stdout io.Writer
	Stderr io.Writer
}

// Prints is a Bin that writes out to its standard output and ends with code.
func Prints(out string, code int) Bin {
	return Bin{Run: func(_ context.Context, p *Process) int {
		_, _ = io.WriteString(p.Stdout, out)
		return code
	}}
}

// Echo is a Bin that writes its arguments, a blank between them, and then its
// standard input.
func Echo() Bin {
	return Bin{Run: func(_ context.Context, p *Process) int {
		_, _ = io.WriteString(p.Stdout, strings.Join(p.Args, " ")+"\n"+p.Stdin)
		return 0
	}}
}

// Blocks is a Bin whose jobs run until end is closed, or until they are
// cancelled; a nil end is never closed. Then they write out and end with 0.
func Blocks(end <-chan struct{}, out string) Bin {
	return Bin{Run: func(ctx context.Context, p *Process) int {
		select {
		case <-end:
			_, _ = io.WriteString(p.Stdout, out)
		case <-ctx.Done():
		}
		return 0
	}}
}

// pipeDelay is how long a process outside the job's group, which no kill reaches,
// may keep the job, and Daemon.Close, waiting.
const pipeDelay = 2 * time.Second

// run runs the job's process to its end. An error tells that it did not start.
func (b Bin) run(ctx context.Context, p *Process) (int, error) {
	if b.Run != nil {
		return b.Run(ctx, p), nil
	}
	cmd := exec.CommandContext(ctx, b.Path, slices.Concat(b.Args, p.Args)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = b.Env, b.Dir, p.Stdout, p.Stderr
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if p.Stdin != "" {
		cmd.Stdin = strings.NewReader(p.Stdin)
	}
	ownGroup(cmd)
	cmd.Cancel = func() error { killGroup(cmd); return nil }
	cmd.WaitDelay = pipeDelay
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("system exec: start %s: %w", b.Path, err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return 0, fmt.Errorf("system exec: %w", err)
	}
	return max(0, cmd.ProcessState.ExitCode()), nil // the wire has no -1: a signal looks like success
}
