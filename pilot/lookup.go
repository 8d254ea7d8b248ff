package pilot

import (
	"context"
	"fmt"
	"strings"

	"github.com/fantasytools/fantasytools/internal/text"
)

// LookupInput names the node to look up.
type LookupInput struct {
	Target string `json:"target" jsonschema:"description=Hostname, address (0:0000.0000.000B) or node id."`
}

// LookupResult is a node's record at the registry. Where on the internet the
// node is, which older versions tell, is left out.
type LookupResult struct {
	NodeID    uint32
	Address   string
	Hostname  string // may be empty
	PublicKey string // Ed25519, base64
	Public    bool
	Networks  []uint32
	Tags      []string
}

// Lookup reads a node's record at the registry. A hostname is resolved through
// the daemon first; otherwise none is needed. A node that the registry does not
// know is ErrNotFound where it says so.
func (c *Client) Lookup(ctx context.Context, in LookupInput) (*LookupResult, error) {
	return c.op("lookup", spareTime).lookup(ctx, in)
}

func (o *op) lookup(ctx context.Context, in LookupInput) (*LookupResult, error) {
	target, err := name("target", in.Target)
	if err != nil {
		return nil, o.fault(err)
	}
	id, err := o.resolve(ctx, target)
	if err != nil {
		return nil, err
	}
	got, err := o.run(ctx, verb("lookup", fmt.Sprint(id)), nil)
	if err != nil {
		return nil, err
	}
	var data struct {
		NodeID    *uint32  `json:"node_id"`
		Address   string   `json:"address"`
		Hostname  string   `json:"hostname"`
		PublicKey string   `json:"public_key"`
		Public    bool     `json:"public"`
		Networks  []uint32 `json:"networks"`
		Tags      []string `json:"tags"`
	}
	if err := got.decode(&data); err != nil {
		return nil, o.fault(err)
	}
	if data.NodeID == nil {
		return nil, o.fault(&Error{Code: codeNoAnswer, Message: "the registry's record does not name a node"})
	}
	o.meta.NodeID, o.meta.Peer = *data.NodeID, text.Line(data.Address, maxName)
	return &LookupResult{NodeID: *data.NodeID, Address: data.Address, Hostname: data.Hostname, PublicKey: data.PublicKey, Public: data.Public, Networks: data.Networks, Tags: data.Tags}, nil
}

func (r *LookupResult) forModel() string {
	var b strings.Builder
	fmt.Fprintf(&b, "node_id: %d\naddress: %s\nhostname: %s\npublic_key: %s\npublic: %t\nnetworks: %s",
		r.NodeID, text.Line(r.Address, maxName), text.Line(orNone(r.Hostname), maxName), text.Line(orNone(r.PublicKey), maxName), r.Public,
		text.Line(orNone(strings.Trim(fmt.Sprint(r.Networks), "[]")), maxMessage))
	if len(r.Tags) > 0 {
		b.WriteString("\ntags (the node's own words): " + text.Line(strings.Join(r.Tags, ", "), maxMessage))
	}
	return b.String()
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
