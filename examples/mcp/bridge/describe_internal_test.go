package bridge

import (
	"testing"

	"charm.land/fantasy"
)

func TestRequiredParametersStandFirstInTheToolsOrder(t *testing.T) {
	str := map[string]any{"type": "string"}
	info := fantasy.ToolInfo{Required: []string{"to", "from", "to", "absent"}, Parameters: map[string]any{"z": str, "a": str, "from": str, "to": str}}
	const want = `{"type":"object","properties":{"to":{"type":"string"},"from":{"type":"string"},"a":{"type":"string"},"z":{"type":"string"}},"required":["to","from","to","absent"]}`
	if got, err := schemaOf(info); err != nil || string(got) != want {
		t.Errorf("the schema is %s, %v", got, err)
	}
}

func TestAProgressTokenThatWasRoundedIsNotUsed(t *testing.T) {
	for _, tc := range []struct {
		token any
		want  bool
	}{
		{"token", true}, {7.0, true}, {-1.5, true}, {float64(1<<53 - 1), true},
		{float64(1 << 53), false}, {-1e300, false},
	} {
		if got := faithful(tc.token); got != tc.want {
			t.Errorf("faithful(%v) is %v", tc.token, got)
		}
	}
}
