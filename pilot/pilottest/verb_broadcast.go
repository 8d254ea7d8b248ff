package pilottest

import (
	"slices"
	"strconv"
	"time"
)

// broadcast tells nobody who heard it.
func (p *process) broadcast() (output, error) {
	if p.gen == V12 {
		return output{}, fail("unavailable", "broadcast is not available yet — custom networks are WIP")
	}
	if len(p.flags.pos) < 2 {
		return output{}, fail("usage", "usage: pilotctl %s", commands()[p.verb].usage)
	}
	id, err := strconv.ParseUint(p.flags.pos[0], 10, 16)
	if err != nil {
		return output{}, fail("usage", "invalid network id %q", p.flags.pos[0])
	}
	port := 1000
	if v, ok := p.flags.vals["port"]; ok {
		n, err := strconv.ParseUint(v, 10, 16)
		if err != nil {
			return output{}, fail("usage", "invalid port %q", v)
		}
		port = int(n)
	}
	token := p.getenv("PILOT_ADMIN_TOKEN")
	if token == "" {
		token = p.config()["admin_token"]
	}
	if token == "" {
		return output{}, fail("auth_required", "broadcast needs the admin token").
			withHint("set PILOT_ADMIN_TOKEN, or admin_token in config.json")
	}
	message := p.flags.pos[1]
	p.payload = []byte(message)
	err = p.withDaemon(func(s *state, self *node) error {
		if why := refusesBroadcast(self, uint16(id), token); why != "" {
			return fail("broadcast_failed", "broadcast: daemon: %s", why)
		}
		s.Frames = append(s.Frames, Event{
			Seq: len(s.Frames) + 1, Network: uint16(id), Port: port, From: self.Name, Data: []byte(message), At: time.Now(),
		})
		return nil
	})
	if err != nil {
		return output{}, err
	}
	return p.ok(map[string]any{"network_id": id, "port": port, "bytes": len(message)}), nil
}

func refusesBroadcast(self *node, network uint16, token string) string {
	switch {
	case self.AdminToken == "":
		return "daemon has no admin token configured"
	case self.AdminToken != token:
		return "invalid admin token"
	case network == 0:
		return "not permitted on backbone network"
	case !slices.Contains(self.Networks, network):
		return "node " + strconv.FormatUint(uint64(self.ID), 10) + " is not a member of network " + strconv.Itoa(int(network))
	}
	return ""
}
