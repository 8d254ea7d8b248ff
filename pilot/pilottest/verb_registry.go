package pilottest

import "strconv"

// registryAddress is where the simulated registry is said to be.
const registryAddress = "127.0.0.1:19000"

// find resolves a hostname; numbers and addresses are hostnames to it.
func (p *process) find() (output, error) {
	if len(p.args) == 0 {
		return output{}, p.usageError()
	}
	name := p.args[0]
	var data map[string]any
	err := p.withDaemon(func(s *state, _ *node) error {
		if s.registryFrozen() {
			return errHang
		}
		n, ok := s.hostname(name)
		if !ok {
			f := fail("not_found", "cannot find %q — hostname not found or no mutual trust", name)
			if s.registryDown() {
				f.after = registryPatience
			}
			return f.withHint("establish trust first: pilotctl handshake %s \"reason\"", name)
		}
		data = map[string]any{"hostname": name, "node_id": n.ID, "address": n.address(), "public": n.Public}
		return nil
	})
	if err != nil {
		return output{}, err
	}
	out := p.ok(data)
	visible := map[any]string{true: "public", false: "private"}[data["public"]]
	out.text = "Hostname:  " + name + "\nNode ID:   " + strconv.FormatUint(uint64(data["node_id"].(uint32)), 10) +
		"\nAddress:   " + data["address"].(string) + "\nVisible:   " + visible + "\n"
	return out, nil
}

// lookup asks the registry itself; the daemon only for a hostname.
func (p *process) lookup() (output, error) {
	if len(p.flags.pos) == 0 {
		return output{}, p.usageError()
	}
	arg := p.flags.pos[0]
	if _, ok := nodeNumber(arg); p.gen.modern() && !ok {
		if err := p.withDaemon(func(*state, *node) error { return nil }); err != nil {
			return output{}, err
		}
	}
	var data map[string]any
	err := p.net.update(func(s *state) error {
		id, err := p.nodeArg(s, arg)
		if err != nil {
			return err
		}
		if s.registryFrozen() {
			return errHang
		}
		if where, down := p.registry(s); down {
			return fail("connection_failed", "cannot reach registry at %s", where).
				withHint("check that the registry is running at %s, or set PILOT_REGISTRY", where)
		}
		n := s.registered(id)
		if n == nil {
			return p.noSuchNode(id)
		}
		data = p.registryRecord(n)
		return nil
	})
	if err != nil {
		return output{}, err
	}
	return p.ok(data), nil
}

// nodeNumber reads what names a node without asking anybody: its full address
// or its number.
func nodeNumber(arg string) (uint32, bool) {
	if _, id, ok := parseAddress(arg); ok {
		return id, true
	}
	id, err := strconv.ParseUint(arg, 10, 32)
	return uint32(id), err == nil
}

// registry is where pilotctl looks for the registry, and whether nothing
// answers there.
func (p *process) registry(s *state) (where string, down bool) {
	where = p.getenv("PILOT_REGISTRY")
	if where == "" {
		where = p.config()["registry"]
	}
	if where == "" {
		where = registryAddress
	}
	return where, s.registryDown() || where != registryAddress
}

func (p *process) noSuchNode(id uint32) *failure {
	if p.gen.modern() {
		return fail("connection_failed", "lookup: registry: node not found: %d", id)
	}
	return fail("connection_failed", "lookup: registry: request failed")
}

func (p *process) registryRecord(n *node) map[string]any {
	r := map[string]any{
		"type": "lookup_ok", "node_id": n.ID, "address": n.address(), "networks": append([]uint16{0}, n.Networks...),
		"public_key": n.Key, "public": n.Public,
	}
	if n.Name != "" {
		r["hostname"] = n.Name
	}
	if len(n.Tags) > 0 {
		r["tags"] = n.Tags
	}
	if p.gen.modern() {
		return r
	}
	r["polo_score"] = 0
	if n.Public {
		r["real_addr"] = n.endpoint()
	}
	return r
}
