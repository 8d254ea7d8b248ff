package pilot

import (
	"context"
	"fmt"

	"github.com/fantasytools/fantasytools/internal/text"
)

// PublishInput is an event for a topic.
type PublishInput struct {
	Peer    string `json:"peer" jsonschema:"description=Hostname, address (0:0000.0000.000B) or node id of the peer whose channel it is."`
	Topic   string `json:"topic" jsonschema:"description=Topic of the event, at most 1024 bytes."`
	Message string `json:"message" jsonschema:"description=The event, sent exactly as it is; not empty and not a single dash."`
}

// PublishResult is an event that the daemon took.
type PublishResult struct {
	Peer    string // as asked for
	Address string
	Topic   string
	Bytes   int64
}

// Publish hands an event to the daemon for a topic of a peer. Nobody
// acknowledges: a peer that does not trust this node, or that takes more than
// 100 events a second, drops it without a word.
func (c *Client) Publish(ctx context.Context, in PublishInput) (*PublishResult, error) {
	return c.op("publish", spareTime).publish(ctx, in)
}

func (o *op) publish(ctx context.Context, in PublishInput) (*PublishResult, error) {
	peer, err := name("peer", in.Peer)
	if err != nil {
		return nil, o.fault(err)
	}
	if err := topic(in.Topic); err != nil {
		return nil, o.fault(err)
	}
	if err := message("message", in.Message); err != nil {
		return nil, o.fault(err)
	}
	if err := fits("message", "--data=", in.Message); err != nil {
		return nil, o.fault(err)
	}
	l := o.client.enter(peer)
	defer o.client.leave(l)
	got, err := o.run(ctx, verb("publish", peer, in.Topic).data(in.Message), l)
	if err != nil {
		return nil, err
	}
	var data struct {
		Target string `json:"target"`
		Bytes  int64  `json:"bytes"`
	}
	if err := got.decode(&data, "target", "bytes"); err != nil {
		return nil, o.fault(err)
	}
	o.meta.Peer, o.meta.Outcome, o.meta.Bytes = text.Line(data.Target, maxName), HandedOver, data.Bytes
	return &PublishResult{Peer: peer, Address: o.meta.Peer, Topic: in.Topic, Bytes: data.Bytes}, nil
}

func (r *PublishResult) forModel() string {
	return fmt.Sprintf("Handed to the daemon: an event of %d bytes for %s. Whether anybody received it is not known: publishing is not acknowledged.", r.Bytes, r.Peer)
}
