package pilottest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Call is the record of one run of the fake pilotctl.
type Call struct {
	Seq    int    // from 1, in the order of starts
	PID    int    // process id
	Node   string // name of the node whose daemon it would talk to; "" for none
	Home   string // HOME as the process saw it
	Socket string // the daemon's socket by environment and configuration
	Dir    string // working directory

	Argv  []string          // as received, without the program's name
	JSON  bool              // --json was among them
	Verb  string            // the command after the global flags are gone
	Args  []string          // positional arguments after pilotctl's own parsing
	Flags map[string]string // flags after pilotctl's own parsing; "true" for one without a value
	Env   []string          // names of the environment's variables, sorted
	Data  []byte            // the payload that send-message, publish and broadcast found

	Stdin     []byte // what was read from standard input, at most 64 MiB
	StdinOpen bool   // standard input had not ended when the run ended

	Started time.Time
	Took    time.Duration // 0 while it runs, and for one that was killed
	Done    bool          // it ended by itself
	Status  int           // exit status; -1 while it runs, and for one that was killed
	Stdout  string        // what it printed, when it ended by itself; the first MiB
	Stderr  string
}

// recorder writes the record of the running process.
type recorder struct {
	call   Call
	path   string
	unlock func()
	out    opening
	err    opening
}

// opening keeps the first MiB of a stream.
type opening struct{ bytes.Buffer }

