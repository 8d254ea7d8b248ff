// Command agent is a small agent on charm.land/fantasy whose tools are programs
// of this machine, jobs on a daemon and the Pilot network. It is meant to be
// read and copied.
//
//	go -C examples run ./agent [flags] [prompt]
//
// The tools come from a YAML file, by default tools.yaml, which is built in and
// names programs found on any Linux or macOS. The model is that of a service
// whose key is in the environment; without a key a script plays the model's
// part, so that the first run needs nothing but Go. The agent loop, the tools
// and the files are real in both cases. -h lists the flags and the variables.
//
// Jobs run on the daemon that OTTERSD_URL and OTTERS_AGENT_TOKEN name, or else
// on one in this process, as real processes that end with it. The Pilot network
// is the real one only with -pilot and where pilotctl is installed; a script has
// a simulated one without it, and a model none.
//
// Every call is printed with its input, and then its exit code, duration, size
// and result.
//
// Exit statuses:
//
//	0    the run came to its end
//	1    the run failed, or it took more steps than -steps allows
//	2    nothing was run: the command line, the environment, the tools file or
//	     the script is wrong
//	130  the run was interrupted and the program it was running is stopped
//
// "go run" prints any other status than 0 and itself ends with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"charm.land/fantasy"
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
	"github.com/fantasytools/fantasytools/tool"
)

const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells have it
)

const systemPrompt = `You are an agent on a user's machine and answer with the help of your tools.
They run programs in the current directory; there is no shell unless you call one.
A program that fails has told you something: read it and go on.
Change no files unless you are asked to.`

func main() {
	pilottest.Main() // started as pilotctl this program plays the simulated network's
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings as parameters; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	// The programs that tools run lead sessions of their own, so Ctrl-C reaches
	// only this process: the end of the context stops them. The same goes for a
	// terminal that is closed.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	defer survivePipes()()

	opts, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = io.WriteString(stdout, usage())
		return exitOK
	}
	if err != nil {
		return complain(stderr, exitUsage, err)
	}
	model, err := chooseModel(ctx, opts)
	if err != nil {
		return complain(stderr, exitUsage, err)
	}
	logger := newLogger(stderr, opts.verbose)
	defer zap.ReplaceGlobals(logger)() // BuildJobTools warns there
	note := func(what string) { _, _ = fmt.Fprintf(stderr, "agent: %s\n", what) }
	tools, err := loadTools(opts, model.scripted, note, logger)
	if err != nil {
		return complain(stderr, exitUsage, err)
	}
	defer tools.close()
	defer stop() // before that, so that a second Ctrl-C is not caught
	p := newPrinter(stdout, opts.full)
	p.w = lastReader{stdout, stop}
	switch err := play(ctx, opts, model, tools, p); {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		return complain(stderr, exitInterrupted, errors.New("interrupted"))
	default:
		return complain(stderr, exitFailed, err)
	}
}

// survivePipes keeps a reader of the output that went away from ending the process
// at once, with programs running. The signal itself says nothing more, for it also
// comes when a program does not read its standard input: see [lastReader].
func survivePipes() (undo func()) {
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	return func() { signal.Stop(pipes) }
}

// lastReader writes to w until that fails, which interrupts the run: nobody reads
// what it does.
type lastReader struct {
	w         io.Writer
	interrupt func()
}

func (l lastReader) Write(b []byte) (int, error) {
	n, err := l.w.Write(b)
	if err != nil {
		l.interrupt()
	}
	return n, err
}

// play lets the agent work on the prompt and prints what happens.
func play(ctx context.Context, opts *options, m *model, tools toolsets, p *printer) error {
	if err := p.header(m.label, opts, tools); err != nil {
		return err
	}
	agent := fantasy.NewAgent(m,
		fantasy.WithSystemPrompt(systemPrompt+tools.advice()),
		fantasy.WithTools(tools.all()...),
		fantasy.WithStopConditions(fantasy.StepCountIs(opts.steps)),
		fantasy.WithMaxRetries(opts.retries),
	)
	result, err := agent.Stream(ctx, fantasy.AgentStreamCall{
		Prompt:         opts.prompt,
		RepairToolCall: tool.RepairToolCall,
		OnTextDelta:    p.text,
		OnTextEnd:      p.endText,
		OnToolCall:     p.call,
		OnToolResult:   p.result,
		OnRetry:        p.retry,
	})
	if err != nil {
		_ = p.endText("")
		return m.explain(err)
	}
	if err := p.footer(result); err != nil {
		return err
	}
	return unfinished(result)
}

// unfinished says what kept the model from coming to its end.
func unfinished(r *fantasy.AgentResult) error {
	switch r.Steps[len(r.Steps)-1].FinishReason {
	case fantasy.FinishReasonToolCalls:
		return fmt.Errorf("stopped after %d steps, though the model wanted more; -steps allows them", len(r.Steps))
	case fantasy.FinishReasonLength:
		return errors.New("the answer is not complete: it reached the model's limit of tokens")
	case fantasy.FinishReasonContentFilter:
		return errors.New("the answer is not complete: a filter of the service held it back")
	}
	return nil
}

// complain says on w what went wrong and returns the status.
func complain(w io.Writer, status int, err error) int {
	_, _ = fmt.Fprintf(w, "agent: %v\n", err)
	return status
}
