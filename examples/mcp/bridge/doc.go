// Package bridge serves the tools of an agent, any []fantasy.AgentTool, on a
// server of the Model Context Protocol.
//
//	server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
//	b, err := bridge.Add(server, tools, nil)
//	if err != nil {
//		return err // a tool without a name, or two with the same one
//	}
//	defer b.Close() // ends the calls that still run
//	return server.Run(ctx, &mcp.StdioTransport{})
//
// # What carries over
//
// A tool's name and description are its own. Its parameters and the list of
// required ones become the JSON schema of an object, the one that an agent sends to
// a provider: required parameters stand first, in the tool's order, and the others
// by name, since a fantasy.ToolInfo holds them in a map. Nothing is checked against
// it here. The arguments reach the tool as the client sent them, and what is wrong
// with them is said by the tool, as an answer that a model can read; absent
// arguments are {}. A tool made by fantasy.NewAgentTool, unlike those of this
// module, does not check by itself that required parameters are there.
//
// An answer's text is one text content, an image an image content, sound an audio
// content, and media of another type an embedded resource. An error answer is a
// result with isError, never an error of the protocol: a model would not see that.
// Blank text becomes "(no output)", because some services refuse an empty result.
//
// Metadata is for the host and not for the model, so it is in the result's _meta
// under [MetadataKey]: as JSON if it is JSON, else as a string. It is not
// structuredContent, which by the specification is the result itself in another
// form, which must match an output schema, and which clients give to a model in
// place of the text. MCP knows no end of a turn: StopTurn is true under
// [StopTurnKey], for a host that cares.
//
// # How a call runs
//
// An agent of fantasy runs the calls of tools that are not marked Parallel one
// after the other, and lets no call begin while one of them runs. The same holds
// here for each session: such a call waits for its turn, and everything that comes
// after it waits for its end; what began before it goes on. Parallel calls run
// beside each other, at most [Options].MaxParallel of them on all sessions
// together. Calls of different sessions do not wait for each other otherwise.
// Requests that belong to no session, which HTTP has since the protocol of
// 2026-07-28, count as one session. The order is that in which the SDK hands the
// calls on; a client for which it matters sends a call when it has the answer to
// the one before.
//
// A call that waits can be cancelled as one that runs. When MaxWaiting calls wait, a
// further one is refused with an error result.
//
// When a client cancels a request, or its connection ends, the call's context ends,
// and so does what the tool started. The request is then answered with the error
// [CodeCancelled], for transports that need an answer; a client does not expect
// one. A client that sent a progress token is notified every [Options].Progress
// while the call waits or runs, so that one which gives up silent calls does not
// give up a long one. A token that is a number of more than 53 bits is not used: the
// SDK would send another one.
//
// # Trust
//
// Whoever reaches the server can call every tool of it with any arguments: what a
// client may do is up to the transport and to [tool.Guard] around the tools.
// Annotations tell a client what to ask a person about, and are no protection: a
// client may ignore them. A tool that panics does not take the server down; the
// client reads of an internal error, and the log has the stack. The texts of results
// go to the client as they are.
//
// [tool.Guard]: https://pkg.go.dev/github.com/fantasytools/fantasytools/tool#Guard
package bridge
