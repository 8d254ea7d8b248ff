package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/fantasytools/fantasytools/jobsclient"
)

// defaultPrompt is what the built-in script answers.
const defaultPrompt = "Get to know this directory."

// options are the command line.
type options struct {
	toolsFile string // "": the built-in one
	workDir   string // "": the current directory
	script    string // "": the built-in one
	model     string // "": the service's default
	prompt    string
	offline   bool
	pilot     bool
	full      bool
	verbose   bool
	steps     int
	retries   int
}

// scripted reports whether a script plays the model's part whatever keys there
// are.
func (o *options) scripted() bool { return o.offline || o.script != "" }

func newFlagSet(o *options) *flag.FlagSet {
	fs := flag.NewFlagSet("agent", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // run prints the error
	fs.Usage = func() {}
	fs.StringVar(&o.toolsFile, "tools", "", "read the tools from this YAML `file` (default: built in)")
	fs.StringVar(&o.workDir, "workdir", "", "run the tools in this `directory` (default: the current one)")
	fs.StringVar(&o.script, "script", "", "let this `file` play the model's part; implies -offline")
	fs.StringVar(&o.model, "model", "", "ask the service for this model, by its `name`")
	fs.BoolVar(&o.offline, "offline", false, "use no service, whatever keys there are")
	fs.BoolVar(&o.pilot, "pilot", false, "use the Pilot network by pilotctl, or a simulated one if pilotctl is not installed;\nwithout -pilot a model has no Pilot tools, and a script those of a simulated network")
	fs.BoolVar(&o.full, "full", false, "print results whole; the model always reads them as the tools return them")
	fs.BoolVar(&o.verbose, "v", false, "log what the tools do on standard error")
	fs.IntVar(&o.steps, "steps", 30, "stop after this `number` of answers of the model")
	fs.IntVar(&o.retries, "retries", 2, "ask a service that fails this `number` of times more")
	return fs
}

func parseFlags(args []string) (*options, error) {
	o := &options{}
	fs := newFlagSet(o)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, fmt.Errorf("%w (-h lists the flags)", err)
	}
	for _, arg := range fs.Args() {
		if name := strings.TrimLeft(arg, "-"); name != arg && fs.Lookup(name) != nil {
			return nil, fmt.Errorf("flags stand before the prompt, and %s stands in it", arg)
		}
	}
	o.prompt = strings.TrimSpace(strings.Join(fs.Args(), " "))
	if o.prompt == "" {
		o.prompt = defaultPrompt
	}
	return o, o.check()
}

func (o *options) check() error {
	switch {
	case o.steps < 1:
		return fmt.Errorf("-steps is %d; it is at least 1", o.steps)
	case o.retries < 0:
		return fmt.Errorf("-retries is %d; it is at least 0", o.retries)
	case o.scripted() && o.model != "":
		return errors.New("-model names the model of a service, and -offline and -script use none; leave one out")
	}
	return nil
}

func usage() string {
	var b strings.Builder
	b.WriteString("usage: agent [flags] [prompt]\n\nAn agent whose tools are programs of this machine, jobs and the Pilot network.\n\nFlags:\n")
	fs := newFlagSet(&options{})
	fs.SetOutput(&b)
	fs.PrintDefaults()
	b.WriteString("\nThe first of these variables that is set chooses the service that holds the model:\n")
	for _, s := range services {
		fmt.Fprintf(&b, "  %-20s %s\n", s.variable(), s.describe())
	}
	b.WriteString("None is set: a script plays the model's part.\n")
	fmt.Fprintf(&b, "\n%s and %s name a jobs daemon; without them one in this process runs the jobs.\n", jobsclient.EnvDaemonURL, jobsclient.EnvAgentToken)
	b.WriteString("\nExit status: 0 done; 1 the run failed; 2 nothing was run; 130 interrupted.\n")
	return b.String()
}
