package pilottest

import (
	"slices"
	"time"
)

// cooldown is how long a newer daemon refuses the requests of a peer whose
// trust it revoked.
const cooldown = 5 * time.Minute

type trustRecord struct {
	NodeID     uint32 `json:"node_id"`
	PublicKey  string `json:"public_key"`
	ApprovedAt int64  `json:"approved_at"`
	Mutual     bool   `json:"mutual"`
	Network    uint16 `json:"network"`
}

type pendingRecord struct {
	NodeID        uint32 `json:"node_id"`
	PublicKey     string `json:"public_key"`
	Justification string `json:"justification"`
	ReceivedAt    int64  `json:"received_at"`
}

func (n *node) trusts(id uint32) bool {
	return slices.ContainsFunc(n.Trusted, func(r trustRecord) bool { return r.NodeID == id })
}

func (n *node) trust(r trustRecord) {
	n.forget(r.NodeID)
	r.ApprovedAt = time.Now().Unix()
	n.Trusted = append(n.Trusted, r)
}

func (n *node) forget(id uint32) {
	n.Trusted = slices.DeleteFunc(n.Trusted, func(r trustRecord) bool { return r.NodeID == id })
}

func (n *node) holds(id uint32) (pendingRecord, bool) {
	i := slices.IndexFunc(n.Pending, func(r pendingRecord) bool { return r.NodeID == id })
	if i < 0 {
		return pendingRecord{}, false
	}
	return n.Pending[i], true
}

func (n *node) drop(id uint32) {
	n.Pending = slices.DeleteFunc(n.Pending, func(r pendingRecord) bool { return r.NodeID == id })
}

// tunnelTo opens a tunnel, or completes one that is known.
func (n *node) tunnelTo(id uint32, relay bool) {
	n.closeTunnel(id)
	n.Tunnels = append(n.Tunnels, tunnel{Node: id, Encrypted: true, Authenticated: true, Relay: relay})
}

func (n *node) closeTunnel(id uint32) {
	n.Tunnels = slices.DeleteFunc(n.Tunnels, func(t tunnel) bool { return t.Node == id })
}

func (n *node) hasTunnel(id uint32) bool {
	return slices.ContainsFunc(n.Tunnels, func(t tunnel) bool { return t.Node == id && t.Encrypted })
}

func setKey[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// queued says whether such a thing is still on its way.
func (s *state) queued(kind string, from, to uint32) bool {
	return slices.ContainsFunc(s.Queue, func(d delayed) bool {
		return d.Kind == kind && d.From == from && d.To == to
	})
}

// request sends a handshake on its way. It says nothing of its fate.
func (s *state) request(from, to *node, reason string) {
	delete(from.Revoked, idKey(to.ID))
	if from.trusts(to.ID) && !from.Generation.modern() {
		return
	}
	setKey(&from.Outgoing, idKey(to.ID), true)
	s.later(s.Delays.Request, delayed{Kind: "request", From: from.ID, To: to.ID, Reason: reason})
	s.settle()
}

func idKey(id uint32) string { return FormatAddress(0, id) }

// requestArrives decides what the target's daemon does with a handshake:
// answer again, approve by itself, or hold it for its owner.
func (s *state) requestArrives(d delayed) {
	from, to := s.byID(d.From), s.byID(d.To)
	if from == nil || to == nil || to.Daemon != daemonUp {
		return
	}
	if until, ok := to.Revoked[idKey(from.ID)]; ok && time.Now().Before(until) {
		return
	}
	switch shared := sharedNetwork(from, to); {
	case to.trusts(from.ID):
		s.accept(to, from)
	case to.Outgoing[idKey(from.ID)]:
		to.trust(trustRecord{NodeID: from.ID, PublicKey: from.Key, Mutual: true})
		s.accept(to, from)
	case shared != 0:
		to.trust(trustRecord{NodeID: from.ID, PublicKey: from.Key, Network: shared})
		s.accept(to, from)
	case to.AutoApprove:
		to.trust(trustRecord{NodeID: from.ID, PublicKey: from.Key})
		s.accept(to, from)
	default:
		to.drop(from.ID)
		to.Pending = append(to.Pending, pendingRecord{
			NodeID: from.ID, PublicKey: pendingKey(from, to), Justification: cleanReason(d.Reason), ReceivedAt: time.Now().Unix(),
		})
	}
}

// pendingKey is empty on the way through the registry: only a request that
// comes directly carries the key.
func pendingKey(from, to *node) string {
	if to.Public {
		return from.Key
	}
	return ""
}

// cleanReason keeps what a daemon keeps: printable characters, 1,024 bytes.
func cleanReason(reason string) string {
	out := make([]rune, 0, len(reason))
	size := 0
	for _, r := range reason {
		if r < ' ' || r == 0x7f {
			continue
		}
		if size += len(string(r)); size > 1024 {
			break
		}
		out = append(out, r)
	}
	return string(out)
}

func sharedNetwork(a, b *node) uint16 {
	for _, n := range a.Networks {
		if n != 0 && slices.Contains(b.Networks, n) {
			return n
		}
	}
	return 0
}

// accept enters the pair at the registry at once; the requester hears of it
// after a while.
func (s *state) accept(approver, requester *node) {
	s.Pairs[pairKey(approver.ID, requester.ID)] = true
	delete(approver.Outgoing, idKey(requester.ID))
	s.later(s.Delays.Accept, delayed{Kind: "accept", From: approver.ID, To: requester.ID})
}

func (s *state) acceptArrives(d delayed) {
	from, to := s.byID(d.From), s.byID(d.To)
	if from == nil || to.Daemon == daemonStopped || to.trusts(from.ID) {
		return
	}
	delete(to.Outgoing, idKey(from.ID))
	to.trust(trustRecord{NodeID: from.ID, PublicKey: from.Key, Mutual: true, Network: sharedNetwork(from, to)})
}

// approve does nothing when nothing is pending, as the daemon does.
func (s *state) approve(at *node, requester uint32) {
	p, ok := at.holds(requester)
	if !ok {
		return
	}
	at.drop(requester)
	if at.trusts(requester) {
		return
	}
	at.trust(trustRecord{NodeID: requester, PublicKey: p.PublicKey})
	if from := s.byID(requester); from != nil {
		s.accept(at, from)
		s.settle()
	}
}

// revoke ends trust at one side. A newer daemon tells the other side too.
func (s *state) revoke(at *node, peer uint32) bool {
	trusted := at.trusts(peer)
	if at.Generation.modern() {
		setKey(&at.Revoked, idKey(peer), time.Now().Add(s.real(cooldown)))
	}
	if !trusted {
		return false
	}
	at.forget(peer)
	delete(s.Pairs, pairKey(at.ID, peer))
	delete(at.Outgoing, idKey(peer))
	other := s.byID(peer)
	at.endTunnel(peer)
	if other != nil && at.Generation.modern() {
		at.drop(peer)
		other.closeTunnel(at.ID)
		s.later(s.Delays.Revoke, delayed{Kind: "revoke", From: at.ID, To: peer})
		s.settle()
	}
	return true
}

// endTunnel leaves a row without keys in 1.2 and none in newer daemons.
func (n *node) endTunnel(id uint32) {
	had := n.hasTunnel(id)
	n.closeTunnel(id)
	if had && !n.Generation.modern() {
		n.Tunnels = append(n.Tunnels, tunnel{Node: id})
	}
}
