package pilottest

import (
	"path/filepath"
	"time"
)

// taggedGrace is how long an answer without an id is held back when the peer is
// known to name what it answers.
const taggedGrace = 750 * time.Millisecond

func inboxPath(home, id string) string {
	return filepath.Join(home, ".pilot", "inbox", id+".json")
}

// seen are the ids that were in the inbox before the message was sent.
func (m *sending) seen() (map[string]bool, error) {
	if m.wait <= 0 {
		return nil, nil
	}
	home, err := m.p.mailHome()
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	mails, _ := readInbox(filepath.Join(home, ".pilot", "inbox"))
	for _, mail := range mails {
		ids[mail.id] = true
	}
	return ids, nil
}

// await looks into the inbox until a reply is there or the time is over. It
// fills the result of a reply that came.
func (m *sending) await(a sent, data map[string]any, before map[string]bool, start time.Time) error {
	w := &waiting{m: m, sent: a, before: before, start: start, acked: time.Now(), window: m.wait}
	w.resendAfter = w.firstContactWait()
	for {
		over := w.elapsed() >= w.window // before the look: what came in time is found
		reply, err := w.look()
		if err != nil {
			return err
		}
		if reply != nil {
			data["reply"], data["reply_after_ms"] = reply, w.elapsed().Milliseconds()
			if w.resent {
				data["resent"] = true
			}
			return nil
		}
		if m.total > 0 && m.p.simulatedSince(m.begun) >= m.total {
			return m.outOfTime()
		}
		if over {
			return w.timeout()
		}
		if w.resendAfter > 0 && !w.resent && w.elapsed() >= w.resendAfter {
			w.resent = true
			w.window += m.wait / 2
			if err := m.deliver(&a, true); err != nil {
				return err
			}
		}
		time.Sleep(pollEvery)
	}
}

// waiting is the search for a reply.
type waiting struct {
	m           *sending
	sent        sent
	before      map[string]bool
	start       time.Time // before the dial
	acked       time.Time
	window      time.Duration
	resendAfter time.Duration
	resent      bool
	strict      bool // the peer answered another id: what has no id is not ours
}

func (w *waiting) elapsed() time.Duration { return w.m.p.simulatedSince(w.acked) }

// firstContactWait is when 1.16 sends again to a peer it had no session with;
// 0: never.
func (w *waiting) firstContactWait() time.Duration {
	half := min(w.m.wait/2, 15*time.Second)
	if w.m.p.gen != V116 || !w.sent.first || !w.m.resend || half < 3*time.Second {
		return 0
	}
	return half
}

func (w *waiting) look() (map[string]any, error) {
	p := w.m.p
	if err := p.net.update(func(*state) error { return nil }); err != nil {
		return nil, err
	}
	home, err := p.mailHome()
	if err != nil {
		return nil, err
	}
	mails, err := readInbox(filepath.Join(home, ".pilot", "inbox"))
	if err != nil {
		return nil, nil //nolint:nilerr // no mail yet; 1.13 takes an unreadable inbox for that too
	}
	if p.gen == V113 {
		return w.anyRecent(mails), nil
	}
	return w.ownReply(mails), nil
}

// anyRecent takes the first file by name from that sender that is not older
// than a second before the send: it may be the wrong one.
func (w *waiting) anyRecent(mails []storedMail) map[string]any {
	from := FormatAddress(0, w.m.id)
	for _, mail := range mails {
		if mail.mtime.After(w.start.Add(-time.Second)) && mail.text("from") == from {
			return mail.record
		}
	}
	return nil
}

// ownReply prefers the mail that names the message, never takes one that names
// another, and takes one without a name by its sender.
func (w *waiting) ownReply(mails []storedMail) map[string]any {
	from := FormatAddress(0, w.m.id)
	var untagged map[string]any
	tags := false
	for _, mail := range mails {
		if mail.text("from") != from {
			continue
		}
		tags = tags || mail.text("reply_to") != ""
		if w.before[mail.id] {
			continue
		}
		switch mail.text("reply_to") {
		case w.sent.id:
			return mail.record
		case "":
			if untagged == nil {
				untagged = mail.record
			}
		default:
			w.strict = true
		}
	}
	heldBack := tags && w.sent.tagged && w.elapsed() < taggedGrace
	if w.strict || heldBack {
		return nil
	}
	return untagged
}

func (w *waiting) timeout() error {
	f := fail("timeout", "no reply from %q within %s", FormatAddress(0, w.m.id), w.m.wait)
	if w.m.p.gen != V116 {
		return f
	}
	if w.resent {
		return f.withHint("the peer acknowledged the message, it was sent twice and not answered; try a longer --wait")
	}
	return f.withHint("the peer acknowledged the message but did not answer; try later or with a longer --wait")
}
