package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// agentLabel is the label with which the daemon names a job's agent to the
// operator.
const agentLabel = "io.fantasytools.agent"

// operator is whoever may read the state directory, as a client of its daemon.
type operator struct {
	state state
	url   string
}

func (o *operator) flags(fs *flag.FlagSet) {
	o.state.flags(fs)
	fs.StringVar(&o.url, "url", "", "ask the daemon at this `address` (default: that of the daemon of the state directory)")
}

// connect returns a client, which has not connected yet.
func (o *operator) connect() (*jobsclient.Client, error) {
	if err := o.state.resolve(); err != nil {
		return nil, err
	}
	if o.url == "" {
		o.url = o.state.address()
	} else if err := checkURL(o.url); err != nil {
		return nil, err
	}
	token, err := daemon.OperatorToken(o.state.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no daemon was started with the state directory %s yet; start one with: %s (it will listen on %s)", o.state.dir, o.state.startWith(), o.url)
	case err != nil:
		return nil, fmt.Errorf("reading the operator's token: %w", err)
	}
	return jobsclient.New(jobsclient.Config{URL: o.url, Token: token}), nil
}

// explain adds to an error of the client what the operator can do.
func (o *operator) explain(err error) error {
	switch {
	case errors.Is(err, jobsclient.ErrUnauthenticated):
		return fmt.Errorf("the daemon at %s refused the operator's token of %s: it was started with another state directory, which -state names",
			o.url, filepath.Join(o.state.dir, "operator.token"))
	case errors.Is(err, jobsclient.ErrUnavailable):
		return fmt.Errorf("%w (start one with: %s)", err, o.state.startWith())
	}
	return err
}

// explainOf is explain for a call about a job. The client would blame the agent.
func (o *operator) explainOf(id string, err error) error {
	if errors.Is(err, jobsclient.ErrNotFound) {
		return fmt.Errorf("there is no job %q; jobsd jobs lists those that there are", id)
	}
	return o.explain(err)
}

// ended says how a job ended.
func ended(j *jobsclient.Job) string {
	because := ""
	if j.Error != "" {
		because = ": " + printable(j.Error)
	}
	switch j.Status {
	case jobsclient.Done:
		return fmt.Sprintf("ended with exit code %d", j.ExitCode)
	case jobsclient.Failed:
		return "failed" + because
	case jobsclient.Cancelled:
		return "was cancelled" + because
	case jobsclient.Orphaned:
		return "is orphaned: what ran it died, and how it ended is not known" + because
	}
	return "is " + printable(string(j.Status)) + because
}

// printable is a text without what would break a line or steer a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}
