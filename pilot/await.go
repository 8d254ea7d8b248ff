package pilot

import (
	"context"
	"time"
)

// The inbox is looked into at first after pollFirst, then less and less often.
const (
	pollFirst = 200 * time.Millisecond
	pollMost  = 2 * time.Second
	pollLimit = 100 // messages looked at; pilotctl 1.2 shows all of them
)

// mailbox is the inbox as it was before a letter was sent.
type mailbox struct {
	start time.Time      // of the run that sent the letter
	seen  map[record]int // nil: not looked
}

// mailbox remembers what is in the inbox, if pilotctl is known not to wait for
// replies: then an older message cannot pass for the reply. Before that is
// known the time of arrival must do.
func (o *op) mailbox(ctx context.Context, m letter) (*mailbox, error) {
	box := &mailbox{}
	if m.wait == 0 || !o.client.cannotWait() {
		return box, nil
	}
	records, err := o.records(ctx, pollLimit)
	if err != nil {
		return box, o.lostSight(ctx, err)
	}
	box.seen = map[record]int{}
	for _, r := range records.Messages {
		box.seen[r]++
	}
	return box, nil
}

// fresh tells whether a message came after the letter was sent. Times without
// a fraction are those of old daemons, which store whole seconds. Where it is
// known what was there before, the time does not matter.
func (b *mailbox) fresh(r *Reply) bool {
	if b.seen != nil {
		return true
	}
	at, err := time.Parse(time.RFC3339Nano, r.ReceivedAt)
	if err != nil {
		return true // nothing to hold against it
	}
	start := b.start
	if at.Nanosecond() == 0 {
		start = start.Truncate(time.Second)
	}
	return !at.Before(start)
}

// await looks into the inbox until the reply to a letter is there or the wait
// is over.
func (o *op) await(ctx context.Context, m letter, sent sentMessage, box *mailbox) (*Reply, time.Duration, error) {
	if sent.Reply == nil {
		o.client.noteCannotWait()
	}
	acked, wait := time.Now(), o.client.wait(m.wait)
	for next := pollFirst; ; next = min(next*3/2, pollMost) {
		left := wait - time.Since(acked)
		if left <= 0 || o.left <= 0 {
			return nil, 0, nil
		}
		if err := pause(ctx, min(next, left), nil); err != nil {
			return nil, 0, err
		}
		records, err := o.records(ctx, pollLimit)
		if err != nil {
			if err := o.lostSight(ctx, err); err != nil {
				return nil, 0, err
			}
			continue
		}
		if reply := box.answer(records.Messages, sent); reply != nil {
			return reply, time.Since(acked).Round(time.Millisecond), nil
		}
	}
}

// lostSight passes over an inbox that cannot be read: the letter is delivered
// all the same, and an error would have it sent again.
func (o *op) lostSight(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	o.meta.Code = ""
	return nil
}

// answer returns the oldest message that is new and may be the answer.
func (b *mailbox) answer(records []record, sent sentMessage) *Reply {
	had := map[record]int{}
	var oldest *record
	for _, r := range records {
		had[r]++
		reply := r.reply()
		if had[r] <= b.seen[r] || !b.fresh(reply) || reply.From == "" || !sent.answeredBy(reply) {
			continue
		}
		if oldest == nil || instant(r) < instant(*oldest) {
			oldest = &r
		}
	}
	if oldest == nil {
		return nil
	}
	return oldest.reply()
}

// cannotWait tells whether pilotctl was seen to return an acknowledged message
// without the reply it was to wait for.
func (c *Client) cannotWait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cannot
}

func (c *Client) noteCannotWait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cannot = true
}
