package pilottest

import (
	"errors"
	"slices"
	"time"
)

// Event is an event of a broker, or a datagram of a network.
type Event struct {
	Seq     int
	Broker  uint32 `json:",omitempty"` // node whose daemon is the broker
	Network uint16 `json:",omitempty"` // of a broadcast
	Port    int    `json:",omitempty"` // of a broadcast
	From    string // name of the node that published it
	Topic   string
	Data    []byte
	At      time.Time
}

// feed is what every subscription to a topic gets from its start on.
type feed struct {
	Seq    int
	Broker uint32
	Topic  string
	Every  time.Duration
	Data   [][]byte
}

// subscription is a process that waits for events.
type subscription struct {
	Broker uint32
	Topic  string
	Node   string
	Call   string // base name of the record, whose lock its process holds
}

const burstOfEvents = 200 // that a newer broker takes of one publisher at once

func (p *process) publish() (output, error) {
	if len(p.flags.pos) < 2 {
		return output{}, p.usageError()
	}
	id, err := p.eventPeer()
	if err != nil {
		return output{}, err
	}
	data := p.flags.vals["data"]
	if data == "" {
		return output{}, fail("invalid_argument", "--data is required")
	}
	p.payload = []byte(data)
	if err := p.connectEvents(id, "connect to"); err != nil {
		return output{}, err
	}
	topic := p.flags.pos[1]
	err = p.withDaemon(func(s *state, self *node) error {
		broker := s.byID(id)
		if broker.takesEventsOf(self) && s.admitEvent(broker, self) {
			s.publish(broker, self.Name, topic, []byte(data))
		}
		return nil
	})
	if err != nil {
		return output{}, err
	}
	return p.ok(map[string]any{"target": FormatAddress(0, id), "topic": topic, "bytes": len(data)}), nil
}

func (p *process) eventPeer() (id uint32, err error) {
	err = p.withDaemon(func(s *state, _ *node) (err error) {
		id, err = p.peer(s, p.flags.pos[0], "not_found")
		return err
	})
	return id, err
}

// connectEvents passes the gate and connects to the broker.
func (p *process) connectEvents(id uint32, doing string) error {
	if err := p.gate(id); err != nil {
		return err
	}
	err := p.dial(id)
	var derr *dialError
	if errors.As(err, &derr) {
		return p.connectFailure(id, doing, "event stream port 1002", derr)
	}
	return err
}

// takesEventsOf is the trust that newer brokers want of both kinds of clients.
func (n *node) takesEventsOf(client *node) bool {
	return !n.Generation.modern() || n.ID == client.ID || n.trusts(client.ID)
}

// admitEvent drops what comes too fast, without a word.
func (s *state) admitEvent(broker, from *node) bool {
	if !broker.Generation.modern() {
		return true
	}
	recent := 0
	for _, e := range s.Events {
		if e.Broker == broker.ID && e.From == from.Name && time.Since(e.At) < time.Second {
			recent++
		}
	}
	return recent < burstOfEvents
}

func (s *state) publish(broker *node, from, topic string, data []byte) {
	seq := 1
	if n := len(s.Events); n > 0 {
		seq = s.Events[n-1].Seq + 1
	}
	s.Events = append(s.Events, Event{Seq: seq, Broker: broker.ID, From: from, Topic: topic, Data: data, At: time.Now()})
}

// listening is one run of subscribe.
type listening struct {
	p       *process
	id      uint32
	topic   string
	count   int
	timeout time.Duration // 0: none
	start   time.Time
	next    int // sequence number of the last event of the broker that was seen
	fed     map[int]int
	events  []map[string]any
}

func (p *process) subscribe() (output, error) {
	if len(p.flags.pos) < 2 {
		return output{}, p.usageError()
	}
	id, err := p.eventPeer()
	if err != nil {
		return output{}, err
	}
	l := &listening{p: p, id: id, topic: p.flags.pos[1], fed: map[int]int{}}
	if l.count, err = p.flags.int("count", 0); err != nil {
		return output{}, err
	}
	if l.timeout, err = p.flags.duration("timeout", 0); err != nil {
		return output{}, err
	}
	if err := p.connectEvents(id, "subscribe on"); err != nil {
		return output{}, err
	}
	refused, err := l.enter()
	if err != nil {
		return output{}, err
	}
	defer l.leave()
	if refused {
		return output{}, fail("connection_failed", "recv: EOF")
	}
	return l.listen()
}

func (l *listening) enter() (refused bool, err error) {
	err = l.p.withDaemon(func(s *state, self *node) error {
		broker := s.byID(l.id)
		if refused = !broker.takesEventsOf(self); refused {
			return nil
		}
		if n := len(s.Events); n > 0 {
			l.next = s.Events[n-1].Seq
		}
		setKey(&s.Subs, l.p.call, subscription{Broker: l.id, Topic: l.topic, Node: self.Name, Call: l.p.call})
		return nil
	})
	l.start = time.Now()
	return refused, err
}

func (l *listening) leave() {
	_ = l.p.net.update(func(s *state) error { delete(s.Subs, l.p.call); return nil })
}

