package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/fantasy"
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/internal/program"
	"github.com/fantasytools/fantasytools/internal/run"
	"github.com/fantasytools/fantasytools/internal/text"
	"github.com/fantasytools/fantasytools/internal/typed"
)

// Input is what the model sends to a tool that [LoadTools] made. At least one of
// the two is required.
type Input struct {
	// Args are the arguments, each of which the program receives as it is.
	Args []string `json:"args,omitempty" jsonschema:"description=Arguments of the program, one list element each. There is no shell: quotes, wildcards, variables, pipes and redirections are not interpreted."`

	// Stdin is what the program reads on standard input; without it the input
	// is empty.
	Stdin string `json:"stdin,omitempty" jsonschema:"description=Text for the program's standard input. It is empty if this is left out."`
}

// Result is the metadata, as JSON, of an answer of a tool that [LoadTools] made
// and that has run its binary.
type Result struct {
	// ExitCode is the program's, or -1 if it did not exit by itself.
	ExitCode int `json:"exit_code"`
	// Signal names the signal that ended the program, such as SIGKILL.
	Signal string `json:"signal,omitempty"`
	// TimedOut says that the Def's Timeout ended the call.
	TimedOut bool `json:"timed_out,omitempty"`
	// Cancelled says that the caller's context ended the call.
	Cancelled bool `json:"cancelled,omitempty"`
	// GivenUp says that the program could not be killed and may still run.
	GivenUp bool `json:"given_up,omitempty"`
	// DurationMS is how long the call took, in milliseconds.
	DurationMS int64 `json:"duration_ms"`
	// StdoutBytes and StderrBytes are how many bytes the program wrote.
	StdoutBytes int64 `json:"stdout_bytes"`
	StderrBytes int64 `json:"stderr_bytes"`
	// MediaType is set where stdout was not text.
	MediaType string `json:"media_type,omitempty"`
}

// binary runs the binary of a Def.
type binary struct {
	def       Def
	path, dir string // absolute
	logger    *zap.Logger
}

func (b *binary) tool(input *typed.Input[Input], description string) fantasy.AgentTool {
	opts := typed.Options{Parallel: b.def.Parallel, MaxOutput: -1, LongDescription: true}
	return input.New(b.def.Name, description, opts, b.run)
}

func (b *binary) run(ctx context.Context, in Input, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
	if problem := in.problem(); problem != "" {
		return fantasy.NewTextErrorResponse(problem), nil
	}
	keep := max(b.def.maxOutput(), text.SniffLen)
	args := slices.Concat(b.def.Args, in.Args)
	res, err := run.Run(ctx, run.Command{
		Path: b.path, Name: b.name(), Args: args, Dir: b.dir, Env: program.Environment(b.def.Env, b.dir), Stdin: in.Stdin,
		Timeout: b.def.timeout(), Head: keep, Tail: keep, Extend: keepImage,
	})
	if err != nil {
		b.logger.Debug("tool could not run its program", zap.String("tool", b.def.Name), zap.Error(err))
		if ctx.Err() != nil {
			return fantasy.NewTextErrorResponse("cancelled before the program was started"), ctx.Err()
		}
		return fantasy.NewTextErrorResponse(text.Cut(err.Error(), DefaultMaxOutput)), nil
	}
	a := newAnswer(&b.def, res)
	b.log(a, res, args)
	if res.Cancelled {
		return a.response(), ctx.Err()
	}
	return a.response(), nil
}

// name is argv[0]: what a shell would give a program that was called by its bare
// name. One that is called by a path may find its files by it.
func (b *binary) name() string {
	if program.IsBare(b.def.Binary) {
		return b.def.Binary
	}
	return b.path
}

// problem returns what a call must change before anything can be run.
func (in Input) problem() string {
	if len(in.Args) == 0 && in.Stdin == "" {
		return "Nothing was run: provide args, stdin, or both."
	}
	for i, arg := range in.Args {
		if strings.ContainsRune(arg, 0) {
			return fmt.Sprintf("args[%d] holds a NUL character, which no program can receive; nothing was run, send it without", i)
		}
	}
	return ""
}

func (b *binary) log(a *answer, res *run.Result, args []string) {
	entry := b.logger.Check(zap.DebugLevel, "tool ran its program")
	if entry == nil {
		return
	}
	entry.Write(
		zap.String("tool", b.def.Name), zap.String("binary", b.path), zap.Strings("args", args),
		zap.Int("exit_code", res.ExitCode), zap.String("signal", res.Signal),
		zap.Bool("timed_out", res.TimedOut), zap.Bool("cancelled", res.Cancelled),
		zap.Duration("duration", res.Duration.Round(time.Microsecond)),
		zap.Int64("stdout_bytes", a.result.StdoutBytes), zap.Int64("stderr_bytes", a.result.StderrBytes),
	)
}
