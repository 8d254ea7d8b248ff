package pilot

import (
	"context"
	"fmt"

	"github.com/fantasytools/fantasytools/internal/text"
)

// FindInput names the host to find.
type FindInput struct {
	Hostname string `json:"hostname" jsonschema:"description=The hostname, such as bitstamp; no address and no node id."`
}

// FindResult is where a host is.
type FindResult struct {
	Hostname string
	NodeID   uint32
	Address  string // such as 0:0000.0000.000B
	Public   bool   // anybody may reach it without trust
}

// Find resolves a hostname through the daemon. The newer daemon keeps the
// answer for 60 seconds. A hostname that is not known, and a registry that
// cannot be reached, are both ErrNotFound.
func (c *Client) Find(ctx context.Context, in FindInput) (*FindResult, error) {
	return c.op("find", spareTime).findHost(ctx, in)
}

func (o *op) findHost(ctx context.Context, in FindInput) (*FindResult, error) {
	host, err := name("hostname", in.Hostname)
	if err != nil {
		return nil, o.fault(err)
	}
	if _, is := nodeOf(host); is {
		return nil, o.fault(refuse("hostname is \""+host+"\", which is an address or node id already", "pilot_lookup tells what is known of a node"))
	}
	return o.find(ctx, host)
}

func (o *op) find(ctx context.Context, host string) (*FindResult, error) {
	got, err := o.run(ctx, verb("find", host), nil)
	if err != nil {
		return nil, err
	}
	var data struct {
		Hostname string  `json:"hostname"`
		NodeID   *uint32 `json:"node_id"`
		Address  string  `json:"address"`
		Public   bool    `json:"public"`
	}
	if err := got.decode(&data); err != nil {
		return nil, o.fault(err)
	}
	if data.NodeID == nil {
		return nil, o.fault(&Error{Code: codeNoAnswer, Message: "pilotctl found the host, but did not say which node it is"})
	}
	o.meta.NodeID, o.meta.Peer = *data.NodeID, text.Line(data.Address, maxName)
	return &FindResult{Hostname: data.Hostname, NodeID: *data.NodeID, Address: data.Address, Public: data.Public}, nil
}

func (r *FindResult) forModel() string {
	kind := "private: reachable with trust only"
	if r.Public {
		kind = "public"
	}
	return fmt.Sprintf("%s is node %d at %s (%s).", text.Line(r.Hostname, maxName), r.NodeID, text.Line(r.Address, maxName), kind)
}
