package main

import (
	"context"
	"fmt"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/scripted"
)

// sent is a tool as it goes to a provider: the fields of [fantasy.FunctionTool]
// under their JSON names. Anthropic is sent them under these names, OpenAI
// input_schema under the name parameters, and Google the properties and required
// of input_schema in its own notation.
type sent struct {
	Name            string                  `json:"name"`
	Description     string                  `json:"description"`
	InputSchema     map[string]any          `json:"input_schema"`
	ProviderOptions fantasy.ProviderOptions `json:"provider_options,omitempty"`
}

// schema prints what providers are sent. It is JSON with and without -json.
func (a *app) schema(ctx context.Context) error {
	set, err := a.load()
	if err != nil {
		return err
	}
	defer set.Close() //nolint:errcheck // nothing was dialled
	tools := set.All()
	if len(a.opts.args) > 0 {
		one, err := a.find(set, a.opts.args[0])
		if err != nil {
			return err
		}
		tools = []fantasy.AgentTool{one}
	}
	schemas, err := sentFor(ctx, tools)
	if err != nil {
		return err
	}
	if len(a.opts.args) > 0 {
		return a.printJSON(schemas[0])
	}
	return a.printJSON(schemas)
}

// sentFor lets an agent ask a model, and returns the tools of the request.
func sentFor(ctx context.Context, tools []fantasy.AgentTool) ([]sent, error) {
	model := &scripted.Model{Turns: []scripted.Turn{{Text: "Thank you."}}}
	agent := fantasy.NewAgent(model, fantasy.WithTools(tools...), fantasy.WithMaxRetries(0))
	if _, err := agent.Generate(ctx, fantasy.AgentCall{Prompt: "Which tools are there?"}); err != nil {
		return nil, err
	}
	schemas := []sent{}
	for _, t := range model.Requests()[0].Tools {
		f, ok := t.(fantasy.FunctionTool)
		if !ok {
			return nil, fmt.Errorf("the tool %s is no function", t.GetName())
		}
		schemas = append(schemas, sent(f))
	}
	return schemas, nil
}
