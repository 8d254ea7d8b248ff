package pilot

import "context"

// QueryInput is a question for structured data.
type QueryInput struct {
	Agent   string         `json:"agent" jsonschema:"description=Hostname of the specialist as pilot_search shows it, or address or node id of a peer."`
	Filters map[string]any `json:"filters,omitempty" jsonschema:"description=Filters by the names that pilot_help shows; pass a limit where lists come back. Default: no filters."`
}

// Query asks an agent for data. Filters may be nil; they are sent as JSON. It
// waits 30 seconds for the answer, which responders cut at about 8 KB: see
// Answer.Truncated.
func (c *Client) Query(ctx context.Context, in QueryInput) (*Answer, error) {
	return c.op("query", askWait+spareTime).query(ctx, in)
}

func (o *op) query(ctx context.Context, in QueryInput) (*Answer, error) {
	agent, err := name("agent", in.Agent)
	if err != nil {
		return nil, o.fault(err)
	}
	filters := in.Filters
	if filters == nil {
		filters = map[string]any{}
	}
	request, err := encode(filters)
	if err != nil {
		return nil, o.fault(refuse("filters cannot be written as JSON", "use texts, numbers, booleans, lists and objects"))
	}
	return o.ask(ctx, letter{peer: agent, field: "filters", text: "/data " + request, wait: askWait})
}
