package pilot

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/fantasytools/fantasytools/internal/text"
)

// sentMessage is pilotctl's answer to send-message. The ack is the receiver's:
// it says that the receiver's daemon has stored the message.
type sentMessage struct {
	Target       string  `json:"target"`
	Bytes        int64   `json:"bytes"`
	Ack          string  `json:"ack"`
	Failure      string  `json:"error"`
	MessageID    string  `json:"message_id"`
	Resent       bool    `json:"resent"`
	Reply        *record `json:"reply"`
	ReplyAfterMS int64   `json:"reply_after_ms"`
}

// judge tells a delivered message from all others. Exit status 0 and an answer
// that says ok prove nothing.
func (s sentMessage) judge(m letter) (*SendResult, error) {
	if err := acknowledged(s.Ack, s.Failure, m.peer); err != nil {
		return nil, err
	}
	return &SendResult{
		Peer: m.peer, Address: text.Line(s.Target, maxName), Outcome: Delivered, Ack: text.Line(s.Ack, maxMessage),
		MessageID: text.Line(s.MessageID, maxName), Bytes: s.Bytes, Waited: m.wait,
	}, nil
}

// acknowledged is nil only if the receiver has said so.
func acknowledged(ack, failure, peer string) error {
	switch {
	case strings.HasPrefix(ack, "ERR"):
		return &Error{Code: codeRefused, Message: peer + " refused it: " + text.Line(ack, maxMessage), Hint: "nothing was stored there; try again later or tell the peer's owner", ours: true}
	case failure != "":
		return &Error{Code: codeUnacknowledged, Message: "sending to " + peer + " broke off: " + text.Line(failure, maxMessage), Hint: "it was probably not delivered; pilot_ping tells whether the peer is reachable", ours: true}
	case !strings.HasPrefix(ack, "ACK "):
		return &Error{Code: codeUnacknowledged, Message: "sent to " + peer + ", but not acknowledged: whether it arrived is not known", Hint: "pilot_ping tells whether the peer is reachable; look in pilot_inbox before you send it again", ours: true}
	}
	return nil
}

// answeredBy tells whether a reply may be the answer: one that names another
// message or another sender is not. When pilotctl sent the message twice, the
// reply may name either copy, of which only one is known here.
func (s sentMessage) answeredBy(r *Reply) bool {
	if r.From != "" && s.Target != "" && !sameNode(r.From, s.Target) {
		return false
	}
	return r.ReplyTo == "" || s.MessageID == "" || s.Resent || r.ReplyTo == s.MessageID
}

// record is a message as the daemon stores it.
type record struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	From       string `json:"from"`
	ReceivedAt string `json:"received_at"`
	Bytes      int64  `json:"bytes"`
	Data       string `json:"data"`
	Base64     string `json:"data_b64"`
	MessageID  string `json:"message_id"`
	ReplyTo    string `json:"reply_to"`
}

func (r record) reply() *Reply {
	out := &Reply{From: r.From, Type: r.Type, ReceivedAt: r.ReceivedAt, Bytes: r.Bytes, Text: r.Data, MessageID: r.MessageID, ReplyTo: r.ReplyTo}
	if r.Data != "" || r.Base64 == "" {
		return out
	}
	raw, err := base64.StdEncoding.DecodeString(r.Base64)
	if err != nil {
		raw = []byte(r.Base64)
	}
	if utf8.Valid(raw) && strings.IndexByte(string(raw), 0) < 0 {
		out.Text = string(raw)
	} else {
		out.Binary = raw
	}
	return out
}
