package pilot

import (
	"context"
	"strings"
)

// SummaryInput is a question for a digest in prose.
type SummaryInput struct {
	Agent    string `json:"agent" jsonschema:"description=Hostname of the specialist as pilot_search shows it, or address or node id of a peer."`
	Question string `json:"question,omitempty" jsonschema:"description=What the digest is to answer; without it the agent sums up its data."`
}

// Summary asks an agent for a digest that a model writes at the other end. It
// waits 60 seconds for the answer.
func (c *Client) Summary(ctx context.Context, in SummaryInput) (*Answer, error) {
	return c.op("summary", summaryWait+spareTime).summary(ctx, in)
}

func (o *op) summary(ctx context.Context, in SummaryInput) (*Answer, error) {
	agent, err := name("agent", in.Agent)
	if err != nil {
		return nil, o.fault(err)
	}
	if err := plain("question", in.Question); err != nil {
		return nil, o.fault(err)
	}
	request := "/summary"
	if question := strings.TrimSpace(in.Question); question != "" {
		request += " " + question
	}
	return o.ask(ctx, letter{peer: agent, field: "question", text: request, wait: summaryWait})
}
