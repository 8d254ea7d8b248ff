package pilottest

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// sending is one run of send-message.
type sending struct {
	p       *process
	id      uint32
	kind    string
	payload string
	count   int
	wait    time.Duration
	total   time.Duration // of the whole command; 0: none
	replyTo string
	resend  bool
	trace   bool
	begun   time.Time
}

const (
	defaultWait = 30 * time.Second
	muteAck     = 3500 * time.Millisecond // until 1.2 stops reading for an acknowledgement
	maxMessage  = 64<<20 - 4096
)

func (p *process) sendMessage() (output, error) {
	m := &sending{p: p, begun: time.Now(), count: 1, resend: true, kind: "text"}
	if v, ok := p.flags.vals["type"]; ok {
		m.kind = v
	}
	var err error
	switch p.gen {
	case V12:
		err = m.prepare12()
	case V113:
		err = m.prepare113()
	default:
		err = m.prepare116()
	}
	if err != nil {
		return output{}, err
	}
	p.payload = []byte(m.payload)
	if err := p.gate(m.id); err != nil {
		return output{}, err
	}
	if m.count > 1 {
		return m.many()
	}
	return m.one()
}

func (m *sending) resolve() error {
	p := m.p
	return p.withDaemon(func(s *state, _ *node) (err error) {
		m.id, err = p.peer(s, p.flags.pos[0], "not_found")
		return err
	})
}

func (m *sending) prepare12() error {
	p := m.p
	if len(p.flags.pos) == 0 {
		return p.usageError()
	}
	if err := m.resolve(); err != nil {
		return err
	}
	m.payload = p.flags.vals["data"]
	if m.payload == "" {
		return fail("invalid_argument", "--data is required")
	}
	return nil
}

func (m *sending) prepare113() error {
	if err := m.prepare12(); err != nil {
		return err
	}
	f := m.p.flags
	count, err := f.int("count", 1)
	if err != nil {
		return err
	}
	m.count = max(count, 1)
	m.trace = f.bool("trace") || m.p.getenv("PILOTCTL_TRACE_TIME") != ""
	if !f.has("wait") {
		return nil
	}
	if f.vals["wait"] == "true" {
		m.wait = defaultWait
		return nil
	}
	m.wait, err = f.duration("wait", 0)
	return err
}

// sendFlags116 are all that send-message takes since 1.16.
var sendFlags116 = []string{"data", "data-file", "type", "count", "reuse-conn", "wait", "timeout", "no-resend", "trace", "no-auto-handshake", "reply-to"}

func (m *sending) prepare116() error {
	f := m.p.flags
	for key := range f.vals {
		if !slices.Contains(sendFlags116, key) {
			return fail("invalid_argument", "send-message: unknown flag --%s", key)
		}
	}
	if len(f.pos) != 1 {
		return m.p.usageError()
	}
	if err := m.readPayload(); err != nil {
		return err
	}
	if err := m.readOptions(); err != nil {
		return err
	}
	return m.resolve()
}

func (m *sending) readPayload() error {
	f := m.p.flags
	path, fromFile := f.vals["data-file"]
	data, given := f.vals["data"]
	switch {
	case fromFile && given:
		return fail("invalid_argument", "--data and --data-file exclude each other")
	case fromFile:
		content, err := os.ReadFile(path)
		if err != nil {
			return fail("invalid_argument", "--data-file: %v", err)
		}
		m.payload = string(content)
	case data == "-":
		m.payload = string(m.p.stdin.all())
	default:
		m.payload = data
	}
	if m.payload == "" {
		return fail("invalid_argument", "--data is required")
	}
	if len(m.payload) > maxMessage {
		return fail("invalid_argument", "payload of %d bytes is over the limit of %d", len(m.payload), maxMessage)
	}
	return nil
}

func (m *sending) readOptions() (err error) {
	f := m.p.flags
	if !slices.Contains([]string{"text", "json", "binary"}, m.kind) {
		return unknownType(m.kind)
	}
	if m.count, err = f.int("count", 1); err != nil {
		return err
	}
	m.count = max(m.count, 1)
	m.resend = !f.bool("no-resend")
	m.trace = f.bool("trace") || m.p.getenv("PILOTCTL_TRACE_TIME") != ""
	if m.wait, err = positiveDuration(f, "wait", defaultWait); err != nil {
		return err
	}
	if m.total, err = positiveDuration(f, "timeout", 0); err != nil {
		return err
	}
	return m.readReplyTo()
}

