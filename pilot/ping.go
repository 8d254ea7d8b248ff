package pilot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/internal/text"
)

// PingInput is how to ping whom.
type PingInput struct {
	Target         string `json:"target" jsonschema:"description=Hostname, address (0:0000.0000.000B) or node id."`
	Count          int    `json:"count,omitempty" jsonschema:"description=How many packets, one after the other.,minimum=1,maximum=20,default=1"`
	TimeoutSeconds int    `json:"timeout_seconds,omitempty" jsonschema:"description=Seconds for all packets together; a packet that is on its way may take longer.,minimum=1,maximum=120,default=10"`
}

const (
	defaultPings, maxPings             = 1, 20
	defaultPingSeconds, maxPingSeconds = 10, 120
)

// PingResult is what came back.
type PingResult struct {
	Target   string // as asked for
	Address  string
	Packets  []Packet
	TimedOut bool // the time was over before all packets were sent
}

// Packet is one packet: answered where Error is empty.
type Packet struct {
	Seq   int
	RTT   float64 // milliseconds, dialling included
	Error string
}

// Reachable tells whether any packet was answered.
func (r *PingResult) Reachable() bool { return r.answered() > 0 }

func (r *PingResult) answered() int {
	n := 0
	for _, p := range r.Packets {
		if p.Error == "" {
			n++
		}
	}
	return n
}

// Ping measures the round trip to a node. A Count of 0 is 1, a TimeoutSeconds
// of 0 is 10. An unreachable node is a result, not an error.
func (c *Client) Ping(ctx context.Context, in PingInput) (*PingResult, error) {
	return c.op("ping", 0).ping(ctx, in)
}

func (o *op) ping(ctx context.Context, in PingInput) (*PingResult, error) {
	target, err := name("target", in.Target)
	if err != nil {
		return nil, o.fault(err)
	}
	if err := within("count", &in.Count, 1, maxPings, defaultPings); err != nil {
		return nil, o.fault(err)
	}
	if err := within("timeout_seconds", &in.TimeoutSeconds, 1, maxPingSeconds, defaultPingSeconds); err != nil {
		return nil, o.fault(err)
	}
	o.left = pingLimit(in.Count, in.TimeoutSeconds)
	l := o.client.enter(target)
	defer o.client.leave(l)
	got, err := o.runAnyExit(ctx, verb("ping", target).number("count", in.Count).seconds("timeout", time.Duration(in.TimeoutSeconds)*time.Second), l)
	if err != nil {
		return nil, err
	}
	return o.packets(target, got)
}

func (o *op) packets(target string, got *answer) (*PingResult, error) {
	var data struct {
		Target  string `json:"target"`
		Results []struct {
			Seq   int     `json:"seq"`
			RTT   float64 `json:"rtt_ms"`
			Error string  `json:"error"`
		} `json:"results"`
		Timeout bool `json:"timeout"`
	}
	if err := got.decode(&data, "results"); err != nil {
		return nil, o.fault(err)
	}
	result := &PingResult{Target: target, Address: text.Line(data.Target, maxName), TimedOut: data.Timeout}
	for _, p := range data.Results {
		result.Packets = append(result.Packets, Packet(p))
	}
	o.meta.Peer, o.meta.Total, o.meta.Answered = result.Address, len(result.Packets), result.answered()
	return result, nil
}

func (r *PingResult) forModel() string {
	var b strings.Builder
	if r.Reachable() {
		fmt.Fprintf(&b, "Reachable: %s answered %d of %d packets.", r.Target, r.answered(), len(r.Packets))
	} else {
		fmt.Fprintf(&b, "Unreachable: %s answered none of %d packets.", r.Target, len(r.Packets))
	}
	if r.TimedOut {
		b.WriteString(" The time was over before all packets were sent.")
	}
	for _, p := range r.Packets[:min(len(r.Packets), maxPings)] {
		if p.Error == "" {
			fmt.Fprintf(&b, "\n%d: %.3g ms", p.Seq+1, p.RTT)
		} else {
			fmt.Fprintf(&b, "\n%d: %s", p.Seq+1, text.Line(p.Error, 300))
		}
	}
	if !r.Reachable() {
		b.WriteString("\nA dial timeout means that the peer is down; a node that cannot be resolved is unknown or does not trust this one (pilot_trust_check).")
	}
	return b.String()
}
