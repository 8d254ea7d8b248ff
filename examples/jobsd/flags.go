package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// parse reads flags that stand before, between and behind the other arguments, and
// returns those. -h prints the usage and is flag.ErrHelp.
func parse(fs *flag.FlagSet, about command, args []string, out streams) ([]string, error) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	var others []string
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			_, _ = io.WriteString(out.stdout, about.usage(fs))
			return nil, err
		}
		if err != nil {
			return nil, wrongUsage("%w (jobsd %s -h lists the flags)", err, about.name)
		}
		if fs.NArg() == 0 {
			return others, nil
		}
		others, args = append(others, fs.Arg(0)), fs.Args()[1:]
	}
}

func (c command) usage(fs *flag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: jobsd %s\n\n%s.\n\nFlags:\n", strings.TrimSpace(c.name+" [flags] "+c.arguments), strings.ToUpper(c.summary[:1])+c.summary[1:])
	fs.SetOutput(&b)
	fs.PrintDefaults()
	return b.String()
}

// about returns a command by its name.
func about(name string) command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	panic("no command " + name)
}

// noArguments refuses arguments where there are none.
func noArguments(name string, others []string) error {
	if len(others) > 0 {
		return wrongUsage("jobsd %s takes flags alone, and there is %q", name, others[0])
	}
	return nil
}
