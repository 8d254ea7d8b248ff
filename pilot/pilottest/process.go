package pilottest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// defaultSocket is where pilotctl looks when neither PILOT_SOCKET nor the
// configuration names a socket. No simulated daemon listens there.
const defaultSocket = "/tmp/pilot.sock"

// process is one run of the fake pilotctl.
type process struct {
	argv   []string // after the program's name
	env    []string
	dir    string
	stdin  *input
	stdout io.Writer
	stderr io.Writer

	net    store
	gen    Generation
	speed  float64
	home   string // HOME; "" when unset
	socket string // of the daemon it would talk to
	json   bool
	verb   string
	args   []string // after the verb

	flags *flagSet // what the verb's own parser made of args
	fault Fault
	call  string // base name of the record of this run

	payload []byte // what send-message or publish passed on
}

// errHang ends a run by never ending it.
var errHang = errors.New("waits for ever")

// marker is what a file named pilottest.json holds: beside the fake program and
// in the .pilot directory of each node's home. It leads to the network.
type marker struct {
	Network    string
	Generation Generation
}

const markerName = "pilottest.json"

func readMarker(dir string) (marker, bool) {
	var m marker
	data, err := os.ReadFile(filepath.Join(dir, markerName))
	if err != nil || json.Unmarshal(data, &m) != nil {
		return marker{}, false
	}
	return m, true
}

func writeMarker(dir string, m marker) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, markerName), data, 0o600)
}

func (p *process) getenv(key string) string {
	for _, kv := range slices.Backward(p.env) {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			return v
		}
	}
	return ""
}

// locate finds the network by HOME, by the socket, or by the file beside the
// program.
func (p *process) locate(program string) error {
	p.home = p.getenv("HOME")
	p.socket = p.socketPath()
	dirs := []string{filepath.Join(filepath.Dir(p.socket), ".pilot"), filepath.Dir(program)}
	if p.home != "" {
		dirs = slices.Insert(dirs, 0, filepath.Join(p.home, ".pilot"))
	}
	for _, dir := range dirs {
		if m, ok := readMarker(dir); ok {
			p.net, p.gen = store(m.Network), m.Generation
			p.socket = p.socketPath() // again: 1.2 reads less of the environment
			return nil
		}
	}
	return errors.New("no simulated network: HOME has no .pilot/" + markerName + ", nor has the program's directory one")
}

// socketPath follows pilotctl's order: environment, configuration, default.
func (p *process) socketPath() string {
	if s := p.getenv("PILOT_SOCKET"); s != "" {
		return s
	}
	if s := p.config()["socket"]; s != "" {
		return s
	}
	if x := p.getenv("XDG_RUNTIME_DIR"); x != "" && p.gen.modern() {
		return filepath.Join(x, "pilot.sock")
	}
	return defaultSocket
}

// config reads config.json. 1.2 knows no PILOT_HOME.
func (p *process) config() map[string]string {
	home := p.home
	if h := p.getenv("PILOT_HOME"); h != "" && p.gen.modern() {
		home = h
	}
	conf := map[string]string{}
	if home == "" {
		return conf
	}
	data, err := os.ReadFile(filepath.Join(home, ".pilot", "config.json"))
	if err != nil {
		return conf
	}
	var raw map[string]any
	if json.Unmarshal(data, &raw) != nil {
		return conf
	}
	for k, v := range raw {
		if s, ok := v.(string); ok {
			conf[k] = s
		}
	}
	return conf
}

// run does what pilotctl would do and returns its exit status.
func (p *process) run(program string) int {
	if err := p.locate(program); err != nil {
		_, _ = fmt.Fprintln(p.stderr, "pilottest:", err)
		return statusOfTheFake
	}
	rec, err := p.open()
	if err != nil {
		_, _ = fmt.Fprintln(p.stderr, "pilottest:", err)
		return statusOfTheFake
	}
	status := p.answer(rec)
	rec.finish(p, status)
	if p.fault.Kill {
		killSelf()
	}
	return status
}

// statusOfTheFake tells a fault of the simulation from every status that
// pilotctl gives.
const statusOfTheFake = 70

// sleep lets simulated time pass.
func (p *process) sleep(d time.Duration) {
	if d > 0 {
		time.Sleep((&state{Speed: p.speed}).real(d))
	}
}

// simulatedSince is the simulated time that passed since then.
func (p *process) simulatedSince(t time.Time) time.Duration {
	return (&state{Speed: p.speed}).simulated(time.Since(t))
}

// poll asks until it is answered or the simulated time is over. What is due on
// the network happens before each question.
func (p *process) poll(limit time.Duration, done func(*state) bool) (bool, error) {
	deadline := time.Now().Add((&state{Speed: p.speed}).real(limit))
	for {
		over := !time.Now().Before(deadline)
		var ok bool
		err := p.net.update(func(s *state) error { ok = done(s); return nil })
		if ok || err != nil || over {
			return ok, err
		}
		time.Sleep(min(pollEvery, max(time.Until(deadline), 0)))
	}
}

const pollEvery = 10 * time.Millisecond

func hangForEver() {
	for {
		time.Sleep(time.Hour)
	}
}

func killSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	hangForEver()
}
