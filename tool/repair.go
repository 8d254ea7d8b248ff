package tool

import (
	"context"
	"errors"
	"strings"

	"charm.land/fantasy"
)

// RepairToolCall makes an agent run no call whose input broke off. Without it
// the agent of fantasy completes broken JSON before a tool sees it: of
//
//	{"args":["-rf","build","--exclude=build/ke
//
// which a model's output limit cut off, it makes a shorter call and runs that.
// With RepairToolCall the model reads instead that the JSON is invalid, and
// nothing is run. Only an empty input, which the agent refuses too, and null
// become {}, for tools without required parameters.
//
// It belongs to Generate by the agent's option, and to Stream by the call's
// field:
//
//	agent := fantasy.NewAgent(model, fantasy.WithTools(tools...), fantasy.WithRepairToolCall(tool.RepairToolCall))
//	agent.Stream(ctx, fantasy.AgentStreamCall{Prompt: prompt, RepairToolCall: tool.RepairToolCall})
func RepairToolCall(_ context.Context, options fantasy.ToolCallRepairOptions) (*fantasy.ToolCallContent, error) {
	call := options.OriginalToolCall
	if input := strings.TrimSpace(call.Input); input != "" && input != "null" {
		return nil, errors.New("an input that is no JSON object is not completed: what is missing is not known")
	}
	call.Input = "{}"
	return &call, nil
}
