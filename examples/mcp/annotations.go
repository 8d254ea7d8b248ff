package main

import (
	"charm.land/fantasy"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fantasytools/fantasytools/examples/mcp/bridge"
	"github.com/fantasytools/fantasytools/pilot"
)

// annotate returns the annotations of one of the tools of a [toolset.Set]. A
// program is read-only if the tools file says that it is parallel, which is for
// those that only read.
func annotate(info fantasy.ToolInfo) *mcp.ToolAnnotations {
	if a := jobAnnotations(info.Name); a != nil {
		return a
	}
	if a := pilotAnnotations(info.Name); a != nil {
		return a
	}
	return bridge.Annotate(info)
}

// jobAnnotations: the daemon is this user's, and its jobs may do anything. job_wait
// cancels the job if its call is cancelled, and job_watch does not. To do either
// again, or to cancel, changes nothing more.
func jobAnnotations(name string) *mcp.ToolAnnotations {
	switch name {
	case "job_status", "job_list", "job_watch":
		return bridge.ReadOnly(false)
	case "job_submit":
		return bridge.Destructive(true)
	case "job_wait", "job_cancel":
		a := bridge.Destructive(false)
		a.IdempotentHint = true
		return a
	}
	return nil
}

// pilotAnnotations goes by the most that a call of the tool may do. What was sent
// cannot be taken back, so a client should ask a person before it as before a
// deletion.
func pilotAnnotations(name string) *mcp.ToolAnnotations {
	const unreadable = "{" // may be anything: a clear too
	switch pilot.Effects(fantasy.ToolCall{Name: name, Input: unreadable}) {
	case pilot.EffectUnknown:
		return nil
	case pilot.EffectRead:
		return bridge.ReadOnly(true)
	}
	return bridge.Destructive(true)
}
