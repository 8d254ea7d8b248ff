package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/examples/mcp/bridge"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// options are the command line.
type options struct {
	toolsFile string // "": the built-in one
	workDir   string // "": the current directory
	http      string // address; "": standard input and output
	tokenFile string // "": the token is in the environment, or there is none
	progress  time.Duration
	verbose   bool
}

func newFlagSet(o *options) *flag.FlagSet {
	fs := flag.NewFlagSet("mcp", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // run prints the error
	fs.Usage = func() {}
	fs.StringVar(&o.toolsFile, "tools", "", "read the programs from this YAML `file` (default: built in)")
	fs.StringVar(&o.workDir, "workdir", "", "run the programs in this `directory` (default: the current one)")
	fs.StringVar(&o.http, "http", "", "serve streamable HTTP at this `address`, such as 127.0.0.1:8765, in place of\nstandard input and output; an address of another interface needs a token")
	fs.StringVar(&o.tokenFile, "token-file", "", "ask clients by HTTP for the token in this `file`")
	fs.DurationVar(&o.progress, "progress", bridge.DefaultProgress, "tell a client that asks for it this often that its call still runs")
	fs.BoolVar(&o.verbose, "v", false, "log calls, and what the tools and the protocol do, on standard error")
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
	var blank string
	fs.Visit(func(f *flag.Flag) {
		if strings.TrimSpace(f.Value.String()) == "" {
			blank = f.Name
		}
	})
	switch {
	case blank != "": // as of a variable that is not set: without -token-file, all would be let in
		return nil, fmt.Errorf("-%s is empty; give it a value or leave it out", blank)
	case fs.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag, and there is nothing but flags (-h lists them)", fs.Arg(0))
	case o.tokenFile != "" && o.http == "":
		return nil, errors.New("-token-file is for -http: standard input and output belong to who started the server")
	case o.progress <= 0:
		return nil, fmt.Errorf("-progress is %v; it is more than 0", o.progress)
	}
	return o, nil
}

func usage() string {
	var b strings.Builder
	b.WriteString("usage: mcp [flags]\n\nServes programs of this machine, jobs and the Pilot network to a client of the\nModel Context Protocol, on standard input and output.\n\nFlags:\n")
	fs := newFlagSet(&options{})
	fs.SetOutput(&b)
	fs.PrintDefaults()
	fmt.Fprintf(&b, "\n%s and %s name a jobs daemon; without them there are no job tools.\n", jobsclient.EnvDaemonURL, jobsclient.EnvAgentToken)
	fmt.Fprintf(&b, "Without pilotctl there are no Pilot tools. %s may hold the token of -http.\n", envToken)
	b.WriteString("\nExit status: 0 the client or a signal ended it; 1 the connection failed; 2 nothing was served.\n")
	return b.String()
}
