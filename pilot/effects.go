package pilot

import (
	"encoding/json"
	"strings"

	"charm.land/fantasy"
)

// Effect is what a call may change.
type Effect string

const (
	// EffectRead means: nothing changes, here or elsewhere. Specialists are asked
	// questions, though, which tells them what is asked for.
	EffectRead Effect = "read"
	// EffectSend means: a message, an event or a file leaves for a peer.
	EffectSend Effect = "send"
	// EffectTrust means: trust is asked for, given, denied or revoked.
	EffectTrust Effect = "trust"
	// EffectDelete means: received files are deleted.
	EffectDelete Effect = "delete"
	// EffectUnknown means: no tool of this package.
	EffectUnknown Effect = ""
)

const prefix = "pilot_"

var effects = map[string]Effect{
	"pilot_search": EffectRead, "pilot_help": EffectRead, "pilot_query": EffectRead, "pilot_summary": EffectRead,
	"pilot_send": EffectSend, "pilot_send_file": EffectSend, "pilot_inbox": EffectRead, "pilot_received": EffectRead,
	"pilot_trust_check": EffectRead, "pilot_handshake": EffectTrust, "pilot_approve": EffectTrust,
	"pilot_reject": EffectTrust, "pilot_untrust": EffectTrust, "pilot_pending": EffectRead,
	"pilot_find": EffectRead, "pilot_lookup": EffectRead, "pilot_peers": EffectRead, "pilot_ping": EffectRead,
	"pilot_broadcast": EffectSend, "pilot_publish": EffectSend, "pilot_subscribe": EffectRead,
}

// parallel are the tools that may run beside others in one step of an agent.
var parallel = map[string]bool{
	"pilot_search": true, "pilot_help": true, "pilot_query": true, "pilot_summary": true, "pilot_inbox": true,
	"pilot_trust_check": true, "pilot_pending": true, "pilot_find": true, "pilot_lookup": true, "pilot_peers": true,
	"pilot_ping": true, "pilot_subscribe": true,
}

// Effects tells what a call of one of the tools may change, so that a host can
// ask a person before anything is sent, trusted or deleted. It goes by the
// call's Name and, for pilot_received, by its Input: a clear that cannot be
// told to be false deletes.
func Effects(call fantasy.ToolCall) Effect {
	if call.Name == "pilot_received" && clears(call.Input) {
		return EffectDelete
	}
	return effects[call.Name]
}

func clears(input string) bool {
	if strings.TrimSpace(input) == "" {
		return false
	}
	var in map[string]any
	if json.Unmarshal([]byte(input), &in) != nil {
		return true
	}
	for key, value := range in {
		if strings.EqualFold(key, "clear") && value != false && value != nil {
			return true
		}
	}
	return false
}
