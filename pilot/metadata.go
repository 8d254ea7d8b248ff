package pilot

import (
	"context"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/run"
)

// Metadata is what a host learns of a call beside what the model reads. It is
// the JSON in the Metadata of each answer. Fields that do not apply are left
// out.
type Metadata struct {
	Verb       string `json:"verb"`           // as in "send" or "trust_check"
	Code       string `json:"code,omitempty"` // of the Error, if there was one
	Runs       int    `json:"runs"`           // how often pilotctl was run; 0: the input was refused
	ExitCode   int    `json:"exit_code"`      // of the last run; -1 when a signal ended it
	DurationMS int64  `json:"duration_ms"`    // all runs together, without waiting for a place
	Stdout     int64  `json:"stdout_bytes"`   // printed by all runs
	Stderr     int64  `json:"stderr_bytes"`

	Peer         string  `json:"peer,omitempty"`       // address of the peer that was written to
	Outcome      Outcome `json:"outcome,omitempty"`    // of what was sent
	Ack          string  `json:"ack,omitempty"`        // the receiver's words
	MessageID    string  `json:"message_id,omitempty"` // newer pilotctl only
	ReplyTo      string  `json:"reply_to,omitempty"`   // the message that the reply names
	ReplyAfterMS int64   `json:"reply_after_ms,omitempty"`
	Truncated    bool    `json:"truncated,omitempty"` // the responder cut its reply

	NodeID   uint32 `json:"node_id,omitempty"`
	State    string `json:"state,omitempty"`    // of trust or of a handshake
	Answered int    `json:"answered,omitempty"` // packets of a ping
	Total    int    `json:"total,omitempty"`    // entries that there are
	Shown    int    `json:"shown,omitempty"`    // entries that the model is shown
	SHA256   string `json:"sha256,omitempty"`   // of a file that was sent
	Bytes    int64  `json:"bytes,omitempty"`    // of the message or file that was sent

	// ImportantUpdate is pilotctl's message of the day. It is no part of any
	// answer, and the model does not see it.
	ImportantUpdate string `json:"important_update,omitempty"`
}

func (m *Metadata) count(r *run.Result) {
	m.Runs++
	m.ExitCode = r.ExitCode
	m.DurationMS += r.Duration.Milliseconds()
	m.Stdout += int64(size(r.Stdout))
	m.Stderr += int64(size(r.Stderr))
}

// described gives a Metadata to the answers that lack one: those to input that
// was refused before the verb saw it.
type described struct {
	fantasy.AgentTool
	verb string
}

func (d described) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	r, err := d.AgentTool.Run(ctx, call)
	if err != nil || r.Metadata != "" {
		return r, err
	}
	return fantasy.WithResponseMetadata(r, Metadata{Verb: d.verb, Code: codeInvalidArgument}), nil
}
