// Command mcp serves the tools of this library to any client of the Model Context
// Protocol: programs of this machine, jobs on a daemon and the Pilot network.
//
//	go -C examples build -o ~/bin/fantasytools-mcp ./mcp
//	fantasytools-mcp [flags]
//
// A client starts it and speaks with it on standard input and output; logs and notes
// go to standard error. With -http it serves a streamable HTTP endpoint instead, on
// this machine only unless there is a token. README.md has what to paste into
// clients, and what is protected and what is not.
//
// The programs come from a YAML file, by default the one that is built in. Jobs run
// on the daemon that OTTERSD_URL and OTTERS_AGENT_TOKEN name, and the Pilot tools
// are there where pilotctl is installed; what is missing is left out with a note.
//
// Exit statuses:
//
//	0  the client closed the connection, or a signal ended the server
//	1  the connection failed
//	2  nothing was served: the command line, the environment, the tools file or
//	   the address is wrong
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fantasytools/fantasytools/examples/internal/toolset"
	"github.com/fantasytools/fantasytools/examples/mcp/bridge"
	"github.com/fantasytools/fantasytools/internal/text"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	stdout := takeStdout()
	os.Exit(run(os.Args[1:], os.Stdin, stdout, os.Stderr))
}

// takeStdout returns the standard output and puts standard error in its place, so
// that nothing in this process can write between the messages of the protocol.
func takeStdout() *os.File {
	stdout := os.Stdout
	os.Stdout = os.Stderr
	return stdout
}

// run is main with its surroundings as parameters; it returns the exit status.
func run(args []string, stdin io.ReadCloser, stdout, stderr io.Writer) int {
	// The programs that tools run lead sessions of their own, so a signal reaches
	// only this process: the end of the context stops them.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	defer catchPipe()()

	opts, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = io.WriteString(stdout, usage())
		return exitOK
	}
	if err != nil {
		return complain(stderr, exitUsage, err)
	}
	logger := newLogger(stderr, opts.verbose)
	defer zap.ReplaceGlobals(logger)() // the library warns there
	note := func(what string) { _, _ = fmt.Fprintf(stderr, "mcp: %s\n", text.Clean(what)) }
	set, err := toolset.Load(toolset.Options{ToolsFile: opts.toolsFile, WorkDir: opts.workDir, Logger: logger, Note: note})
	if err != nil {
		return complain(stderr, exitUsage, err)
	}
	defer func() { _ = set.Close() }()
	s, err := newService(opts, set, logger, sdkLogger(stderr, opts.verbose))
	if err != nil {
		return complain(stderr, exitUsage, err)
	}
	if opts.http != "" {
		return serveHTTP(ctx, s, opts, note, stderr)
	}
	if err := serveStdio(ctx, s, stdin, stdout); err != nil {
		return complain(stderr, exitFailed, err)
	}
	return exitOK
}

// catchPipe lets a write to a client that went away fail instead of ending this
// process at once, with children that nobody stops. The signal says no more than
// that: it comes for a child that does not read its input, too. It is not ignored,
// since that would be passed on to children.
func catchPipe() (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}

// service is the tools on a server, whatever it is reached by.
type service struct {
	server   *mcp.Server
	bridge   *bridge.Bridge
	requests *requests // of HTTP
	slog     *slog.Logger

	maxSessions int           // by HTTP
	lastWords   time.Duration // for clients to read the answers that are left
}

func newService(opts *options, set *toolset.Set, logger *zap.Logger, sdk *slog.Logger) (*service, error) {
	s := &service{requests: newRequests(), slog: sdk, maxSessions: maxSessions, lastWords: lastWords}
	s.server = mcp.NewServer(&mcp.Implementation{Name: "fantasytools", Title: "fantasytools", Version: version()}, &mcp.ServerOptions{
		Instructions: instructions(opts.workDir, set),
		Logger:       sdk,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the list does not change
	})
	var err error
	s.bridge, err = bridge.Add(s.server, set.All(), &bridge.Options{
		Annotate: annotate,
		Context:  s.callContext,
		Progress: opts.progress,
		Logger:   logger,
	})
	return s, err
}

// newLogger logs warnings, and all that the tools do if that is wanted.
func newLogger(w io.Writer, verbose bool) *zap.Logger {
	level := zap.WarnLevel
	if verbose {
		level = zap.DebugLevel
	}
	encoder := zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level))
}

// sdkLogger is for what the protocol's SDK has to say. It logs as errors what a
// client did wrong and was told of, so without -v nothing.
func sdkLogger(w io.Writer, verbose bool) *slog.Logger {
	if !verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// complain says on w what went wrong and returns the status. The error may quote a
// file, which must not steer the terminal.
func complain(w io.Writer, status int, err error) int {
	_, _ = fmt.Fprintf(w, "mcp: %s\n", text.Clean(err.Error()))
	return status
}
