package bridge

import (
	"charm.land/fantasy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Annotate returns annotations for a tool of which nothing is known but what it
// says of itself. Parallel is for tools without side effects, so such a tool is
// read-only. Any other is destructive: the cautious assumption, which is also
// the protocol's default. Both may reach beyond this machine.
func Annotate(info fantasy.ToolInfo) *mcp.ToolAnnotations {
	if info.Parallel {
		return ReadOnly(true)
	}
	return Destructive(true)
}

// ReadOnly returns the annotations of a tool that changes nothing. openWorld says
// that it may deal with others than this machine's user.
func ReadOnly(openWorld bool) *mcp.ToolAnnotations {
	destructive := false // the protocol's default is true, and some clients look at nothing else
	return &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &destructive, OpenWorldHint: &openWorld}
}

// Destructive returns the annotations of a tool whose calls may do what cannot be
// undone.
func Destructive(openWorld bool) *mcp.ToolAnnotations {
	destructive := true
	return &mcp.ToolAnnotations{DestructiveHint: &destructive, OpenWorldHint: &openWorld}
}
