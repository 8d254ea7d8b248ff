package pilot

import (
	"context"
	"embed"
	"errors"
	"strings"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/text"
	"github.com/fantasytools/fantasytools/internal/typed"
)

// NewTools returns the 21 verbs as tools: the catalog, messages and files,
// trust, discovery, network and events, in this order. They share the client,
// its bounds and its pilotctl; nil is a zero Client. Nothing is run and nothing
// is checked until a tool is called, so that a pilotctl that is installed later
// is found.
func NewTools(c *Client) []fantasy.AgentTool {
	if c == nil {
		c = &Client{}
	}
	return []fantasy.AgentTool{
		tool(c, "search", askWait+spareTime, (*op).search),
		tool(c, "help", askWait+spareTime, (*op).help),
		tool(c, "query", askWait+spareTime, (*op).query),
		tool(c, "summary", summaryWait+spareTime, (*op).summary),
		tool(c, "send", 0, (*op).send),
		tool(c, "send_file", sendFileTime, (*op).sendFile),
		tool(c, "inbox", spareTime, (*op).inbox),
		tool(c, "received", spareTime, (*op).received),
		tool(c, "trust_check", spareTime, (*op).trustCheck),
		tool(c, "handshake", handshakeTime, (*op).handshake),
		tool(c, "approve", spareTime, (*op).approve),
		tool(c, "reject", spareTime, (*op).reject),
		tool(c, "untrust", spareTime, (*op).untrust),
		tool(c, "pending", spareTime, (*op).pending),
		tool(c, "find", spareTime, (*op).findHost),
		tool(c, "lookup", spareTime, (*op).lookup),
		tool(c, "peers", spareTime, (*op).peers),
		tool(c, "ping", 0, (*op).ping),
		tool(c, "broadcast", spareTime, (*op).broadcast),
		tool(c, "publish", spareTime, (*op).publish),
		tool(c, "subscribe", 0, (*op).subscribe),
	}
}

// BuildTools returns the tools of a zero Client, and nil where pilotctl is not
// installed.
func BuildTools() []fantasy.AgentTool {
	c := &Client{}
	if _, err := c.binary(); err != nil {
		return nil
	}
	return NewTools(c)
}

//go:embed descriptions/*.md
var descriptions embed.FS

// description is the text beside the verb's code; a missing one shows in the
// first test that builds the tools.
func description(verb string) string {
	raw, err := descriptions.ReadFile("descriptions/" + verb + ".md")
	if err != nil {
		panic("pilot: no description of " + verb)
	}
	return strings.TrimSpace(string(raw))
}

// rendered is a result that can be told to a model.
type rendered interface{ forModel() string }

// tool makes a tool of a verb.
func tool[In any, Out rendered](c *Client, verb string, limit time.Duration, do func(*op, context.Context, In) (Out, error)) fantasy.AgentTool {
	name := prefix + verb
	opts := typed.Options{Parallel: parallel[name], MaxOutput: text.DefaultMax}
	run := func(ctx context.Context, in In, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
		o := c.op(verb, limit)
		out, err := do(o, ctx, in)
		if err != nil {
			return o.failure(ctx, err, call)
		}
		return fantasy.WithResponseMetadata(fantasy.NewTextResponse(out.forModel()), o.meta), nil
	}
	return described{typed.New(name, description(verb), opts, run), verb}
}

// failure is the answer to an error. A text where JSON was to come is the
// answer itself if nothing but reading was asked for.
func (o *op) failure(ctx context.Context, err error, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	var e *Error
	if !errors.As(err, &e) {
		if ctx.Err() != nil {
			return fantasy.ToolResponse{}, ctx.Err()
		}
		e = &Error{Verb: o.meta.Verb, Code: codeInternal, Message: text.Line(err.Error(), maxMessage)}
	}
	response := fantasy.NewTextErrorResponse(e.forModel())
	call.Name = prefix + o.meta.Verb
	if e.Code == codePlainText && Effects(call) == EffectRead {
		response = fantasy.NewTextResponse("pilotctl answered in plain text:\n" + quote(string(e.stdout), listBudget))
	}
	return fantasy.WithResponseMetadata(response, o.meta), nil
}
