package pilottest

import (
	"strconv"
	"time"
)

// Time that a daemon and pilotctl spend before they give up, as measured.
const (
	registryPatience  = 45 * time.Second
	staleDial         = 29 * time.Second
	deadDial          = 30 * time.Second
	deadDial12        = 39 * time.Second
	handshakePatience = 85 * time.Second
	gateWait          = 5 * time.Second
	gatePolls         = 8 * 2 * time.Second
)

// hostname asks the registry by way of the daemon.
func (s *state) hostname(name string) (*node, bool) {
	n := s.byName(name)
	if s.registryDown() || n == nil || n.Gone || name == "" {
		return nil, false
	}
	return n, true
}

// peer resolves the argument of a verb that talks to a peer: full address,
// node id, hostname. The node need not exist.
func (p *process) peer(s *state, arg, code string) (uint32, error) {
	if id, ok := nodeNumber(arg); ok {
		return id, nil
	}
	if s.registryFrozen() {
		return 0, errHang
	}
	if n, ok := s.hostname(arg); ok {
		return n.ID, nil
	}
	f := p.cannotResolve(code, arg)
	if s.registryDown() {
		f.after = registryPatience
	}
	return 0, f
}

// nodeArg resolves the argument of a verb about a node: 1.2 takes only its
// number.
func (p *process) nodeArg(s *state, arg string) (uint32, error) {
	id, err := strconv.ParseUint(arg, 10, 32)
	if err == nil {
		return uint32(id), nil
	}
	if p.gen.modern() {
		return p.peer(s, arg, "not_found")
	}
	if p.verb == "untrust" {
		return 0, fail("invalid_argument", "invalid node_id: %v", err)
	}
	return 0, fail("invalid_argument", "invalid node_id %q: %v", arg, err)
}

// gate is the trust that newer versions want before they contact a peer.
func (p *process) gate(id uint32) error {
	if !p.gen.modern() || p.flags.bool("no-auto-handshake") && p.verb != "send-file" {
		return nil
	}
	asked := false
	err := p.withDaemon(func(s *state, self *node) error {
		if self.ID == id || self.trusts(id) {
			return nil
		}
		target := s.registered(id)
		if target != nil && target.Listed {
			asked = true
			s.request(self, target, "")
			return nil
		}
		switch {
		case s.registryFrozen():
			return errHang
		case s.registryDown():
			return p.trustRequired(id, "registry unreachable: cannot tell whether %s is public", FormatAddress(0, id))
		case target == nil:
			return p.trustRequired(id, "lookup of %s: node not found", FormatAddress(0, id))
		case !target.Public:
			return p.trustRequired(id, "refusing tunnel to private node %s without trust", FormatAddress(0, id))
		}
		asked = true
		s.request(self, target, "")
		return nil
	})
	if err != nil || !asked {
		return err
	}
	return p.awaitGate(id)
}

// awaitGate waits as 1.13 does; 1.16 goes on at once.
func (p *process) awaitGate(id uint32) error {
	if p.gen == V116 {
		return nil
	}
	trusted := func(s *state) bool {
		self := p.owner(s)
		return self != nil && self.trusts(id)
	}
	if ok, err := p.poll(gateWait, trusted); ok || err != nil {
		return err
	}
	_, err := p.poll(gatePolls, func(s *state) bool {
		self := p.owner(s)
		if self == nil || self.trusts(id) {
			return true
		}
		_, held := self.holds(id)
		return !held
	})
	return err
}

func (p *process) trustRequired(id uint32, format string, args ...any) *failure {
	f := fail("trust_required", format, args...)
	return f.withHint("establish trust first: pilotctl handshake %s", FormatAddress(0, id))
}

// dialError is why a daemon could not open a connection.
type dialError struct {
	reason string
	took   time.Duration
}

func (e *dialError) Error() string { return e.reason }

// dial opens a connection to a peer: the registry must give its endpoint, its
// daemon must live, and it takes so many connections a second from one sender.
func (p *process) dial(id uint32) error {
	for try := 0; ; try++ {
		stall, err := p.dialOnce(id, try)
		if err != nil || stall == 0 {
			return err
		}
		p.sleep(stall)
	}
}

// dialOnce says how long to stall before trying again; 0: connected.
func (p *process) dialOnce(id uint32, try int) (stall time.Duration, err error) {
	err = p.withDaemon(func(s *state, self *node) error {
		target := s.byID(id)
		if derr := self.reach(s, target, id); derr != nil {
			return derr
		}
		if !s.admit(self, target) {
			if s.RateLimit.Refuse {
				return &dialError{reason: "connection refused"}
			}
			if try < 2 {
				stall = time.Duration(try+1) * time.Second
				return nil
			}
		}
		relay := target.Behaviour.Relay || self.Behaviour.Relay
		self.tunnelTo(id, relay)
		target.tunnelTo(self.ID, relay)
		return nil
	})
	return stall, err
}

// reach says why a node cannot be reached, nil when it can.
func (n *node) reach(s *state, target *node, id uint32) error {
	if n.ID == id && n.Generation.modern() {
		return nil
	}
	known := n.hasTunnel(id)
	allowed := target != nil && n.ID != id && (known || !target.Gone && !s.registryDown() && (target.Public || s.Pairs[pairKey(n.ID, id)]))
	if !allowed {
		return &dialError{reason: "resolve " + quoteTarget(id) + ": registry: request failed"}
	}
	if target.Daemon == daemonUp {
		return nil
	}
	switch {
	case n.Generation.modern():
		return &dialError{reason: "dial timeout", took: deadDial}
	case target.Daemon == daemonFrozen:
		return &dialError{reason: "dial timeout", took: deadDial12}
	}
	return &dialError{reason: "dial timeout", took: staleDial}
}

// admit counts a connection against the peer's limit. The window is real time,
// whatever the speed: it is there to try a caller's own spacing.
func (s *state) admit(from, to *node) bool {
	limit := s.RateLimit.PerSecond
	if limit == 0 {
		limit = DefaultConnectionsPerSecond
	}
	key := from.Name + ">" + to.Name
	now := time.Now()
	var recent []time.Time
	for _, t := range s.Conns[key] {
		if now.Sub(t) < time.Second {
			recent = append(recent, t)
		}
	}
	ok := limit < 0 || len(recent) < limit
	if ok && limit > 0 {
		recent = append(recent, now)
	}
	setKey(&s.Conns, key, recent)
	return ok
}

// connectFailure is the envelope for a connection that could not be opened.
func (p *process) connectFailure(id uint32, doing, port string, derr *dialError) *failure {
	addr := FormatAddress(0, id)
	f := fail("connection_failed", "cannot %s %s (%s)", doing, addr, port)
	f.after = derr.took
	switch {
	case p.gen == V116 && p.verb == "send-message":
		return f.withHint("1 dial attempt in %s; check that the peer is up: pilotctl ping %s", derr.took, addr)
	case p.gen.modern() && derr.reason == "dial timeout":
		return f.withHint("no reply from the peer: pilotctl ping %s; a relay may need about 30 s", addr)
	}
	return f.withHint("check that %s is reachable: pilotctl ping %s", addr, addr)
}
