package pilot

import (
	"context"
	"fmt"
	"strings"
)

// PeersInput is empty.
type PeersInput struct{}

// PeersResult is the peers with a tunnel.
type PeersResult struct {
	Peers []Peer
	Total int // may be more than Peers holds
}

// Peer is a node with a live or known tunnel; that is not to say a trusted one.
type Peer struct {
	NodeID        uint32
	Encrypted     bool
	Authenticated bool
	Relay         bool // by way of a relay; older versions do not tell
}

// Peers lists the nodes that the daemon has a tunnel with.
func (c *Client) Peers(ctx context.Context, in PeersInput) (*PeersResult, error) {
	return c.op("peers", spareTime).peers(ctx, in)
}

func (o *op) peers(ctx context.Context, _ PeersInput) (*PeersResult, error) {
	got, err := o.run(ctx, verb("peers"), nil)
	if err != nil {
		return nil, err
	}
	var data struct {
		Peers []struct {
			NodeID        uint32 `json:"node_id"`
			Encrypted     bool   `json:"encrypted"`
			Authenticated bool   `json:"authenticated"`
			Relay         bool   `json:"relay"`
		} `json:"peers"`
		Total       int `json:"total"`
		DaemonPeers int `json:"daemon_peers"`
	}
	if err := got.decode(&data, "peers"); err != nil {
		return nil, o.fault(err)
	}
	result := &PeersResult{Total: max(data.Total, data.DaemonPeers, len(data.Peers))}
	for _, p := range data.Peers {
		result.Peers = append(result.Peers, Peer(p))
	}
	o.meta.Total, o.meta.Shown = result.Total, min(len(result.Peers), maxPeers)
	return result, nil
}

const maxPeers = 300 // that the model is shown

func (r *PeersResult) forModel() string {
	if len(r.Peers) == 0 {
		return "No peer has a tunnel to this node."
	}
	shown := r.Peers[:min(len(r.Peers), maxPeers)]
	var b strings.Builder
	fmt.Fprintf(&b, "%s with a tunnel:", several(r.Total, "peer"))
	for _, p := range shown {
		fmt.Fprintf(&b, "\nnode %d (%s): %s", p.NodeID, backboneAddress(p.NodeID), strings.Join(p.facts(), ", "))
	}
	if more := r.Total - len(shown); more > 0 {
		fmt.Fprintf(&b, "\n%d more are not shown.", more)
	}
	return b.String()
}

func (p Peer) facts() []string {
	facts := []string{"not encrypted", "not authenticated", "direct"}
	if p.Encrypted {
		facts[0] = "encrypted"
	}
	if p.Authenticated {
		facts[1] = "authenticated"
	}
	if p.Relay {
		facts[2] = "relayed"
	}
	return facts
}
