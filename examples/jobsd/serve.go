package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
)

func serveCommand(r role) command {
	return command{r.name, "", r.summary, func(ctx context.Context, args []string, out streams) error { return runServe(ctx, r, args, out) }}
}

// serves tells whether a command is a daemon.
func (c command) serves() bool {
	return c.name == roleServe.name || c.name == roleFront.name || c.name == roleWorker.name
}

// runServe runs a daemon until a signal or a failure ends it.
func runServe(ctx context.Context, r role, args []string, out streams) error {
	o := newOptions(r)
	others, err := parse(o.flags(), about(r.name), args, out)
	if err != nil {
		return err
	}
	if err := errors.Join(noArguments(r.name, others), o.check()); err != nil {
		return err
	}
	if err := o.settle(); err != nil {
		return err
	}
	logger := newLogger(out.stderr, o.verbose, o.logJSON)
	note := notes(out, logger, o.logJSON)
	path, err := o.state.agentsFile(o.agents, r == roleServe, note)
	if err != nil {
		return err
	}
	if o.config.Agents, err = agents.Open(path, logger); err != nil {
		return &failure{exitUsage, err}
	}
	o.config.Logger = logger
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	d, err := start(ctx, o.config, signals)
	if err != nil {
		return err
	}
	greet(d, o, path, note)
	return serve(d, signals, o.config.Drain.String(), note)
}

// notes returns how to say something to the user beside the log.
func notes(out streams, logger *zap.Logger, logJSON bool) func(string, ...any) {
	if !logJSON {
		return out.note
	}
	return func(format string, args ...any) { logger.Info(fmt.Sprintf(format, args...)) }
}

// start starts the daemon, which may take a while: a signal ends it, too.
func start(ctx context.Context, c daemon.Config, signals <-chan os.Signal) (*daemon.Daemon, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started, watched := make(chan struct{}), make(chan struct{})
	interrupted := false
	go func() {
		defer close(watched)
		select {
		case <-signals:
			interrupted = true
			cancel()
		case <-started:
		}
	}()
	d, err := daemon.Start(ctx, c)
	close(started)
	<-watched
	switch {
	case interrupted && err == nil:
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = d.Shutdown(ended) // it has not said that it serves
		fallthrough
	case interrupted:
		return nil, &failure{exitInterrupted, errors.New("interrupted")}
	}
	return d, err
}

// greet says that the daemon runs, and how to use it.
func greet(d *daemon.Daemon, o *options, agentsFile string, note func(string, ...any)) {
	if !o.role.front() {
		note("running jobs of %s for the agents of %s", daemon.NATSWithoutSecrets(o.config.NATS), agentsFile)
		return
	}
	for _, url := range d.URLs() {
		note("serving on %s", url)
	}
	token := "jobsd token"
	if dir, err := defaultState(); err != nil || dir != o.state.dir {
		token += " -state " + shellQuoted(o.state.dir)
	}
	if o.agents != "" {
		token += " -agents " + shellQuoted(agentsFile)
	}
	note(`eval "$(%s AGENT)" lets a shell's programs in; the agents are those of %s`, token, agentsFile)
}

// drainer is what serve needs of a daemon.
type drainer interface {
	Shutdown(ctx context.Context) error
	Done() <-chan struct{}
	Err() error
}

// serve waits for the end: a first signal lets running jobs end, a second one
// cancels them.
func serve(d drainer, signals <-chan os.Signal, drain string, note func(string, ...any)) error {
	select {
	case <-d.Done():
		return d.Err()
	case s := <-signals:
		note("%v: running jobs have %s to end; another signal cancels them at once", s, drain)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.Shutdown(ctx) }()
	hurried := false
	for {
		select {
		case err := <-ended:
			switch {
			case hurried:
				return &failure{exitInterrupted, errors.New("the running jobs were cancelled")}
			case err != nil:
				return err
			}
			note("stopped")
			return nil
		case s := <-signals:
			if !hurried {
				note("%v: the running jobs are cancelled", s)
			}
			hurried = true
			cancel()
		}
	}
}
