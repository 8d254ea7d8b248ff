package pilot

import (
	"context"
	"errors"
	"fmt"
)

// ApproveInput names whose handshake to approve.
type ApproveInput struct {
	Target string `json:"target" jsonschema:"description=Node id as pilot_pending shows it, address, or hostname."`
}

// ApproveResult is a handshake that was approved.
type ApproveResult struct {
	Target    string
	NodeID    uint32
	Confirmed bool // the node is in the list of trusted nodes; false: the list is too long to be shown whole
}

// Approve approves an inbound handshake. pilotctl reports success for nobody
// as well: so the handshake must be pending (ErrNotPending), and the node must
// be trusted afterwards.
func (c *Client) Approve(ctx context.Context, in ApproveInput) (*ApproveResult, error) {
	return c.op("approve", spareTime).approve(ctx, in)
}

func (o *op) approve(ctx context.Context, in ApproveInput) (*ApproveResult, error) {
	target, id, err := o.asker(ctx, in.Target)
	if err != nil {
		return nil, err
	}
	if err := o.about(ctx, verb("approve", fmt.Sprint(id)), id); err != nil {
		return nil, err
	}
	list, err := o.trusted(ctx)
	if err != nil {
		return nil, o.unconfirmed(err, "approved")
	}
	result := &ApproveResult{Target: target, NodeID: id, Confirmed: list.of(id) != nil}
	if !result.Confirmed && !list.truncated {
		return nil, o.fault(&Error{Code: codeNotConfirmed, Message: fmt.Sprintf("pilotctl reported node %d as approved, but it is not in the list of trusted nodes", id), Hint: "look with pilot_trust_check in a minute", ours: true})
	}
	o.meta.State = string(Trusted)
	return result, nil
}

// asker resolves a target and makes sure that its handshake is pending.
func (o *op) asker(ctx context.Context, given string) (target string, id uint32, err error) {
	if target, err = name("target", given); err != nil {
		return "", 0, o.fault(err)
	}
	if id, err = o.resolve(ctx, target); err != nil {
		var e *Error
		if errors.As(err, &e) && errors.Is(err, ErrNotFound) {
			e.Hint, e.ours = "use the node id that pilot_pending shows: hostnames of nodes without trust often do not resolve", true
		}
		return "", 0, err
	}
	o.meta.NodeID = id
	waiting, err := o.waiting(ctx)
	if err != nil {
		return "", 0, err
	}
	if pendingOf(waiting, id) == nil {
		return "", 0, o.fault(&Error{Code: codeNotPending, Message: fmt.Sprintf("no handshake of node %d is pending; %d others are", id, len(waiting)), Hint: "pilot_pending lists who waits, pilot_trust_check tells whether the node is trusted already", ours: true})
	}
	return target, id, nil
}

// unconfirmed is an error after something was done: saying only the error
// would sound as if it was not.
func (o *op) unconfirmed(err error, what string) error {
	var e *Error
	if errors.As(err, &e) {
		e.Message = fmt.Sprintf("pilotctl reported node %d as %s, but it cannot be confirmed: %s", o.meta.NodeID, what, e.Message)
	}
	return err
}

func (r *ApproveResult) forModel() string {
	if !r.Confirmed {
		return fmt.Sprintf("Approved node %d. The list of trusted nodes is too long to be shown whole, so it could not be confirmed.", r.NodeID)
	}
	return fmt.Sprintf("Approved: node %d is trusted now. The other side sees it within a minute.", r.NodeID)
}