func (l *listening) listen() (output, error) {
	for {
		over := l.timeout > 0 && l.p.simulatedSince(l.start) >= l.timeout
		broken, err := l.collect()
		if err != nil {
			return output{}, err
		}
		if l.count > 0 && len(l.events) >= l.count {
			return l.envelope(false, ""), nil
		}
		if broken {
			return l.brokenOff()
		}
		if over {
			if l.count > 0 {
				return l.envelope(true, ""), nil
			}
			return output{raw: true}, nil
		}
		time.Sleep(pollEvery)
	}
}

// collect takes what is there. The broker's end breaks the stream.
func (l *listening) collect() (broken bool, err error) {
	var fresh []Event
	err = l.p.withDaemon(func(s *state, _ *node) error {
		for _, e := range s.Events {
			if e.Broker == l.id && e.Seq > l.next && (e.Topic == l.topic || l.topic == "*") {
				fresh = append(fresh, e)
			}
		}
		if n := len(s.Events); n > 0 {
			l.next = s.Events[n-1].Seq
		}
		fresh = append(fresh, l.fromFeeds(s)...)
		broker := s.byID(l.id)
		broken = broker.Daemon != daemonUp || broker.Behaviour.BreakEvents
		return nil
	})
	for _, e := range fresh {
		if l.count > 0 && len(l.events) >= l.count {
			break
		}
		l.take(e)
	}
	return broken, err
}

func (l *listening) fromFeeds(s *state) (fresh []Event) {
	for _, f := range s.Feeds {
		i := f.Seq
		if f.Broker != l.id || f.Topic != l.topic && l.topic != "*" {
			continue
		}
		due := len(f.Data)
		if every := s.real(f.Every); every > 0 {
			due = min(due, int(time.Since(l.start)/every)+1)
		}
		for _, data := range f.Data[l.fed[i]:due] {
			fresh = append(fresh, Event{Topic: f.Topic, Data: data})
		}
		l.fed[i] = due
	}
	return fresh
}

// take prints an event of an endless subscription at once and keeps that of a
// counted one. A negative count does neither, as pilotctl with --json.
func (l *listening) take(e Event) {
	row := map[string]any{"topic": e.Topic, "data": string(e.Data), "bytes": len(e.Data)}
	switch {
	case l.count > 0:
		l.events = append(l.events, row)
	case l.p.json && l.count == 0:
		l.p.printLine(row)
	case !l.p.json:
		l.events = nil
		_, _ = l.p.stdout.Write([]byte("[" + e.Topic + "] " + string(e.Data) + "\n"))
	}
	l.next = max(l.next, e.Seq)
}

func (l *listening) envelope(timeout bool, problem string) output {
	data := map[string]any{"events": l.events, "timeout": timeout}
	if problem != "" {
		data["error"] = problem
	}
	return l.p.ok(data)
}

func (l *listening) brokenOff() (output, error) {
	if l.count > 0 && len(l.events) > 0 {
		return l.envelope(false, "recv: EOF"), nil
	}
	return output{}, fail("connection_failed", "recv: EOF")
}

// Publish lets a node publish an event on the broker of a node. Every
// subscription that listens at this moment gets it; the broker's trust is not asked.
func (n *Network) Publish(broker, from, topic, data string) {
	n.changeNode("publishing an event", broker, func(s *state, b *node) error {
		s.publish(b, from, topic, []byte(data))
		return nil
	})
}

// Feed gives every future subscription to the topic of a broker these events,
// one at once and the next ones after the simulated interval each.
func (n *Network) Feed(broker, topic string, every time.Duration, data ...string) {
	n.changeNode("feeding a topic", broker, func(s *state, b *node) error {
		s.LastFeed++
		f := feed{Seq: s.LastFeed, Broker: b.ID, Topic: topic, Every: every}
		for _, d := range data {
			f.Data = append(f.Data, []byte(d))
		}
		s.Feeds = append(s.Feeds, f)
		return nil
	})
}

// ClearFeeds ends every feed.
func (n *Network) ClearFeeds() {
	n.change("clearing feeds", func(s *state) error { s.Feeds = nil; return nil })
}

// Published returns the events that the broker of a node accepted so far.
func (n *Network) Published(broker string) (events []Event) {
	n.changeNode("reading events", broker, func(s *state, b *node) error {
		events = slices.DeleteFunc(slices.Clone(s.Events), func(e Event) bool { return e.Broker != b.ID })
		return nil
	})
	return events
}

// Broadcasts returns the datagrams that were broadcast on a network so far.
func (n *Network) Broadcasts(network uint16) (frames []Event) {
	n.change("reading broadcasts", func(s *state) error {
		frames = slices.DeleteFunc(slices.Clone(s.Frames), func(e Event) bool { return e.Network != network })
		return nil
	})
	return frames
}

// Subscribers counts the living subscriptions to a topic of a node's broker.
func (n *Network) Subscribers(broker, topic string) (count int) {
	n.changeNode("counting subscribers", broker, func(s *state, b *node) error {
		for _, sub := range s.Subs {
			if sub.Broker == b.ID && sub.Topic == topic && n.store.lives(sub.Call) {
				count++
			}
		}
		return nil
	})
	return count
}

// lives says whether the process of a recorded run is still alive.
func (d store) lives(call string) bool {
	unlock, free, err := lockFile(d.path("calls", call+".lock"), false)
	if err == nil && free {
		unlock()
	}
	return err == nil && !free
}
