package pilottest

import (
	"slices"
	"strconv"
	"strings"
)

// trustList reports the daemon's own list, in which a peer approved by hand is
// not mutual.
func (p *process) trustList() (output, error) {
	limit, err := p.flags.int("limit", 0)
	if err != nil {
		return output{}, err
	}
	var rows []trustRecord
	err = p.withDaemon(func(_ *state, self *node) error {
		rows = slices.Clone(self.Trusted)
		return nil
	})
	if err != nil {
		return output{}, err
	}
	if rows == nil {
		rows = []trustRecord{}
	}
	if !p.gen.modern() {
		return p.ok(map[string]any{"trusted": rows}), nil
	}
	slices.SortStableFunc(rows, func(a, b trustRecord) int { return int(b.ApprovedAt - a.ApprovedAt) })
	if search := p.flags.vals["search"]; search != "" {
		rows = slices.DeleteFunc(rows, func(r trustRecord) bool {
			return !strings.Contains(strconv.FormatUint(uint64(r.NodeID), 10), search)
		})
	}
	total := len(rows)
	if p.flags.has("limit") && limit > 0 && limit < total {
		rows = rows[:limit]
	}
	return p.ok(map[string]any{"trusted": rows, "total": total}), nil
}

// trustedAgents lists the service agents that pilotctl carries; 1.13 prints
// them as text whatever was asked for.
func (p *process) trustedAgents() (output, error) {
	if p.flags.arg(0) != "list" {
		return output{}, p.usageError()
	}
	rows := []map[string]any{}
	var table strings.Builder
	err := p.net.update(func(s *state) error {
		for _, n := range s.Nodes {
			if !n.Listed {
				continue
			}
			rows = append(rows, map[string]any{"hostname": n.Name, "address": n.address(), "node_id": n.ID})
			table.WriteString(n.Name + "  " + n.address() + "  " + strconv.FormatUint(uint64(n.ID), 10) + "\n")
		}
		return nil
	})
	if err != nil {
		return output{}, err
	}
	if p.gen == V113 {
		return textOnly("HOSTNAME  ADDRESS  NODE\n" + table.String()), nil
	}
	return p.ok(map[string]any{"trusted": rows, "count": len(rows)}), nil
}

func (p *process) pendingList() (output, error) {
	var rows []pendingRecord
	err := p.withDaemon(func(_ *state, self *node) error {
		rows = slices.Clone(self.Pending)
		return nil
	})
	if err != nil {
		return output{}, err
	}
	if rows == nil {
		rows = []pendingRecord{}
	}
	return p.ok(map[string]any{"pending": rows}), nil
}

// handshake answers "sent" whether anything was sent or not.
func (p *process) handshake() (output, error) {
	if len(p.args) == 0 {
		return output{}, p.usageError()
	}
	reason := ""
	if len(p.args) > 1 {
		reason = p.args[1]
	}
	var id uint32
	status := "sent"
	err := p.withDaemon(func(s *state, self *node) error {
		var err error
		if id, err = p.handshakeTarget(s, p.args[0]); err != nil {
			return err
		}
		if s.registryFrozen() {
			return errHang
		}
		target := s.registered(id)
		again := s.queued("request", self.ID, id)
		if again && p.gen.modern() {
			status = "in_flight"
			return nil
		}
		if target == nil || again || s.registryDown() {
			f := fail("connection_failed", "handshake: handshake: daemon: handshake request: handshake relay: registry: request failed")
			if s.registryDown() {
				f.after = handshakePatience
			}
			return f
		}
		s.request(self, target, reason)
		return nil
	})
	if err != nil {
		return output{}, err
	}
	return p.ok(map[string]any{"status": status, "node_id": id}), nil
}

func (p *process) handshakeTarget(s *state, arg string) (uint32, error) {
	id, err := p.peer(s, arg, "not_found")
	if f, ok := asFailure(err); ok {
		why := fail("not_found", "resolve %q: resolve_hostname: daemon: resolve_hostname: registry: request failed", arg)
		why.after = f.after
		return 0, why
	}
	return id, err
}

func (p *process) approve() (output, error) {
	return p.decide("approved", func(s *state, self *node, id uint32) error {
		s.approve(self, id)
		return nil
	})
}

func (p *process) reject() (output, error) {
	return p.decide("rejected", func(s *state, self *node, id uint32) error {
		self.drop(id)
		if other := s.byID(id); other != nil && p.gen.modern() {
			delete(other.Outgoing, idKey(self.ID))
		}
		return nil
	})
}

func (p *process) untrust() (output, error) {
	return p.decide("", func(s *state, self *node, id uint32) error {
		if !s.revoke(self, id) {
			return fail("connection_failed", "untrust: revoke: daemon: handshake revoke: node %d was not trusted", id)
		}
		return nil
	})
}

func (p *process) decide(status string, act func(*state, *node, uint32) error) (output, error) {
	if len(p.args) == 0 {
		return output{}, p.usageError()
	}
	data := map[string]any{}
	var refused error
	err := p.withDaemon(func(s *state, self *node) error {
		id, err := p.nodeArg(s, p.args[0])
		if err != nil {
			return err
		}
		data["node_id"] = id
		if status != "" {
			data["status"] = status
		}
		refused = act(s, self, id)
		return nil
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return output{}, err
	}
	return p.ok(data), nil
}
