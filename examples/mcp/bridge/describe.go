package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"charm.land/fantasy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// validName is what the specification says of a tool's name.
var validName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// describe returns what a client is told of the tools, or everything that is wrong
// with them. The SDK would put the second of two tools with one name in the place of
// the first.
func describe(tools []fantasy.AgentTool, annotate func(fantasy.ToolInfo) *mcp.ToolAnnotations) ([]*mcp.Tool, error) {
	var errs []error
	out := make([]*mcp.Tool, len(tools))
	seen := map[string]int{}
	for i, t := range tools {
		if t == nil {
			errs = append(errs, fmt.Errorf("tool %d is nil", i+1))
			continue
		}
		info := t.Info()
		described, err := describeOne(info, annotate)
		if err != nil {
			errs = append(errs, fmt.Errorf("tool %d (%q): %w", i+1, info.Name, err))
		}
		folded := strings.ToLower(info.Name)
		if first, found := seen[folded]; found {
			errs = append(errs, fmt.Errorf("tool %d (%q) has the name of tool %d", i+1, info.Name, first))
		} else {
			seen[folded] = i + 1
		}
		out[i] = described
	}
	return out, errors.Join(errs...)
}

func describeOne(info fantasy.ToolInfo, annotate func(fantasy.ToolInfo) *mcp.ToolAnnotations) (*mcp.Tool, error) {
	if !validName.MatchString(info.Name) {
		return nil, errors.New("a name has 1 to 128 letters, digits, dots, underscores and dashes")
	}
	schema, err := schemaOf(info)
	if err != nil {
		return nil, err
	}
	return &mcp.Tool{
		Name:        info.Name,
		Description: info.Description,
		InputSchema: schema,
		Annotations: annotate(info),
	}, nil
}

// schemaOf returns the JSON schema of a tool's input. Clients show it, and models
// read it, in this order: the required parameters as the tool lists them, and then
// the others.
func schemaOf(info fantasy.ToolInfo) (json.RawMessage, error) {
	properties, err := propertiesOf(info)
	if err != nil {
		return nil, err
	}
	required, err := json.Marshal(append([]string{}, info.Required...)) // never null
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"type":"object","properties":%s,"required":%s}`, properties, required), nil
}

func propertiesOf(info fantasy.ToolInfo) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range order(info) {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(info.Parameters[name])
		if err != nil {
			return nil, fmt.Errorf("the parameter %q has no JSON: %w", name, err)
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func order(info fantasy.ToolInfo) []string {
	var required, others []string
	for _, name := range info.Required {
		if _, known := info.Parameters[name]; known && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	for name := range info.Parameters {
		if !slices.Contains(required, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return append(required, others...)
}
