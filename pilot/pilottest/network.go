package pilottest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// DefaultConnectionsPerSecond is how many connections a simulated daemon takes
// from one sender within a second, as real ones do.
const DefaultConnectionsPerSecond = 10

// Network is a simulated Pilot network and the hand of a test in it. It is safe
// for concurrent use, also with the fake pilotctl processes that work on the same
// directory. A method that cannot do its work ends the test; on a network made by
// Open it keeps the error for Err.
type Network struct {
	Binary string // absolute path of the fake pilotctl
	Dir    string // absolute path of the directory that holds the network

	store store
	fatal func(format string, args ...any)

	mu       sync.Mutex
	err      error
	funcs    map[string]func(from, text string) []Reply
	listener net.Listener
	served   sync.WaitGroup
}

// TB is the part of testing.TB that New needs.
type TB interface {
	Helper()
	TempDir() string
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// New makes an empty network for a test, in its temporary directory. The test
// binary's TestMain must have called Main.
func New(t TB, g Generation) *Network {
	t.Helper()
	n, err := Open(Config{Dir: t.TempDir(), Generation: g})
	if err != nil {
		t.Fatalf("pilottest: %v", err)
	}
	n.fatal = func(format string, args ...any) {
		t.Helper()
		t.Fatalf("pilottest: "+format, args...)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// Config says what Open makes.
type Config struct {
	Dir        string     // where the network lives; made if it is not there
	Generation Generation // of nodes that name none; "": V116
	Binary     string     // a built cmd/pilotctl; "": this program itself, which must have called Main
}

// ErrNoMain is the error of Open and New in a program that did not call Main.
var ErrNoMain = errors.New("call pilottest.Main first thing in main or TestMain")

// Open makes a network in a directory, or goes on with the one that lives there.
// Close it in the end; the directory stays.
func Open(c Config) (*Network, error) {
	if c.Dir == "" {
		return nil, errors.New("opening a simulated network: the directory is missing")
	}
	if c.Generation == "" {
		c.Generation = V116
	}
	if !c.Generation.valid() {
		return nil, fmt.Errorf("opening a simulated network: unknown generation %q", c.Generation)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening a simulated network: %w", err)
	}
	n := &Network{Dir: dir, store: store(dir), Binary: c.Binary, funcs: map[string]func(string, string) []Reply{}}
	if err := os.MkdirAll(n.store.path("calls"), 0o700); err != nil {
		return nil, fmt.Errorf("opening a simulated network: %w", err)
	}
	err = n.store.update(func(s *state) error {
		if s.Generation == "" {
			s.Generation, s.Speed = c.Generation, 1
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if n.Binary == "" {
		n.Binary, err = n.install(n.store.path("bin"), c.Generation)
	}
	return n, err
}

// Install puts the fake pilotctl into another directory too, for example into
// one of PATH, and returns its path.
func (n *Network) Install(dir string) string {
	var g Generation
	n.change("installing pilotctl", func(s *state) error { g = s.Generation; return nil })
	path, err := n.install(dir, g)
	n.failed("installing pilotctl", err)
	return path
}

// install links to this program, or copies it where links need a privilege,
// and leaves the way to the network beside it.
func (n *Network) install(dir string, g Generation) (string, error) {
	if !mainCalled.Load() {
		return "", ErrNoMain
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("installing pilotctl: %w", err)
	}
	if err := writeMarker(dir, marker{Network: n.Dir, Generation: g}); err != nil {
		return "", fmt.Errorf("installing pilotctl: %w", err)
	}
	path := filepath.Join(dir, programName)
	if runtime.GOOS == "windows" {
		path += ".exe"
		return path, copyFile(path, self)
	}
	return path, replaceLink(path, self)
}

// replaceLink leaves no moment without the link: others may be running it.
func replaceLink(path, target string) error {
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.Symlink(target, tmp); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Rename(tmp, path)
}

func copyFile(dst, src string) (err error) {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Close ends what answers for scripts with Func. Everything else lives on in
// the directory.
func (n *Network) Close() error {
	n.mu.Lock()
	l := n.listener
	n.listener = nil
	n.mu.Unlock()
	if l == nil {
		return nil
	}
	err := l.Close()
	n.served.Wait()
	return err
}

// Err is the first error of a method on a network made by Open; nil when all
// went well. On a network made by New an error ends the test instead.
func (n *Network) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

func (n *Network) failed(doing string, err error) {
	if err == nil {
		return
	}
	if n.fatal != nil {
		n.fatal("%s: %v", doing, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err == nil {
		n.err = fmt.Errorf("%s: %w", doing, err)
	}
}

func (n *Network) change(doing string, fn func(*state) error) {
	n.failed(doing, n.store.update(fn))
}

func (n *Network) changeNode(doing, name string, fn func(*state, *node) error) {
	n.change(doing, func(s *state) error {
		node := s.byName(name)
		if node == nil {
			return fmt.Errorf("the network has no node %q", name)
		}
		return fn(s, node)
	})
}

func (n *Network) changePair(doing, a, b string, fn func(s *state, a, b *node) error) {
	n.changeNode(doing, a, func(s *state, first *node) error {
		second := s.byName(b)
		if second == nil {
			return fmt.Errorf("the network has no node %q", b)
		}
		return fn(s, first, second)
	})
}

// Delays are the simulated times that things take to spread.
type Delays struct {
	Request time.Duration // from a handshake until the target holds it
	Accept  time.Duration // from an approval until the requester trusts too
	Revoke  time.Duration // from an untrust until the other side knows; 1.2 never tells it
}

// SetDelays sets how long trust takes to spread; everything is immediate
// before. What is on its way keeps its time.
func (n *Network) SetDelays(d Delays) {
	n.change("setting delays", func(s *state) error { s.Delays = d; return nil })
}

// RateLimit is how a daemon meets too many connections of one sender.
type RateLimit struct {
	PerSecond int  // 0: DefaultConnectionsPerSecond; negative: no limit
	Refuse    bool // refuse what is too much; else it stalls for one to three simulated seconds
}

// SetRateLimit sets the limit of every daemon. The second that it counts is a
// real one, whatever the speed.
func (n *Network) SetRateLimit(r RateLimit) {
	n.change("setting the rate limit", func(s *state) error { s.RateLimit = r; return nil })
}

// SetSpeed makes simulated time run so many times faster than real time: at
// 100, a pilotctl that waits 30 s for a reply waits 0.3 s. The default is 1.
func (n *Network) SetSpeed(factor float64) {
	n.change("setting the speed", func(s *state) error {
		if factor <= 0 {
			return fmt.Errorf("a speed of %g is not over 0", factor)
		}
		s.Speed = factor
		return nil
	})
}

// SetMotd sets the message of the day that versions since 1.13 put into every
// envelope; "" for none.
func (n *Network) SetMotd(text string) {
	n.change("setting the message of the day", func(s *state) error { s.Motd = text; return nil })
}

// StopRegistry lets nothing answer at the registry any more.
func (n *Network) StopRegistry() { n.setRegistry(daemonStopped) }

// FreezeRegistry lets the registry accept and never answer: whoever asks it
// waits for ever.
func (n *Network) FreezeRegistry() { n.setRegistry(daemonFrozen) }

// StartRegistry lets the registry answer again.
func (n *Network) StartRegistry() { n.setRegistry(daemonUp) }

func (n *Network) setRegistry(d daemonState) {
	n.change("changing the registry", func(s *state) error { s.RegistryIs = d; return nil })
}

// Settle lets everything arrive now that is on its way: requests and answers
// for trust, mail that was delayed.
func (n *Network) Settle() {
	n.change("settling", func(s *state) error {
		for len(s.Queue) > 0 {
			for i := range s.Queue {
				s.Queue[i].Due = time.Time{}
			}
			s.settle()
		}
		return nil
	})
}
