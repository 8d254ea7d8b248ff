package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/pilot"
)

// options are the command line.
type options struct {
	command string
	args    []string // of the command

	toolsFile string // "": the built-in one
	workDir   string // "": the current directory
	output    string // of call: the file for the result
	wait      time.Duration
	json      bool
	verbose   bool
}

// command is what usage and parseFlags know of a command.
type command struct {
	name, args, about string
	min, max          int // arguments
}

var commands = []command{
	{"list", "", "the tools: name, first line of the description, parameters", 0, 0},
	{"schema", "[TOOL]", "what a provider is sent for a tool, or for all, as JSON", 0, 1},
	{"call", "TOOL [INPUT|-]", "run a tool once; INPUT is a JSON object, - reads it from standard input", 1, 2},
	{"doctor", "", "check programs, jobs daemon and Pilot network, and say what to do", 0, 0},
	{"version", "", "the versions of this program and of what it is made of", 0, 0},
}

// defaultWait is how long doctor waits for one answer.
const defaultWait = 5 * time.Second

func newFlagSet(o *options) *flag.FlagSet {
	fs := flag.NewFlagSet("toolbox", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // run prints the error
	fs.Usage = func() {}
	fs.StringVar(&o.toolsFile, "tools", "", "read the tools from this YAML `file` (default: built in)")
	fs.StringVar(&o.workDir, "workdir", "", "run the tools in this `directory` (default: the current one)")
	fs.StringVar(&o.output, "o", "", "call: write the result, an image or a text, to this `file`")
	fs.DurationVar(&o.wait, "wait", defaultWait, "doctor: wait this `time` for each answer of pilotctl or a daemon")
	fs.BoolVar(&o.json, "json", false, "print one JSON value on standard output, whatever happens")
	fs.BoolVar(&o.verbose, "v", false, "log what the tools do on standard error")
	return fs
}

// parseFlags takes flags before, behind and between the other arguments. Its
// options are never nil: they say whether an error is to be printed as JSON.
func parseFlags(args []string) (*options, error) {
	o := &options{}
	fs := newFlagSet(o)
	var words []string
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return o, err
			}
			o.json = o.json || slices.Contains(args, "-json") || slices.Contains(args, "--json") // not read any more
			return o, fmt.Errorf("%w (toolbox -h lists the flags)", err)
		}
		rest := fs.Args()
		if read := len(args) - len(rest); read > 0 && args[read-1] == "--" {
			words = append(words, rest...)
			break
		}
		if len(rest) == 0 {
			break
		}
		words, args = append(words, rest[0]), rest[1:]
	}
	var blank error
	fs.Visit(func(f *flag.Flag) {
		if strings.TrimSpace(f.Value.String()) == "" { // as of a variable that is not set
			blank = fmt.Errorf("-%s is empty; give it a value or leave it out", f.Name)
		}
	})
	if blank != nil {
		return o, blank
	}
	return o, o.take(words)
}

// take reads the command and its arguments.
func (o *options) take(words []string) error {
	if len(words) == 0 {
		return errors.New("no command\n\n" + strings.TrimSuffix(usage(), "\n"))
	}
	if words[0] == "help" {
		return flag.ErrHelp
	}
	o.command, o.args = words[0], words[1:]
	for _, c := range commands {
		if c.name == o.command {
			return o.check(c)
		}
	}
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.name
	}
	return fmt.Errorf("there is no command %q; the commands are %s", o.command, strings.Join(names, ", "))
}

func (o *options) check(c command) error {
	synopsis := strings.TrimSpace("toolbox " + c.name + " " + c.args)
	switch n := len(o.args); {
	case n < c.min:
		return fmt.Errorf("something is missing: %s", synopsis)
	case n > c.max && c.name == "call":
		return fmt.Errorf("there is %q behind the input, which is one argument: quote it for the shell, as in toolbox call TOOL '{\"args\":[\"-l\"]}'", o.args[c.max])
	case n > c.max:
		return fmt.Errorf("there is %q too much: %s", o.args[c.max], synopsis)
	case o.output == "-":
		return errors.New("-o is for a file, and the result is on standard output without it; a file that is called - is ./-")
	case o.output != "" && c.name != "call":
		return errors.New("-o is for call")
	case o.wait <= 0:
		return fmt.Errorf("-wait is %v; it is a time over 0, such as 5s", o.wait)
	}
	return nil
}

func usage() string {
	var b strings.Builder
	b.WriteString("usage: toolbox [flags] COMMAND\n\nLooks at the tools of an agent, and calls them, without an agent.\n\nCommands:\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-20s %s\n", strings.TrimSpace(c.name+" "+c.args), c.about)
	}
	b.WriteString("\nFlags, which may also stand behind the command:\n")
	fs := newFlagSet(&options{})
	fs.SetOutput(&b)
	fs.PrintDefaults()
	fmt.Fprintf(&b, "\n%s and %s name a jobs daemon, and %s the pilotctl that is not in PATH.\n", jobsclient.EnvDaemonURL, jobsclient.EnvAgentToken, pilot.EnvBinary)
	b.WriteString("NO_COLOR turns colours off.\n\nExamples:\n" +
		"  toolbox call grep '{\"args\":[\"-rn\",\"TODO\",\".\"]}'\n" +
		"  toolbox call sh - < input.json\n" +
		"  toolbox -tools my.yaml -json doctor\n\n" +
		"Exit status: 0 done; 1 the result of call is an error, or doctor found a fault;\n2 nothing was done; 130 interrupted.\n")
	return b.String()
}
