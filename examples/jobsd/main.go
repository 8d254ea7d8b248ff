// Command jobsd is a jobs daemon: it runs programs for agents as jobs that outlive
// calls and connections, and keeps all state in NATS JetStream, which is built in
// or a cluster of yours.
//
//	jobsd [serve] [flags]     take jobs and run them, in one process
//	jobsd front [flags]       only take jobs
//	jobsd worker [flags]      only run them
//	jobsd token AGENT         print the variables with which an agent is let in
//	jobsd jobs                list the jobs of all agents
//	jobsd logs [-f] ID        print or follow the output of a job
//	jobsd cancel ID...        cancel jobs
//	jobsd version
//
// The first run needs nothing: it makes a state directory and in it a file with an
// agent named me. -h lists the commands, and COMMAND -h its flags.
//
// Exit statuses:
//
//	0    done; for serve, front and worker: shut down after a signal
//	1    it failed; for logs -f: the job did not end as done with exit code 0; for
//	     cancel: a job was not cancelled
//	2    nothing was done: the command line or the agents file is wrong
//	130  interrupted; for serve, front and worker: a second signal cancelled the
//	     running jobs
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells have it
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// command is what jobsd is told to do.
type command struct {
	name, arguments, summary string
	run                      func(ctx context.Context, args []string, io streams) error
}

// streams are where a command writes.
type streams struct{ stdout, stderr io.Writer }

// note says something to the user that is no output.
func (s streams) note(format string, args ...any) {
	_, _ = fmt.Fprintf(s.stderr, "jobsd: "+format+"\n", args...)
}

func commands() []command {
	return []command{
		serveCommand(roleServe),
		serveCommand(roleFront),
		serveCommand(roleWorker),
		{"token", "AGENT", "make a token and print the variables with which an agent is let in", runToken},
		{"jobs", "", "list the jobs of all agents, the newest first", runJobs},
		{"logs", "ID", "print the output of a job, or follow it", runLogs},
		{"cancel", "ID...", "cancel jobs", runCancel},
		{"version", "", "print the version", runVersion},
	}
}

// run is main with its surroundings as parameters; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	out := streams{stdout, stderr}
	name := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	} else if len(args) > 0 && isHelp(args[0]) {
		name = "help"
	}
	if name == "help" {
		_, _ = io.WriteString(stdout, usage())
		return exitOK
	}
	for _, c := range commands() {
		if c.name == name {
			return c.exit(args, out)
		}
	}
	return complain(out, wrongUsage("there is no command %q; jobsd -h lists them", name))
}

func isHelp(arg string) bool {
	name := strings.TrimLeft(arg, "-")
	return name != arg && (name == "h" || name == "help")
}

// exit runs a command and returns the exit status.
func (c command) exit(args []string, out streams) int {
	ctx := context.Background()
	if !c.serves() {
		// A daemon hears of each signal by itself.
		interrupted, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		ctx = interrupted
	}
	err := c.run(ctx, args, out)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case ctx.Err() != nil:
		out.note("interrupted")
		return exitInterrupted
	}
	return complain(out, err)
}

// failure is an error with the exit status that stands for it.
type failure struct {
	status int
	err    error // nil: all is said
}

func (f *failure) Error() string {
	if f.err == nil {
		return "failed"
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func wrongUsage(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

// complain says what went wrong and returns the exit status.
func complain(out streams, err error) int {
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{exitFailed, err}
	}
	if f.err != nil {
		out.note("%v", err)
	}
	return f.status
}

func usage() string {
	var b strings.Builder
	b.WriteString("usage: jobsd [command] [flags]\n\nA jobs daemon for agents, and the commands of its operator.\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-14s %s\n", strings.TrimSpace(c.name+" "+c.arguments), c.summary)
	}
	b.WriteString("\nWithout a command jobsd serves. jobsd COMMAND -h lists the flags of a command.\n\n" +
		"In a shell, with a daemon running in another one:\n  eval \"$(jobsd token me)\"\n" +
		"\nExit status: 0 done; 1 it failed; 2 nothing was done; 130 interrupted.\n")
	return b.String()
}
