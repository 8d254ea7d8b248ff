package pilot

import (
	"context"
	"fmt"
	"time"
)

// HandshakeInput asks a node for trust.
type HandshakeInput struct {
	Target string `json:"target" jsonschema:"description=Hostname, address (0:0000.0000.000B) or node id."`
	Reason string `json:"reason,omitempty" jsonschema:"description=Why trust is asked for; the person at the other side reads it. At most 1024 bytes."`
}

// HandshakeState is what is known after asking for trust.
type HandshakeState string

const (
	// Requested means: the request is on its way; the other side has to approve.
	Requested HandshakeState = "requested"
	// NowTrusted means: the node is trusted since the request.
	NowTrusted HandshakeState = "trusted"
	// AlreadyTrusted means: the node was trusted before; the request went out anyway,
	// since the other side may have revoked its trust unseen.
	AlreadyTrusted HandshakeState = "already-trusted"
)

// HandshakeResult is what became of a request.
type HandshakeResult struct {
	Target string
	NodeID uint32
	State  HandshakeState
}

// Handshake asks a node for trust. That the request was sent is no trust:
// specialists approve by themselves, people in their own time, and either takes
// up to a minute to be seen here.
func (c *Client) Handshake(ctx context.Context, in HandshakeInput) (*HandshakeResult, error) {
	return c.op("handshake", handshakeTime).handshake(ctx, in)
}

func (o *op) handshake(ctx context.Context, in HandshakeInput) (*HandshakeResult, error) {
	target, err := name("target", in.Target)
	if err != nil {
		return nil, o.fault(err)
	}
	if err := reason(in.Reason); err != nil {
		return nil, o.fault(err)
	}
	a := verb("handshake", target)
	if in.Reason != "" {
		a = a.text(in.Reason)
	}
	start := time.Now()
	got, err := o.run(ctx, a, nil)
	if err != nil {
		return nil, err
	}
	var data struct {
		Status string  `json:"status"`
		NodeID *uint32 `json:"node_id"`
	}
	if err := got.decode(&data); err != nil {
		return nil, o.fault(err)
	}
	if data.NodeID == nil && data.Status == "" {
		return nil, o.fault(&Error{Code: codeNoAnswer, Message: "pilotctl did not say what became of the request"})
	}
	result := &HandshakeResult{Target: target, State: Requested}
	if data.Status == "already_trusted" {
		result.State = AlreadyTrusted
	}
	if data.NodeID != nil {
		result.NodeID = *data.NodeID
	}
	if err := o.lookForTrust(ctx, result, start); err != nil {
		return nil, err
	}
	o.meta.NodeID, o.meta.State = result.NodeID, string(result.State)
	return result, nil
}

// lookForTrust asks the daemon's list: pilotctl says "sent" of a trusted node
// too. Where the list cannot be read, the request stands as requested.
func (o *op) lookForTrust(ctx context.Context, r *HandshakeResult, start time.Time) error {
	if r.State == AlreadyTrusted || r.NodeID == 0 {
		return nil
	}
	list, err := o.trusted(ctx)
	if err != nil {
		o.meta.Code = ""
		return ctx.Err()
	}
	if t := list.of(r.NodeID); t != nil {
		r.State = AlreadyTrusted
		if !t.ApprovedAt.Before(start.Truncate(time.Second)) {
			r.State = NowTrusted
		}
	}
	return nil
}

func (r *HandshakeResult) forModel() string {
	switch r.State {
	case AlreadyTrusted:
		return fmt.Sprintf("%s is already trusted; the request was sent anyway, in case the other side has dropped its trust.", r.Target)
	case NowTrusted:
		return fmt.Sprintf("%s has approved and is trusted now. A send that fails right after may need up to a minute.", r.Target)
	}
	return fmt.Sprintf("Requested, waiting for the other side: %s is not trusted yet. Specialists approve by themselves within a minute, people when they see it. Look with pilot_trust_check before sending; do not ask again meanwhile.", r.Target)
}
