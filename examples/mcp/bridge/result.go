package bridge

import (
	"encoding/json"
	"strings"

	"charm.land/fantasy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// MetadataKey is the key of an answer's Metadata in a result's _meta.
	MetadataKey = "io.github.fantasytools/metadata"
	// StopTurnKey is there, and true, if the answer asks to end the turn.
	StopTurnKey = "io.github.fantasytools/stop-turn"
)

// noOutput stands for a blank answer, which some services refuse.
const noOutput = "(no output)"

func resultOf(name string, resp fantasy.ToolResponse) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: contentOf(name, resp), IsError: resp.IsError, Meta: metaOf(resp)}
}

// refused is the answer in place of that of a tool.
func refused(message string) *mcp.CallToolResult {
	return resultOf("", fantasy.NewTextErrorResponse(message))
}

func contentOf(name string, resp fantasy.ToolResponse) []mcp.Content {
	var content []mcp.Content
	if strings.TrimSpace(resp.Content) != "" {
		content = append(content, &mcp.TextContent{Text: clean(resp.Content)})
	}
	if resp.Type == "image" || resp.Type == "media" {
		content = append(content, mediaOf(name, resp))
	}
	if len(content) == 0 {
		content = append(content, &mcp.TextContent{Text: noOutput})
	}
	return content
}

// clean removes what services refuse; the tools of this module have done it.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// mediaOf goes by the type of the data: fantasy's media are sounds and films.
func mediaOf(name string, resp fantasy.ToolResponse) mcp.Content {
	switch kind, _, _ := strings.Cut(resp.MediaType, "/"); {
	case kind == "audio":
		return &mcp.AudioContent{Data: resp.Data, MIMEType: resp.MediaType}
	case kind == "image", resp.Type == "image":
		return &mcp.ImageContent{Data: resp.Data, MIMEType: resp.MediaType}
	}
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "tool:" + name, MIMEType: resp.MediaType, Blob: resp.Data}}
}

func metaOf(resp fantasy.ToolResponse) mcp.Meta {
	meta := mcp.Meta{}
	switch {
	case resp.Metadata == "":
	case json.Valid([]byte(resp.Metadata)):
		meta[MetadataKey] = json.RawMessage(resp.Metadata)
	default:
		meta[MetadataKey] = resp.Metadata
	}
	if resp.StopTurn {
		meta[StopTurnKey] = true
	}
	if len(meta) == 0 {
		return nil
	}
	return meta
}