// positiveDuration is 0 for a flag that is not there, and bare for one without
// a value.
func positiveDuration(f *flagSet, key string, bare time.Duration) (time.Duration, error) {
	if !f.has(key) {
		return 0, nil
	}
	if f.vals[key] == "true" && bare > 0 {
		return bare, nil
	}
	d, err := f.goDuration(key)
	if err == nil && d <= 0 {
		err = fail("invalid_argument", "--%s must be over 0", key)
	}
	return d, err
}

var (
	messageIDForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
	inboxIDForm   = regexp.MustCompile(`^[A-Z]+-\d{8}-\d{6}\.\d{3}-\d+(\.json)?$`)
)

func (m *sending) readReplyTo() error {
	v, ok := m.p.flags.vals["reply-to"]
	if !ok {
		return nil
	}
	if !messageIDForm.MatchString(v) {
		return fail("invalid_argument", "--reply-to: not a message id: %q", v)
	}
	m.replyTo = v
	if !inboxIDForm.MatchString(v) {
		return nil
	}
	home, err := m.p.mailHome()
	if err != nil {
		return err
	}
	mail, ok := readMail(inboxPath(home, strings.TrimSuffix(v, ".json")))
	if !ok || mail.text("message_id") == "" {
		return fail("not_found", "--reply-to: no message with an id in the inbox as %q", v)
	}
	m.replyTo = mail.text("message_id")
	return nil
}

func unknownType(kind string) *failure {
	return fail("invalid_argument", "unknown type %q (use text, json, or binary)", kind)
}

// sent is what became of one message.
type sent struct {
	id      string // message id
	ack     string // "" when none came
	problem string // why it could not be written
	tagged  bool
	first   bool // no tunnel was open before
}

func (a sent) delivered() bool { return strings.HasPrefix(a.ack, "ACK ") }

// send connects, delivers one message and lets the peer's script see it.
func (m *sending) send() (sent, error) {
	p := m.p
	a := sent{id: newMessageID()}
	_ = p.withDaemon(func(_ *state, self *node) error { a.first = !self.hasTunnel(m.id); return nil })
	err := p.dial(m.id)
	var derr *dialError
	if errors.As(err, &derr) {
		if m.total > 0 && derr.took >= m.total {
			return a, m.outOfTime()
		}
		return a, p.connectFailure(m.id, "connect to", "data exchange port 1001", derr)
	}
	if err != nil {
		return a, err
	}
	if p.gen != V116 && !slices.Contains([]string{"text", "json", "binary"}, m.kind) {
		return a, unknownType(m.kind)
	}
	return a, m.deliver(&a, false)
}

// outOfTime is the end of the time for the whole command.
func (m *sending) outOfTime() *failure {
	f := fail("timeout", "send-message did not finish within %s", m.total)
	f.after = max(m.total-m.p.simulatedSince(m.begun), 0)
	return f.withHint("delivery may already have happened: check the inbox")
}

// deliver hands the message to the peer's daemon, and lets its script see it
// unless the daemon knows it already.
func (m *sending) deliver(a *sent, again bool) error {
	var from, target string
	var script *Script
	var computed bool
	answers := ""
	err := m.p.withDaemon(func(s *state, self *node) error {
		peer := s.byID(m.id)
		msg := Message{From: self.address(), Text: m.payload, Type: m.kind}
		if m.p.gen == V116 {
			msg.MessageID, msg.ReplyTo = a.id, m.replyTo
			a.tagged = peer.Generation == V116
		}
		a.problem = peer.Behaviour.SendError
		if a.problem == "" {
			a.ack = s.receive(peer, msg, again)
		}
		from, target, script, computed, answers = self.Name, peer.Name, peer.Script, peer.Computed, s.Answers
		return nil
	})
	refused := a.problem != "" || a.ack != "" && !a.delivered()
	if err != nil || refused || script == nil || strings.HasSuffix(a.ack, duplicate) {
		return err
	}
	var replies []Reply
	if computed {
		if replies, err = askOwner(answers, target, from, m.payload); err != nil {
			return err
		}
	}
	return m.p.withDaemon(func(s *state, self *node) error {
		s.queueAnswers(s.byID(m.id), self, Message{Text: m.payload, MessageID: a.id}, replies)
		return nil
	})
}

// duplicate ends the acknowledgement of a message that was there before.
const duplicate = " (duplicate)"

