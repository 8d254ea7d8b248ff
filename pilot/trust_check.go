package pilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/internal/text"
)

// TrustCheckInput names the node to check.
type TrustCheckInput struct {
	Target string `json:"target" jsonschema:"description=Hostname, address (0:0000.0000.000B) or node id."`
}

// TrustState is what this node knows of its trust with another.
type TrustState string

const (
	// Trusted means: the node is in the daemon's list of trusted nodes.
	Trusted TrustState = "trusted"
	// PendingInbound means: the node asked for trust and waits for approval here.
	PendingInbound TrustState = "pending-inbound"
	// AutoApproving means: pilotctl itself lists the node as a service agent that
	// approves every handshake.
	AutoApproving TrustState = "auto-approving"
	// Untrusted means: none of these.
	Untrusted TrustState = "untrusted"
	// TrustUnknown means: it cannot be told; Reason says why.
	TrustUnknown TrustState = "unknown"
)

// TrustCheckResult is the trust with one node. It says nothing of the other
// side's view: the mutual flag of the daemon tells who asked, not who trusts.
type TrustCheckResult struct {
	Target        string
	State         TrustState
	NodeID        uint32    // 0 where the target could not be resolved
	Since         time.Time // of Trusted
	Justification string    // of PendingInbound: the other side's words
	Reason        string    // of TrustUnknown
}

// TrustCheck looks a node up in the lists of trusted nodes, of pending
// handshakes and of agents that approve by themselves. A hostname is resolved
// first: the lists know node ids. It changes nothing.
func (c *Client) TrustCheck(ctx context.Context, in TrustCheckInput) (*TrustCheckResult, error) {
	return c.op("trust_check", spareTime).trustCheck(ctx, in)
}

func (o *op) trustCheck(ctx context.Context, in TrustCheckInput) (*TrustCheckResult, error) {
	target, err := name("target", in.Target)
	if err != nil {
		return nil, o.fault(err)
	}
	result := &TrustCheckResult{Target: target}
	if result.NodeID, err = o.resolve(ctx, target); err != nil {
		err = o.unresolved(ctx, result, err)
	} else {
		err = o.trustOf(ctx, result)
	}
	if err != nil {
		return nil, err
	}
	o.meta.NodeID, o.meta.State, o.meta.Code = result.NodeID, string(result.State), ""
	return result, nil
}

// unresolved is the state of a hostname that the daemon does not know.
func (o *op) unresolved(ctx context.Context, r *TrustCheckResult, err error) error {
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrNotFound) {
		return err
	}
	r.State, r.Reason = TrustUnknown, e.Message
	listed, err := o.autoApproves(ctx, r.Target, "")
	if listed {
		r.State, r.Reason = AutoApproving, ""
	}
	return err
}

func (o *op) trustOf(ctx context.Context, r *TrustCheckResult) error {
	list, err := o.trusted(ctx)
	if err != nil {
		return err
	}
	if t := list.of(r.NodeID); t != nil {
		r.State, r.Since = Trusted, t.ApprovedAt
		return nil
	}
	waiting, err := o.waiting(ctx)
	if err != nil {
		return err
	}
	if p := pendingOf(waiting, r.NodeID); p != nil {
		r.State, r.Justification = PendingInbound, p.Justification
		return nil
	}
	r.State = Untrusted
	if list.truncated {
		r.State, r.Reason = TrustUnknown, "the daemon's list of trusted nodes is too long to be shown whole, and the node is not in the part that is"
	}
	approves, err := o.autoApproves(ctx, r.Target, backboneAddress(r.NodeID))
	if approves {
		r.State, r.Reason = AutoApproving, ""
	}
	return err
}

// trustRecord is a node that this one trusts.
type trustRecord struct {
	NodeID     uint32
	ApprovedAt time.Time // to the second
}

type trustList struct {
	records   []trustRecord
	truncated bool
}

func (l *trustList) of(id uint32) *trustRecord {
	i := slices.IndexFunc(l.records, func(r trustRecord) bool { return r.NodeID == id })
	if i < 0 {
		return nil
	}
	return &l.records[i]
}

func (o *op) trusted(ctx context.Context) (*trustList, error) {
	got, err := o.run(ctx, verb("trust"), nil)
	if err != nil {
		return nil, err
	}
	var data struct {
		Trusted []struct {
			NodeID     uint32  `json:"node_id"`
			ApprovedAt float64 `json:"approved_at"`
		} `json:"trusted"`
		Truncated bool `json:"truncated"`
	}
	if err := got.decode(&data, "trusted"); err != nil {
		return nil, o.fault(err)
	}
	list := &trustList{truncated: data.Truncated}
	for _, t := range data.Trusted {
		list.records = append(list.records, trustRecord{NodeID: t.NodeID, ApprovedAt: time.Unix(int64(t.ApprovedAt), 0)})
	}
	return list, nil
}

// autoApproves looks a node up in pilotctl's own list of agents that approve
// every handshake, by hostname or address. Version 1.13 prints the list as a
// table whatever it is asked, version 1.2 has none: an agent that cannot be
// found in a list is not claimed to be in one.
func (o *op) autoApproves(ctx context.Context, target, address string) (bool, error) {
	got, err := o.run(ctx, verb("trusted", "list"), nil)
	if err != nil {
		return tabled(err, target, address), ctx.Err()
	}
	var data struct {
		Trusted []struct {
			Hostname string `json:"hostname"`
			Address  string `json:"address"`
			NodeID   uint32 `json:"node_id"`
		} `json:"trusted"`
	}
	_ = json.Unmarshal(got.data, &data) // what cannot be read lists nobody
	id, known := nodeOf(address)
	for _, agent := range data.Trusted {
		if strings.EqualFold(agent.Hostname, target) || known && (agent.NodeID == id || sameNode(agent.Address, address)) {
			return true, nil
		}
	}
	return false, nil
}

// tabled looks for a hostname or an address in a list that came as a table, as a
// word of its own; a bare number could be anything there.
func tabled(err error, target, address string) bool {
	var e *Error
	if !errors.As(err, &e) || e.Code != codePlainText {
		return false
	}
	_, isNode := nodeOf(target)
	return slices.ContainsFunc(strings.Fields(string(e.stdout)), func(word string) bool {
		return !isNode && strings.EqualFold(word, target) || address != "" && strings.EqualFold(word, address)
	})
}

func (r *TrustCheckResult) forModel() string {
	who := r.Target
	if _, is := nodeOf(r.Target); !is && r.State != TrustUnknown && r.NodeID != 0 {
		who = fmt.Sprintf("%s (node %d)", r.Target, r.NodeID)
	}
	switch r.State {
	case Trusted:
		return fmt.Sprintf("trusted: %s, since %s.", who, r.Since.UTC().Format(time.RFC3339))
	case PendingInbound:
		s := fmt.Sprintf("pending-inbound: %s asked for trust and waits for pilot_approve or pilot_reject.", who)
		if r.Justification != "" {
			s += " Its reason (its words):\n" + quote(text.Line(r.Justification, MaxBody), MaxBody)
		}
		return s
	case AutoApproving:
		return fmt.Sprintf("auto-approving: %s approves every pilot_handshake by itself.", who)
	case Untrusted:
		return fmt.Sprintf("untrusted: %s. pilot_handshake asks for trust.", who)
	}
	return fmt.Sprintf("unknown: %s cannot be checked: %s.", who, strings.TrimSuffix(r.Reason, "."))
}
