package pilottest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// state is everything the network remembers besides mail, files and the record
// of calls. It lives in one file, read and written under the network's lock.
type state struct {
	Generation Generation
	Speed      float64
	RegistryIs daemonState
	Motd       string
	Delays     Delays
	RateLimit  RateLimit

	Nodes   []*node
	Pairs   map[string]bool // trust as the registry knows it
	Queue   []delayed       // what becomes true later
	Faults  []*Fault
	Conns   map[string][]time.Time // recent connections, by "from>to"
	Events  []Event
	Feeds   []feed
	Subs    map[string]subscription
	Frames  []Event // broadcast datagrams
	Answers string  // address at which the network's process answers for scripts with Func

	LastCall int
	LastFeed int
}

// node is a member of the network with its daemon.
type node struct {
	ID          uint32
	Name        string
	Home        string
	Generation  Generation
	Public      bool
	AutoApprove bool
	Listed      bool // in the list of service agents that pilotctl carries
	Tags        []string
	Networks    []uint16
	AdminToken  string
	Key         string
	Daemon      daemonState
	Gone        bool // no longer registered
	Started     time.Time

	Trusted  []trustRecord
	Pending  []pendingRecord
	Outgoing map[string]bool // whom we asked, until they answer
	Revoked  map[string]time.Time
	Tunnels  []tunnel

	Seq       int
	LastName  time.Time
	Script    *Script
	Computed  bool // by the Func of its script, in the process that owns the network
	Behaviour Behaviour
}

type daemonState string

const (
	daemonUp      daemonState = ""
	daemonStopped daemonState = "stopped"
	daemonFrozen  daemonState = "frozen"
)

type tunnel struct {
	Node          uint32
	Encrypted     bool
	Authenticated bool
	Relay         bool
}

// delayed is something that becomes true at its time: mail that arrives, trust
// that spreads.
type delayed struct {
	Due     time.Time
	Kind    string // "mail", "request", "accept", "revoke"
	From    uint32
	To      uint32
	Reason  string
	Message *Message `json:",omitempty"`
}

func (n *node) address() string { return FormatAddress(0, n.ID) }
func (n *node) socket() string  { return filepath.Join(n.Home, "pilot.sock") }
func (n *node) inbox() string   { return filepath.Join(n.Home, ".pilot", "inbox") }
func (n *node) received() string {
	return filepath.Join(n.Home, ".pilot", "received")
}
func (n *node) endpoint() string { return "127.0.0.1:" + strconv.Itoa(19100+int(n.ID%1000)) }

func (s *state) byID(id uint32) *node {
	for _, n := range s.Nodes {
		if n.ID == id {
			return n
		}
	}
	return nil
}

func (s *state) byName(name string) *node {
	for _, n := range s.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// registered finds a node as the registry does: one that is gone is not found.
func (s *state) registered(id uint32) *node {
	if n := s.byID(id); n != nil && !n.Gone {
		return n
	}
	return nil
}

func pairKey(a, b uint32) string {
	return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
}

// registryDown is true when asking the registry fails; asking a frozen one does
// not end.
func (s *state) registryDown() bool { return s.RegistryIs == daemonStopped }

func (s *state) registryFrozen() bool { return s.RegistryIs == daemonFrozen }

// real turns simulated time into the time that is really waited.
func (s *state) real(d time.Duration) time.Duration {
	if s.Speed <= 0 {
		return d
	}
	return time.Duration(float64(d) / s.Speed)
}

func (s *state) simulated(d time.Duration) time.Duration {
	if s.Speed <= 0 {
		return d
	}
	return time.Duration(float64(d) * s.Speed)
}

// later queues what becomes true after the simulated delay.
func (s *state) later(after time.Duration, d delayed) {
	d.Due = time.Now().Add(s.real(after))
	s.Queue = append(s.Queue, d)
}

// settle makes everything true whose time has come, in the order of times.
// What one of them causes may be due at once too.
func (s *state) settle() {
	for {
		now := time.Now()
		next := -1
		for i, d := range s.Queue {
			if !d.Due.After(now) && (next < 0 || d.Due.Before(s.Queue[next].Due)) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		d := s.Queue[next]
		s.Queue = slices.Delete(s.Queue, next, next+1)
		s.happen(d)
	}
}

func (s *state) happen(d delayed) {
	to := s.byID(d.To)
	if to == nil {
		return
	}
	switch d.Kind {
	case "mail":
		s.store(to, *d.Message)
	case "request":
		s.requestArrives(d)
	case "accept":
		s.acceptArrives(d)
	case "revoke":
		to.forget(d.From)
	}
}

// store is the directory in which a network lives.
type store string

func (d store) path(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// update reads the state under the lock, lets what is due happen, runs fn and
// writes what changed. An error of fn is handed back after writing.
func (d store) update(fn func(*state) error) error {
	unlock, _, err := lockFile(d.path("lock"), true)
	if err != nil {
		return fmt.Errorf("locking the simulated network: %w", err)
	}
	defer unlock()
	s, before, err := d.read()
	if err != nil {
		return err
	}
	s.settle()
	ferr := fn(s)
	if err := d.write(s, before); err != nil {
		return err
	}
	return ferr
}

func (d store) read() (*state, []byte, error) {
	s := &state{Pairs: map[string]bool{}, Conns: map[string][]time.Time{}, Subs: map[string]subscription{}}
	data, err := os.ReadFile(d.path("state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the simulated network: %w", err)
	}
	if err := unmarshal(data, s); err != nil {
		return nil, nil, fmt.Errorf("reading the simulated network in %s: %w", d, err)
	}
	return s, data, nil
}

func (d store) write(s *state, before []byte) error {
	data, err := marshal(s)
	if err != nil {
		return fmt.Errorf("writing the simulated network: %w", err)
	}
	if bytes.Equal(data, before) {
		return nil
	}
	if err := replaceFile(d.path("state.json"), data); err != nil {
		return fmt.Errorf("writing the simulated network: %w", err)
	}
	return nil
}

// replaceFile lets a reader see the old content or the new, never a part.
func replaceFile(path string, data []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