func (s *opening) Write(b []byte) (int, error) {
	if room := 1<<20 - s.Len(); room > 0 {
		s.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// open begins the record of this run and picks the fault that was ordered.
func (p *process) open() (*recorder, error) {
	p.json, p.verb, p.args = globalFlags(p.gen, p.argv)
	rec := &recorder{}
	err := p.net.update(func(s *state) error {
		p.speed = s.Speed
		rec.call = p.newCall(s)
		p.fault = s.takeFault(rec.call.Node, p.verb)
		s.LastCall++
		rec.call.Seq = s.LastCall
		p.call = fmt.Sprintf("%06d", rec.call.Seq)
		return rec.begin(p.net)
	})
	if err != nil {
		return nil, err
	}
	p.stdout = io.MultiWriter(p.stdout, &rec.out)
	p.stderr = io.MultiWriter(p.stderr, &rec.err)
	return rec, nil
}

func (p *process) newCall(s *state) Call {
	c := Call{
		PID: os.Getpid(), Home: p.home, Socket: p.socket, Dir: p.dir,
		Argv: slices.Clone(p.argv), Verb: p.verb, JSON: p.json, Args: p.args,
		Started: time.Now(), Status: -1,
	}
	for _, kv := range p.env {
		name, _, _ := strings.Cut(kv, "=")
		c.Env = append(c.Env, name)
	}
	slices.Sort(c.Env)
	if n := p.owner(s); n != nil {
		c.Node, p.gen = n.Name, n.Generation
		p.json, p.verb, p.args = globalFlags(p.gen, p.argv)
		c.JSON, c.Verb, c.Args = p.json, p.verb, p.args
	}
	return c
}

// owner is the node whose daemon listens at the socket, or else whose home it
// is: its generation is that of the program.
func (p *process) owner(s *state) *node {
	for _, n := range s.Nodes {
		if n.socket() == p.socket {
			return n
		}
	}
	for _, n := range s.Nodes {
		if n.Home == p.home {
			return n
		}
	}
	return nil
}

// begin holds a lock as long as the process lives, so that Running can tell.
func (r *recorder) begin(net store) error {
	base := net.path("calls", fmt.Sprintf("%06d", r.call.Seq))
	unlock, _, err := lockFile(base+".lock", true)
	if err != nil {
		return fmt.Errorf("recording the call: %w", err)
	}
	r.path, r.unlock = base+".json", unlock
	return r.write()
}

func (r *recorder) write() error {
	data, err := marshal(r.call)
	if err != nil {
		return fmt.Errorf("recording the call: %w", err)
	}
	return replaceFile(r.path, data)
}

// parsed is told what the verb's own parser made of the arguments.
func (r *recorder) parsed(p *process) {
	if p.flags == nil {
		return
	}
	r.call.Args, r.call.Flags = p.flags.pos, p.flags.vals
	_ = r.write()
}

func (r *recorder) finish(p *process, status int) {
	c := &r.call
	if p.flags != nil {
		c.Args, c.Flags = p.flags.pos, p.flags.vals
	}
	c.Stdin, c.StdinOpen = p.stdin.soFar()
	c.Took, c.Stdout, c.Stderr = time.Since(c.Started), r.out.String(), r.err.String()
	if !p.fault.Kill {
		c.Done, c.Status = true, status
	}
	_ = r.write()
	r.unlock()
}

// input reads standard input beside the run, so that a run never waits for an
// end that does not come, unless it was told to read it.
type input struct {
	mu   sync.Mutex
	got  bytes.Buffer
	done chan struct{}
}

const (
	maxStdin  = 64 << 20
	stdinRest = 100 * time.Millisecond // for an end that is already on its way
)

func newInput(f *os.File) *input {
	in := &input{done: make(chan struct{})}
	if info, err := f.Stat(); err != nil || isTerminal(info) {
		close(in.done)
		return in
	}
	go in.fill(f)
	return in
}

// isTerminal takes every character device but the null device for one.
func isTerminal(info os.FileInfo) bool {
	if info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(null, info)
}

func (in *input) fill(r io.Reader) {
	defer close(in.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		in.mu.Lock()
		if in.got.Len() < maxStdin {
			in.got.Write(buf[:n])
		}
		in.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// all waits for the end, as `--data -` does.
func (in *input) all() []byte {
	<-in.done
	return bytes.Clone(in.got.Bytes())
}

func (in *input) soFar() (data []byte, open bool) {
	select {
	case <-in.done:
	case <-time.After(stdinRest):
		open = true
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return bytes.Clone(in.got.Bytes()), open
}

// Calls returns the runs so far, the oldest first.
func (n *Network) Calls() []Call {
	paths, _ := filepath.Glob(n.store.path("calls", "*.json"))
	slices.Sort(paths)
	calls := make([]Call, 0, len(paths))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // forgotten meanwhile
		}
		if err != nil {
			n.failed("reading the record of calls", err)
			continue
		}
		var c Call
		if err := unmarshal(data, &c); err != nil {
			n.failed("reading the record of calls", err)
			continue
		}
		calls = append(calls, c)
	}
	return calls
}

// LastCall returns the run that started last; the zero Call when there was
// none.
func (n *Network) LastCall() Call {
	calls := n.Calls()
	if len(calls) == 0 {
		return Call{}
	}
	return calls[len(calls)-1]
}

// CallsOf returns the runs of one verb, the oldest first.
func (n *Network) CallsOf(verb string) []Call {
	return slices.DeleteFunc(n.Calls(), func(c Call) bool { return c.Verb != verb })
}

// Running returns the runs whose process is still alive.
func (n *Network) Running() []Call {
	return slices.DeleteFunc(n.Calls(), func(c Call) bool {
		if c.Done {
			return true
		}
		unlock, free, err := lockFile(n.store.path("calls", fmt.Sprintf("%06d.lock", c.Seq)), false)
		if err != nil {
			n.failed("looking for running calls", err)
			return true
		}
		if free {
			unlock()
		}
		return free
	})
}

// ForgetCalls removes the records of runs that have ended.
func (n *Network) ForgetCalls() {
	running := map[int]bool{}
	for _, c := range n.Running() {
		running[c.Seq] = true
	}
	for _, c := range n.Calls() {
		if running[c.Seq] {
			continue
		}
		base := n.store.path("calls", fmt.Sprintf("%06d", c.Seq))
		n.failed("removing the record of calls", os.Remove(base+".json"))
		n.failed("removing the record of calls", os.Remove(base+".lock"))
	}
}
