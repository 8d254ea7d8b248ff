package pilot

import (
	"context"
	"fmt"
)

// RejectInput names whose handshake to reject.
type RejectInput struct {
	Target string `json:"target" jsonschema:"description=Node id as pilot_pending shows it, address, or hostname."`
	Reason string `json:"reason,omitempty" jsonschema:"description=What the other side is told. At most 1024 bytes."`
}

// RejectResult is a handshake that was rejected.
type RejectResult struct {
	Target       string
	NodeID       uint32
	StillTrusted bool // the node is trusted from before: rejecting revokes nothing
}

// Reject rejects an inbound handshake, which must be pending (ErrNotPending).
// The other side may ask again. Older daemons do not tell it.
func (c *Client) Reject(ctx context.Context, in RejectInput) (*RejectResult, error) {
	return c.op("reject", spareTime).reject(ctx, in)
}

func (o *op) reject(ctx context.Context, in RejectInput) (*RejectResult, error) {
	if err := reason(in.Reason); err != nil {
		return nil, o.fault(err)
	}
	target, id, err := o.asker(ctx, in.Target)
	if err != nil {
		return nil, err
	}
	a := verb("reject", fmt.Sprint(id))
	if in.Reason != "" {
		a = a.text(in.Reason)
	}
	if err := o.about(ctx, a, id); err != nil {
		return nil, err
	}
	list, err := o.trusted(ctx)
	if err != nil {
		return nil, o.unconfirmed(err, "rejected")
	}
	return &RejectResult{Target: target, NodeID: id, StillTrusted: list.of(id) != nil}, nil
}

func (r *RejectResult) forModel() string {
	if r.StillTrusted {
		return fmt.Sprintf("Rejected the handshake of node %d, which is still trusted from before: pilot_untrust revokes that.", r.NodeID)
	}
	return fmt.Sprintf("Rejected the handshake of node %d. It may ask again.", r.NodeID)
}
