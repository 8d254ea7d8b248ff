package pilot

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var addressText = regexp.MustCompile(`^(\d{1,5}):([0-9A-Fa-f]{4})\.([0-9A-Fa-f]{4})\.([0-9A-Fa-f]{4})$`)

// nodeOf reads a node id ("11") or a full address ("0:0000.0000.000B"). All
// other targets are hostnames, which only the daemon can resolve.
func nodeOf(target string) (id uint32, ok bool) {
	if n, err := strconv.ParseUint(target, 10, 32); err == nil {
		return uint32(n), true
	}
	m := addressText.FindStringSubmatch(target)
	if m == nil {
		return 0, false
	}
	network, err := strconv.ParseUint(m[1], 10, 16)
	again, err2 := strconv.ParseUint(m[2], 16, 16)
	n, err3 := strconv.ParseUint(m[3]+m[4], 16, 32)
	if err != nil || err2 != nil || err3 != nil || network != again {
		return 0, false
	}
	return uint32(n), true
}

// backboneAddress is the address of a node on network 0.
func backboneAddress(id uint32) string {
	return fmt.Sprintf("0:0000.%04X.%04X", id>>16, id&0xFFFF)
}

// sameNode tells whether two addresses name one node. A node has an address on
// each of its networks, so that the text does not decide.
func sameNode(a, b string) bool {
	x, ok := nodeOf(a)
	y, ok2 := nodeOf(b)
	if ok && ok2 {
		return x == y
	}
	return strings.EqualFold(a, b)
}

// about runs a verb that is about one node, and checks that the answer is about
// that node.
func (o *op) about(ctx context.Context, a argv, id uint32) error {
	got, err := o.run(ctx, a, nil)
	if err != nil {
		return err
	}
	var data struct {
		NodeID *uint32 `json:"node_id"`
	}
	if err := got.decode(&data); err != nil {
		return o.fault(err)
	}
	if data.NodeID == nil || *data.NodeID != id {
		return o.fault(&Error{Code: codeNoAnswer, Message: fmt.Sprintf("pilotctl reported success, but not for node %d", id)})
	}
	return nil
}

// resolve returns the node id of a target: trust records know nothing else,
// and the oldest pilotctl takes nothing else.
func (o *op) resolve(ctx context.Context, target string) (uint32, error) {
	if id, ok := nodeOf(target); ok {
		return id, nil
	}
	found, err := o.find(ctx, target)
	if err != nil {
		return 0, err
	}
	return found.NodeID, nil
}
