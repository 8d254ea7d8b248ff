package tool

import (
	"context"
	"errors"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/typed"
)

// ErrStopTurn makes [Guard] end the turn if the error of a check wraps it: the
// agent does not call the model again after the calls of this step. Its text is
// part of what the model reads.
var ErrStopTurn = errors.New("the turn ends here")

// Guard returns tools that ask check before each call: for permissions, rate
// limits, a record of what is called, a person's consent.
//
// If check returns nil, the call goes on as if there were no guard. If it
// returns an error, nothing is run, and the error's text is what the model
// reads, as an error answer: say what is not allowed and what to do instead. An
// error that wraps [ErrStopTurn] also ends the turn. If ctx has ended while
// check waited and the error is caused by that, Run returns the context's error. A
// check that panics refuses the call, with a [Panic] as Metadata.
//
// The call is as the model sent it, before it is decoded: a tool accepts more
// than one spelling of the same input, so a check that decides by arguments
// must refuse what it does not understand. Only the returned tools are
// guarded; the originals still run unchecked. Guards may be nested; the
// outermost is asked first.
//
// check is called concurrently. Everything but Run is the tools' own, save that a
// tool without parameters or required ones never has nil for them, which providers
// refuse as null. Guard panics if check or a tool is nil, for a guard that lets
// everything pass would go unnoticed.
func Guard(tools []fantasy.AgentTool, check func(ctx context.Context, info fantasy.ToolInfo, call fantasy.ToolCall) error) []fantasy.AgentTool {
	if check == nil {
		panic("tool.Guard: check is nil")
	}
	out := make([]fantasy.AgentTool, len(tools))
	for i, t := range tools {
		if t == nil {
			panic("tool.Guard: a tool is nil")
		}
		out[i] = &guarded{AgentTool: t, check: check}
	}
	return out
}

// guarded is a tool whose Run asks first.
type guarded struct {
	fantasy.AgentTool
	check func(ctx context.Context, info fantasy.ToolInfo, call fantasy.ToolCall) error
}

func (g *guarded) Info() fantasy.ToolInfo {
	info := g.AgentTool.Info()
	if info.Parameters == nil {
		info.Parameters = map[string]any{}
	}
	if info.Required == nil {
		info.Required = []string{}
	}
	return info
}

func (g *guarded) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	refusal, allowed, err := g.ask(ctx, call)
	if !allowed {
		return refusal, err
	}
	return g.AgentTool.Run(ctx, call)
}

// ask asks the check; if it does not allow the call, it returns what Run
// returns instead.
func (g *guarded) ask(ctx context.Context, call fantasy.ToolCall) (refusal fantasy.ToolResponse, allowed bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			refusal = typed.Panicked("The call was not made: the check before it stopped with an internal error. Tell the user.", v)
		}
	}()
	denied := g.check(ctx, g.Info(), call)
	if denied == nil {
		return refusal, true, nil
	}
	refusal, err = typed.Failure(ctx, denied)
	if err == nil {
		refusal.StopTurn = errors.Is(denied, ErrStopTurn)
	}
	return refusal, false, err
}
