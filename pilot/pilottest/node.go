package pilottest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Node is a member of the network: what AddNode is given, and with the fields
// it fills what AddNode returns.
type Node struct {
	Name        string     // hostname; must be unique
	ID          uint32     // 0: the next free one
	Generation  Generation // of its pilotctl and its daemon; "": the network's
	Public      bool       // may be contacted without trust
	AutoApprove bool       // approves handshakes by itself
	Listed      bool       // in the list of service agents that pilotctl carries
	Tags        []string
	Networks    []uint16 // besides the backbone, which is 0
	AdminToken  string   // of its daemon, for broadcasts; pilotctl needs it too

	Home    string // filled: the HOME under which its pilotctl runs
	Socket  string // filled: its daemon's socket; config.json in its home names it
	Address string // filled: full address on the backbone
}

// Env is an environment under which pilotctl is this node's.
func (n Node) Env() []string {
	return []string{"HOME=" + n.Home, "PATH=" + os.Getenv("PATH")}
}

// Behaviour is how a node's daemon differs from a healthy one. The zero value is
// healthy.
type Behaviour struct {
	ErrAck      string        // messages and files are not stored; the ERR acknowledgement ends so
	NoAck       bool          // they are stored and never acknowledged
	SendError   string        // the sender's write fails with this text; nothing is stored
	NoEcho      bool          // it takes the connection of a ping and does not answer
	BreakEvents bool          // it ends every subscription
	Relay       bool          // its tunnels go through a relay
	Tick        time.Duration // coarseness of the time in names of stored files; 0: a millisecond
}

func (b Behaviour) refuses() string {
	if b.ErrAck != "" {
		return b.ErrAck
	}
	return b.SendError
}

// AddNode adds a node with a running daemon.
func (n *Network) AddNode(spec Node) Node {
	n.change("adding a node", func(s *state) error {
		if err := spec.complete(s, n.store); err != nil {
			return err
		}
		key := sha256.Sum256([]byte(spec.Name))
		s.Nodes = append(s.Nodes, &node{
			ID: spec.ID, Name: spec.Name, Home: spec.Home, Generation: spec.Generation, Public: spec.Public,
			AutoApprove: spec.AutoApprove, Listed: spec.Listed, Tags: spec.Tags, Networks: spec.Networks,
			AdminToken: spec.AdminToken, Key: base64.StdEncoding.EncodeToString(key[:]), Started: time.Now(),
		})
		return spec.furnish(n.store)
	})
	return spec
}

func (n *Node) complete(s *state, net store) error {
	switch {
	case n.Name == "" || n.Name != filepath.Base(n.Name):
		return fmt.Errorf("%q is no hostname", n.Name)
	case s.byName(n.Name) != nil:
		return fmt.Errorf("the network has a node %q already", n.Name)
	case n.ID != 0 && s.byID(n.ID) != nil:
		return fmt.Errorf("the network has a node %d already", n.ID)
	}
	if n.ID == 0 {
		n.ID = 1
		for s.byID(n.ID) != nil {
			n.ID++
		}
	}
	if n.Generation == "" {
		n.Generation = s.Generation
	}
	if !n.Generation.valid() {
		return fmt.Errorf("unknown generation %q", n.Generation)
	}
	n.Home = net.path("homes", n.Name)
	n.Socket = (&node{Home: n.Home}).socket()
	n.Address = FormatAddress(0, n.ID)
	return nil
}

// furnish writes what an initialised home holds, and the way to the network.
func (n *Node) furnish(net store) error {
	dir := filepath.Join(n.Home, ".pilot")
	if err := writeMarker(dir, marker{Network: string(net), Generation: n.Generation}); err != nil {
		return err
	}
	conf, err := json.Marshal(map[string]any{"socket": n.Socket, "hostname": n.Name, "registry": registryAddress, "encrypt": true})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.json"), conf, 0o600)
}

// Specialist adds a service agent as the real network has hundreds: public,
// approving by itself, in pilotctl's list, and answering as the script says.
func (n *Network) Specialist(name string, s Script) Node {
	node := n.AddNode(Node{Name: name, Public: true, AutoApprove: true, Listed: true})
	n.Answer(name, s)
	return node
}

// Directory adds list-agents, the specialist that finds the others.
func (n *Network) Directory(agents ...Agent) Node {
	if agents == nil {
		agents = []Agent{}
	}
	return n.Specialist("list-agents", Script{
		Help:      "/data {\"search\":\"<one word>\",\"limit\":<n>} lists agents",
		Directory: agents,
		Limit:     -1,
	})
}

// Answer sets how a node answers messages. The zero Script is silence.
func (n *Network) Answer(name string, s Script) {
	if s.Func != nil {
		n.failed("answering for a script", n.serve(name, s.Func))
	}
	n.changeNode("setting a script", name, func(_ *state, node *node) error {
		node.Script, node.Computed = &s, s.Func != nil
		return nil
	})
}

// Behave sets how a node's daemon behaves.
func (n *Network) Behave(name string, b Behaviour) {
	n.changeNode("setting a behaviour", name, func(_ *state, node *node) error { node.Behaviour = b; return nil })
}

// SetPublic changes whether a node may be contacted without trust.
func (n *Network) SetPublic(name string, public bool) {
	n.changeNode("setting a node's visibility", name, func(_ *state, node *node) error { node.Public = public; return nil })
}

