package pilot

import (
	"context"
	"fmt"
)

// UntrustInput names the node to trust no more.
type UntrustInput struct {
	Target string `json:"target" jsonschema:"description=Hostname, address (0:0000.0000.000B) or node id."`
}

// UntrustResult is a node whose trust was revoked.
type UntrustResult struct {
	Target string
	NodeID uint32
}

// Untrust revokes trust. A node that was not trusted is ErrNotTrusted. The
// other side is told, but daemons of version 1.2 were seen not to learn of it.
func (c *Client) Untrust(ctx context.Context, in UntrustInput) (*UntrustResult, error) {
	return c.op("untrust", spareTime).untrust(ctx, in)
}

func (o *op) untrust(ctx context.Context, in UntrustInput) (*UntrustResult, error) {
	target, err := name("target", in.Target)
	if err != nil {
		return nil, o.fault(err)
	}
	id, err := o.resolve(ctx, target)
	if err != nil {
		return nil, err
	}
	o.meta.NodeID = id
	if err := o.about(ctx, verb("untrust", fmt.Sprint(id)), id); err != nil {
		return nil, err
	}
	o.meta.State = string(Untrusted)
	return &UntrustResult{Target: target, NodeID: id}, nil
}

func (r *UntrustResult) forModel() string {
	return fmt.Sprintf("Revoked: node %d is no longer trusted here, and messages and files to it fail until a new pilot_handshake.", r.NodeID)
}
