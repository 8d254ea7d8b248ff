package pilot

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// BroadcastInput is a text for all peers of a network.
type BroadcastInput struct {
	NetworkID string `json:"network_id" jsonschema:"description=Number of the network, 0 to 65535; the data-exchange network is 9."`
	Message   string `json:"message" jsonschema:"description=The text; it must not begin with a dash."`
}

// BroadcastResult is a broadcast that the daemon took.
type BroadcastResult struct {
	NetworkID uint16
	Port      int
	Bytes     int64
}

// Broadcast hands a text to the daemon for every member of a network. Nobody
// acknowledges: that it was sent is all that is known. It needs an admin token
// in the environment (PILOT_ADMIN_TOKEN) or in pilotctl's configuration;
// without one it is ErrAuthRequired. Version 1.2 cannot broadcast:
// ErrUnavailable.
func (c *Client) Broadcast(ctx context.Context, in BroadcastInput) (*BroadcastResult, error) {
	return c.op("broadcast", spareTime).broadcast(ctx, in)
}

func (o *op) broadcast(ctx context.Context, in BroadcastInput) (*BroadcastResult, error) {
	network, err := networkID(in.NetworkID)
	if err != nil {
		return nil, o.fault(err)
	}
	if err := announcement(in.Message); err != nil {
		return nil, o.fault(err)
	}
	got, err := o.run(ctx, verb("broadcast", strconv.Itoa(int(network))).text(in.Message), nil)
	if err != nil {
		return nil, err
	}
	var data struct {
		Port  int   `json:"port"`
		Bytes int64 `json:"bytes"`
	}
	if err := got.decode(&data, "bytes"); err != nil {
		return nil, o.fault(err)
	}
	o.meta.Outcome, o.meta.Bytes = HandedOver, data.Bytes
	return &BroadcastResult{NetworkID: network, Port: data.Port, Bytes: data.Bytes}, nil
}

// networkID reads a whole number, also one that a caller's JSON made 9.0.
func networkID(s string) (uint16, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || f != math.Trunc(f) || f < 0 || f > math.MaxUint16 {
		return 0, refuse(fmt.Sprintf("network_id is %.40q; it must be a whole number from 0 to 65535", s), "the data-exchange network is 9")
	}
	return uint16(f), nil
}

// announcement checks a broadcast's text, which travels as a word of its own.
func announcement(s string) error {
	switch {
	case s == "":
		return refuse("message is empty", "say something")
	case strings.HasPrefix(s, "-"):
		return refuse("message begins with a dash, which pilotctl would take for a flag", "begin it otherwise")
	}
	if err := fits("message", "", s); err != nil {
		return err
	}
	return plain("message", s)
}

func (r *BroadcastResult) forModel() string {
	return fmt.Sprintf("Handed to the daemon for network %d: %d bytes. Who received it is not known: only members that trust this node and are listening do, and nobody acknowledges.", r.NetworkID, r.Bytes)
}
