package pilot

import "context"

// HelpInput names the agent to ask.
type HelpInput struct {
	Agent string `json:"agent" jsonschema:"description=Hostname of the specialist as pilot_search shows it, or address or node id of a peer."`
}

// Help asks an agent for its /help: its commands and filters. It waits 30
// seconds for the answer.
func (c *Client) Help(ctx context.Context, in HelpInput) (*Answer, error) {
	return c.op("help", askWait+spareTime).help(ctx, in)
}

func (o *op) help(ctx context.Context, in HelpInput) (*Answer, error) {
	agent, err := name("agent", in.Agent)
	if err != nil {
		return nil, o.fault(err)
	}
	return o.ask(ctx, letter{peer: agent, field: "agent", text: "/help", wait: askWait})
}