// receive is what the daemon of a peer does with a message. Only a message that
// has an id is known again.
func (s *state) receive(peer *node, m Message, again bool) (ack string) {
	b := peer.Behaviour
	if b.ErrAck != "" {
		return fmt.Sprintf("ERR %s save failed: %s", m.kind(), b.ErrAck)
	}
	if again && peer.Generation == V116 && m.MessageID != "" {
		return fmt.Sprintf("ACK %s %d bytes", m.kind(), len(m.Text)) + duplicate
	}
	ack = s.store(peer, m)
	if b.NoAck {
		return ""
	}
	return ack
}

// result is the object for one message.
func (m *sending) result(a sent, seq int) map[string]any {
	target := FormatAddress(0, m.id)
	r := map[string]any{"target": target, "type": m.kind, "bytes": len(m.payload)}
	if a.ack != "" {
		r["ack"] = a.ack
	}
	if !m.p.gen.modern() {
		return r
	}
	r["to"], r["seq"], r["reused"] = target, seq, m.p.flags.bool("reuse-conn") && seq > 0
	if a.problem != "" {
		r["error"] = a.problem
	}
	if m.p.gen == V116 {
		r["message_id"] = a.id
		if a.ack != "" {
			r["tagged"] = a.tagged
		}
		if m.replyTo != "" {
			r["reply_to"] = m.replyTo
		}
		if a.first {
			r["first_contact"] = true
		}
	}
	if m.trace {
		m.addTrace(r)
	}
	return r
}

func (m *sending) addTrace(r map[string]any) {
	ms := float64(time.Since(m.begun).Microseconds()) / 1000
	r["trace"] = []map[string]any{{"label": "resolve", "ms": ms / 4}, {"label": "dial", "ms": ms / 4}, {"label": "ack", "ms": ms / 2}}
	r["total_ms"], r["to_receiver_ms"], r["receiver_process_ms"], r["return_trip_ms"] = ms, ms/4, ms/4, ms/4
	r["inner_ack"] = r["ack"]
}

// one sends a single message and waits for the reply when that was asked for.
func (m *sending) one() (output, error) {
	p := m.p
	before, err := m.seen()
	if err != nil {
		return output{}, err
	}
	start := time.Now()
	a, err := m.send()
	if err != nil {
		return output{}, err
	}
	if a.ack == "" && !p.gen.modern() {
		p.sleep(muteAck)
	}
	if err := m.judge(a); err != nil {
		return output{}, err
	}
	data := m.result(a, 0)
	if m.wait > 0 {
		if err := m.await(a, data, before, start); err != nil {
			return output{}, err
		}
	}
	return p.ok(data), nil
}

// judge is where 1.16 turns a failed send into an error; older ones report it
// in the answer.
func (m *sending) judge(a sent) error {
	if m.p.gen != V116 {
		return nil
	}
	switch {
	case a.problem != "":
		return fail("connection_failed", "send failed: %s", a.problem).withHint("look at pilotctl peers and the daemon's log before sending again")
	case a.ack == "":
		return fail("connection_failed", "message not acknowledged by %s", FormatAddress(0, m.id)).
			withHint("look at pilotctl peers and the daemon's log before sending again")
	case !a.delivered():
		return fail("internal", "receiver rejected message: %s", a.ack)
	}
	return nil
}

const betweenMessages = 50 * time.Millisecond

// many sends the same message several times and never waits for replies.
func (m *sending) many() (output, error) {
	p := m.p
	var results []map[string]any
	bad, refused := 0, 0
	for seq := range m.count {
		if seq > 0 {
			p.sleep(betweenMessages)
		}
		a, err := m.send()
		if err != nil {
			return output{}, err
		}
		r := m.result(a, seq)
		if f, ok := asFailure(m.judge(a)); ok {
			bad++
			r["ack_error"] = f.message
			if a.ack != "" {
				refused++
			}
		}
		results = append(results, r)
	}
	if bad > 0 {
		f := fail("connection_failed", "%d of %d messages were not delivered", bad, m.count)
		if refused == m.count {
			f.code = "internal"
		}
		f.extra = map[string]any{"results": results}
		return output{}, f.withHint("results says which were delivered")
	}
	target := FormatAddress(0, m.id)
	return p.ok(map[string]any{"target": target, "to": target, "type": m.kind, "reuse_conn": p.flags.bool("reuse-conn"), "results": results}), nil
}
