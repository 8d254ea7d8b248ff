package scripted

import (
	"encoding/json"
	"regexp"
	"slices"

	"charm.land/fantasy"
)

// placeholder is a whole string of JSON: the quotes of "say \"$x\"" are escaped
// and do not match.
var placeholder = regexp.MustCompile(`"\$([A-Za-z_][A-Za-z0-9_]*)"`)

// filled returns the turn with the fields of results in the places that stand
// for them.
func (t Turn) filled(prompt fantasy.Prompt) Turn {
	calls := slices.Clone(t.Calls)
	for i := range calls {
		calls[i].Input = placeholder.ReplaceAllStringFunc(calls[i].Input, func(found string) string {
			if value, ok := lastField(prompt, found[2:len(found)-1]); ok {
				return value
			}
			return found
		})
	}
	t.Calls = calls
	return t
}

// lastField returns the field, as JSON, of the last result that has it.
func lastField(prompt fantasy.Prompt, name string) (string, bool) {
	for _, message := range slices.Backward(prompt) {
		for _, part := range slices.Backward(message.Content) {
			result, ok := fantasy.AsMessagePart[fantasy.ToolResultPart](part)
			if !ok {
				continue
			}
			text, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentText](result.Output)
			if !ok {
				continue
			}
			var fields map[string]json.RawMessage
			if json.Unmarshal([]byte(text.Text), &fields) != nil {
				continue
			}
			if value, ok := fields[name]; ok {
				return string(value), true
			}
		}
	}
	return "", false
}