// Stop ends a node's daemon in good order: it is not running, and the registry
// forgets the node until Start.
func (n *Network) Stop(name string) { n.setDaemon(name, daemonStopped, true) }

// Crash ends a node's daemon as SIGKILL does: it is not running, but the
// registry still knows the node.
func (n *Network) Crash(name string) { n.setDaemon(name, daemonStopped, false) }

// Freeze lets a node's daemon accept and never answer: its own pilotctl waits
// for ever, others run into time-outs.
func (n *Network) Freeze(name string) { n.setDaemon(name, daemonFrozen, false) }

// Start lets a daemon run again that was stopped, crashed or frozen.
//
// One that was gone has lost what was in its memory: its tunnels, and whom it had
// asked for trust.
func (n *Network) Start(name string) {
	n.changeNode("starting a daemon", name, func(_ *state, node *node) error {
		if node.Daemon == daemonStopped {
			node.Started, node.Outgoing, node.Tunnels = time.Now(), nil, nil
		}
		node.Daemon, node.Gone = daemonUp, false
		return nil
	})
}

func (n *Network) setDaemon(name string, d daemonState, gone bool) {
	n.changeNode("changing a daemon", name, func(_ *state, node *node) error {
		node.Daemon, node.Gone = d, gone
		return nil
	})
}

// Trust makes two nodes trust each other as if b had approved a's handshake:
// mutual is true in a's list only, as with real daemons.
func (n *Network) Trust(a, b string) {
	n.changePair("making trust", a, b, func(s *state, a, b *node) error {
		a.trust(trustRecord{NodeID: b.ID, PublicKey: b.Key, Mutual: true})
		b.trust(trustRecord{NodeID: a.ID})
		s.Pairs[pairKey(a.ID, b.ID)] = true
		return nil
	})
}

// TrustOneWay makes one node list the other, which knows nothing of it; neither
// reaches the other by it.
func (n *Network) TrustOneWay(from, to string) {
	n.changePair("making trust", from, to, func(_ *state, from, to *node) error {
		from.trust(trustRecord{NodeID: to.ID})
		return nil
	})
}

// Untrust ends all trust between two nodes at both ends, and their tunnel.
func (n *Network) Untrust(a, b string) {
	n.changePair("ending trust", a, b, func(s *state, a, b *node) error {
		a.forget(b.ID)
		b.forget(a.ID)
		a.closeTunnel(b.ID)
		b.closeTunnel(a.ID)
		delete(s.Pairs, pairKey(a.ID, b.ID))
		return nil
	})
}

// Request lets one node ask another for trust, as handshake does.
func (n *Network) Request(from, to, reason string) {
	n.changePair("asking for trust", from, to, func(s *state, from, to *node) error {
		s.request(from, to, reason)
		return nil
	})
}

// Approve lets a node approve what it holds of another, as approve does.
func (n *Network) Approve(at, requester string) {
	n.changePair("approving", at, requester, func(s *state, at, requester *node) error {
		s.approve(at, requester.ID)
		return nil
	})
}

// Tunnel opens a tunnel between two nodes.
func (n *Network) Tunnel(a, b string, relay bool) {
	n.changePair("opening a tunnel", a, b, func(_ *state, a, b *node) error {
		a.tunnelTo(b.ID, relay)
		b.tunnelTo(a.ID, relay)
		return nil
	})
}

// Trusts says whether one node lists another as trusted.
func (n *Network) Trusts(a, b string) (trusts bool) {
	n.changePair("reading trust", a, b, func(_ *state, a, b *node) error { trusts = a.trusts(b.ID); return nil })
	return trusts
}

// Pending returns the names of the nodes whose handshakes a node holds.
func (n *Network) Pending(name string) (names []string) {
	n.changeNode("reading what is pending", name, func(s *state, node *node) error {
		for _, p := range node.Pending {
			if from := s.byID(p.NodeID); from != nil {
				names = append(names, from.Name)
			}
		}
		return nil
	})
	return names
}

// Deliver puts a message into a node's inbox as its daemon would, whatever
// trust says.
func (n *Network) Deliver(to string, m Message) {
	n.changeNode("delivering a message", to, func(s *state, node *node) error {
		if ack := s.store(node, m); ack[:3] == "ERR" {
			return errors.New(ack)
		}
		return nil
	})
}

// DeliverFile puts a file among those that a node received.
func (n *Network) DeliverFile(to, name string, data []byte) {
	n.changeNode("delivering a file", to, func(_ *state, node *node) error {
		if err := os.MkdirAll(node.received(), 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(node.received(), storedName(node, filepath.Base(name))), data, 0o600)
	})
}

// Inbox returns the messages in a node's inbox, the oldest first.
func (n *Network) Inbox(name string) []Mail {
	var mails []storedMail
	n.changeNode("reading an inbox", name, func(_ *state, node *node) (err error) {
		if mails, err = readInbox(node.inbox()); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	})
	newestFirst(mails)
	slices.Reverse(mails)
	out := make([]Mail, 0, len(mails))
	for _, m := range mails {
		out = append(out, m.mail())
	}
	return out
}

// Received returns the files that a node received, by name.
func (n *Network) Received(name string) (files []ReceivedFile) {
	n.changeNode("reading received files", name, func(_ *state, node *node) (err error) {
		if files, err = readFiles(node.received()); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	})
	return files
}
