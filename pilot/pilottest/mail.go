package pilottest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Message is a message as the receiving daemon stores it.
type Message struct {
	From      string // name of the sending node, or any full address
	Text      string // the payload; any bytes
	Type      string // text (default), json or binary
	MessageID string // when the frame is tagged; a 1.2 or 1.13 daemon drops it
	ReplyTo   string // id of the message that this one answers
}

func (m Message) kind() string {
	if m.Type == "" {
		return "TEXT"
	}
	return strings.ToUpper(m.Type)
}

// store writes a message into the inbox of a node, in the form of its daemon's
// generation, and returns the acknowledgement of that daemon.
func (s *state) store(to *node, m Message) (ack string) {
	m.From = s.senderAddress(m.From)
	if err := os.MkdirAll(to.inbox(), 0o700); err != nil {
		return fmt.Sprintf("ERR %s save failed: mkdir: %v", m.kind(), err)
	}
	record := inboxRecord(to.Generation, m)
	data, err := json.Marshal(record)
	if err != nil {
		return fmt.Sprintf("ERR %s save failed: %v", m.kind(), err)
	}
	path := filepath.Join(to.inbox(), m.kind()+"-"+to.stamp()+".json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Sprintf("ERR %s save failed: %v", m.kind(), err)
	}
	return fmt.Sprintf("ACK %s %d bytes", m.kind(), len(m.Text))
}

// senderAddress turns a node's name into its address; an address stays.
func (s *state) senderAddress(from string) string {
	if n := s.byName(from); n != nil {
		return n.address()
	}
	return from
}

// stamp is the time in the name of a stored file. A 1.2 daemon writes the time
// only, so two in one tick have the same name and the later replaces the
// earlier; newer ones add a number.
func (n *node) stamp() string {
	now := time.Now()
	if n.Behaviour.Tick > 0 {
		now = now.Truncate(n.Behaviour.Tick)
	}
	stamp := now.Format("20060102-150405.000")
	if !n.Generation.modern() {
		return stamp
	}
	n.Seq++
	return fmt.Sprintf("%s-%06d", stamp, n.Seq)
}

func inboxRecord(g Generation, m Message) map[string]any {
	r := map[string]any{"type": m.kind(), "from": m.From, "bytes": len(m.Text)}
	if !g.modern() {
		r["received_at"] = time.Now().Format(time.RFC3339)
		r["data"] = m.Text
		return r
	}
	r["received_at"] = time.Now().Format(time.RFC3339Nano)
	if utf8.ValidString(m.Text) {
		r["data"], r["data_encoding"] = m.Text, "utf8"
	} else {
		r["data_b64"], r["data_encoding"] = base64.StdEncoding.EncodeToString([]byte(m.Text)), "base64"
	}
	if g == V116 && m.MessageID != "" {
		r["message_id"] = m.MessageID
	}
	if g == V116 && m.ReplyTo != "" {
		r["reply_to"] = m.ReplyTo
	}
	return r
}

// newMessageID is 32 hexadecimal digits.
func newMessageID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// storedMail is one file of an inbox directory.
type storedMail struct {
	id     string // name without .json
	mtime  time.Time
	record map[string]any
}

func (m storedMail) text(key string) string { s, _ := m.record[key].(string); return s }

func (m storedMail) receivedAt() time.Time {
	t, err := time.Parse(time.RFC3339Nano, m.text("received_at"))
	if err != nil {
		return m.mtime
	}
	return t
}

// readInbox returns the records in the order of file names. What cannot be
// parsed is skipped, as pilotctl does.
func readInbox(dir string) ([]storedMail, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var mails []storedMail
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if m, ok := readMail(filepath.Join(dir, e.Name())); ok {
			mails = append(mails, m)
		}
	}
	return mails, nil
}

func readMail(path string) (storedMail, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return storedMail{}, false
	}
	m := storedMail{id: strings.TrimSuffix(filepath.Base(path), ".json")}
	if json.Unmarshal(data, &m.record) != nil || m.record == nil {
		return storedMail{}, false
	}
	if info, err := os.Stat(path); err == nil {
		m.mtime = info.ModTime()
	}
	return m, true
}

func newestFirst(mails []storedMail) {
	slices.SortStableFunc(mails, func(a, b storedMail) int {
		if c := b.receivedAt().Compare(a.receivedAt()); c != 0 {
			return c
		}
		return strings.Compare(b.id, a.id)
	})
}
