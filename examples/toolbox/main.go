// Command toolbox looks at the tools of an agent, and calls them, without an
// agent: the programs of a tools file, jobs on a daemon, and the Pilot network.
//
//	go -C examples run ./toolbox list
//	go -C examples run ./toolbox schema git
//	go -C examples run ./toolbox call git '{"args":["status"]}'
//	go -C examples run ./toolbox doctor
//
// The tools are those that an agent has in the same environment: nothing is
// simulated. A call goes through the loop of fantasy's agent with a model that
// makes this one call, so that its input is checked, repaired and refused as a
// model's is. -h describes the commands, the flags and the variables.
//
// Exit statuses:
//
//	0    done; doctor found no fault
//	1    call: the result is an error; doctor: something that is set up is
//	     broken; any command: its output could not be written
//	2    nothing was done: the command line, the tools file or a program of it
//	     is wrong
//	130  interrupted, and the program it was running is stopped
//
// "go run" prints any other status than 0 and itself ends with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"
)

const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells have it
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings as parameters; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// The programs that tools run lead sessions of their own, so Ctrl-C reaches
	// only this process: the end of the context stops them. SIGPIPE is not among
	// the signals: once it is asked for it comes for every pipe and socket, also
	// when a program does not read all of its input.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()

	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, paint: painterFor(stdout)}
	opts, err := parseFlags(args)
	a.opts = opts
	if errors.Is(err, flag.ErrHelp) {
		a.answered = true // -h is for people, whatever else is asked for
		return a.end(ctx, a.printf("%s", usage()))
	}
	if err != nil {
		return a.end(ctx, refused(err))
	}
	a.logger = newLogger(stderr, opts.verbose)
	defer zap.ReplaceGlobals(a.logger)()
	return a.end(ctx, a.do(ctx))
}

// app is one run of the program.
type app struct {
	opts           *options
	stdin          io.Reader
	stdout, stderr io.Writer
	paint          painter // of stdout
	logger         *zap.Logger
	notes          []string // what was left out of the tools, and why
	answered       bool     // with -json: the one value is on stdout
}

// do carries out the command.
func (a *app) do(ctx context.Context) error {
	switch a.opts.command {
	case "list":
		return a.list()
	case "schema":
		return a.schema(ctx)
	case "call":
		return a.call(ctx)
	case "doctor":
		return a.doctor(ctx)
	}
	return a.version()
}

// failure is an error with the exit status that it means.
type failure struct {
	status int
	err    error
	near   []string // names that may have been meant
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// refused is what kept the program from doing anything.
func refused(err error) error { return &failure{status: exitUsage, err: err} }

// errReported is the error of a command whose output has said what is wrong.
var errReported = errors.New("reported")

// end says what went wrong and returns the exit status.
func (a *app) end(ctx context.Context, err error) int {
	if err == nil || errors.Is(err, errReported) {
		if err == nil {
			return exitOK
		}
		return exitFailed
	}
	f := &failure{status: exitFailed, err: err}
	_ = errors.As(err, &f)
	if ctx.Err() != nil {
		f = &failure{status: exitInterrupted, err: errors.New("interrupted")}
	}
	a.note(f.err.Error())
	if a.opts.json && !a.answered {
		_ = a.printJSON(errorReport{errorJSON{Message: f.err.Error(), Status: f.status, Near: f.near}})
	}
	return f.status
}

// errorReport is what -json prints where a command did not come to its end.
type errorReport struct {
	Error errorJSON `json:"error"`
}

type errorJSON struct {
	Message string   `json:"message"`
	Status  int      `json:"status"` // the exit status
	Near    []string `json:"near,omitempty"`
}
