// Package run runs one child process within bounds: of time, of memory, of
// what it may leave behind.
package run

import (
	"context"
	"errors"
	"time"
)

// Command says what to run. Path, Dir and Env are taken as they are.
type Command struct {
	Path  string   // absolute path of the program
	Args  []string // argv after the program's name
	Dir   string   // working directory, absolute
	Env   []string // the whole environment; nil: an empty one
	Stdin string   // the child's standard input; "": the null device

	Timeout time.Duration // 0 or negative: none
	Grace   time.Duration // between SIGTERM and SIGKILL; 0: DefaultGrace, negative: SIGKILL at once

	Head, Tail int // bytes of each stream that are kept, from its start and from its end
}

// Output is what is kept of a stream.
type Output struct {
	Head, Tail []byte // the stream is Head, then Missing bytes, then Tail
	Missing    int64  // bytes that were read and not kept
}

// Result is how a child ended and what it printed.
type Result struct {
	ExitCode  int    // -1 when a signal ended the child
	Signal    string // name of that signal ("SIGKILL"), else ""
	TimedOut  bool   // Timeout ended it
	Cancelled bool   // the context ended it
	Stdout    Output
	Stderr    Output
	Duration  time.Duration
}

// Run starts the child, waits for it and reaps its process group. It returns
// an error only if no child ran: a plain sentence that names the program, the
// working directory, the interpreter or the argument at fault, or the
// context's error if that had ended.
func Run(ctx context.Context, c Command) (*Result, error) {
	return nil, errors.New("not built yet")
}
