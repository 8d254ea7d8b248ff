package pilottest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// peers are the nodes with a tunnel; the list is null when there is none.
func (p *process) peers() (output, error) {
	search := p.flags.vals["search"]
	var rows []map[string]any
	encrypted := 0
	err := p.withDaemon(func(s *state, self *node) error {
		for _, t := range slices.Backward(self.Tunnels) {
			row := p.peerRow(s, t)
			number := strconv.FormatUint(uint64(t.Node), 10)
			where, _ := row["endpoint"].(string)
			if !strings.Contains(number, search) && (p.gen.modern() || !strings.Contains(where, search)) {
				continue
			}
			if t.Encrypted {
				encrypted++
			}
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		return output{}, err
	}
	data := map[string]any{"peers": rows, "total": len(rows)}
	if p.gen.modern() {
		data["encrypted"] = encrypted
	}
	return p.ok(data), nil
}

func (p *process) peerRow(s *state, t tunnel) map[string]any {
	row := map[string]any{"node_id": t.Node, "encrypted": t.Encrypted, "authenticated": t.Authenticated}
	if p.gen.modern() {
		row["relay"] = t.Relay
		return row
	}
	if n := s.byID(t.Node); n != nil {
		row["endpoint"] = n.endpoint()
	}
	return row
}

func (p *process) info() (output, error) {
	var data map[string]any
	err := p.withDaemon(func(s *state, self *node) error {
		data = p.infoOf(s, self)
		return nil
	})
	if err != nil {
		return output{}, err
	}
	return p.ok(data), nil
}

func (p *process) infoOf(s *state, self *node) map[string]any {
	list := []map[string]any{}
	encrypted := 0
	for _, t := range self.Tunnels {
		list = append(list, p.peerRow(s, t))
		if t.Encrypted {
			encrypted++
		}
	}
	conns := p.connectionRows(s, self)
	data := map[string]any{
		"node_id": self.ID, "address": self.address(), "hostname": self.Name, "public_key": self.Key,
		"uptime_secs": int(time.Since(self.Started).Seconds()), "identity": true, "encrypt": true,
		"connections": len(conns), "conn_list": conns, "ports": 5,
		"peers": len(list), "peer_list": list, "encrypted_peers": encrypted, "authenticated_peers": encrypted,
		"bytes_sent": 0, "bytes_recv": 0, "pkts_sent": 0, "pkts_recv": 0,
	}
	if !p.gen.modern() {
		data["owner"] = ""
		return data
	}
	data["version"] = p.gen.version()
	data["email"] = ""
	data["relay_peer_count"] = 0
	data["handshake_pending_count"] = len(self.Pending)
	data["accept_queue_drops"] = 0
	data["networks"] = networkRows(self)
	data["transport"] = "udp"
	data["features"] = []string{}
	if p.gen == V116 {
		data["features"] = []string{"reply_window", "dial_awaits_key", "key_request"}
	}
	return data
}

// connectionRows are the connections that last: those of subscriptions.
func (p *process) connectionRows(s *state, self *node) []map[string]any {
	rows := []map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(s.Subs)) {
		sub := s.Subs[key]
		if sub.Node != self.Name || !p.net.lives(key) {
			continue
		}
		row := map[string]any{
			"id": len(rows) + 1, "local_port": 49152 + len(rows), "remote_addr": FormatAddress(0, sub.Broker), "remote_port": 1002,
			"state": "ESTABLISHED", "in_recovery": false,
		}
		for _, counter := range []string{
			"bytes_recv", "bytes_sent", "cong_win", "dup_acks", "fast_retx", "in_flight", "ooo_buf", "peer_recv_win", "recv_win",
			"retransmits", "rttvar_ms", "sack_recv", "sack_sent", "segs_recv", "segs_sent", "srtt_ms", "ssthresh", "unacked",
		} {
			row[counter] = 0
		}
		rows = append(rows, row)
	}
	return rows
}

func networkRows(n *node) []map[string]any {
	rows := []map[string]any{}
	for _, id := range n.Networks {
		rows = append(rows, map[string]any{"network_id": id, "address": FormatAddress(id, n.ID)})
	}
	return rows
}

func (p *process) health() (output, error) {
	var data map[string]any
	err := p.withDaemon(func(_ *state, self *node) error {
		data = map[string]any{
			"status": "ok", "uptime_seconds": int(time.Since(self.Started).Seconds()), "connections": 0,
			"peers": len(self.Tunnels), "encrypted_peers": len(self.Tunnels), "relay_peer_count": 0,
			"bytes_sent": 0, "bytes_recv": 0, "handshake_pending_count": len(self.Pending),
			"accept_queue_drops": 0, "webhook_queue_dropped": 0,
		}
		return nil
	})
	if err != nil {
		return output{}, err
	}
	return p.ok(data), nil
}

// daemonStatus is the only sub-command of daemon: the simulated daemons are
// started and stopped by the network.
func (p *process) daemonStatus() (output, error) {
	if p.flags.arg(0) != "status" {
		return output{}, p.usageError()
	}
	data := map[string]any{"running": false, "responsive": false, "socket": p.socket}
	err := p.withDaemon(func(_ *state, self *node) error {
		data = map[string]any{
			"running": true, "responsive": true, "pid": 1, "pid_file": "", "socket": p.socket, "node_id": self.ID,
			"address": self.address(), "hostname": self.Name, "uptime_secs": int(time.Since(self.Started).Seconds()),
			"peers": len(self.Tunnels), "connections": 0,
		}
		return nil
	})
	if _, ok := asFailure(err); err != nil && !ok {
		return output{}, err
	}
	if !p.flags.bool("check") {
		return p.ok(data), nil
	}
	if data["running"] == true {
		return output{raw: true}, nil
	}
	return output{raw: true, status: 1}, nil
}
