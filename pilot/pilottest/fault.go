package pilottest

import (
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// Fault is what goes wrong with a run of pilotctl, or what is changed in it.
// Fields may be combined: first comes Delay, then Hang, then either Code, Raw or
// the verb's own work, then the changes of its answer, then the ways of printing it.
// Of a run that is refused by Code or Raw nothing is left but its record.
type Fault struct {
	Verb  string // "": every verb
	Node  string // only under this node; "": every one
	Times int    // the next so many runs; 0: all until ClearFaults

	Delay    time.Duration // simulated time before anything else
	Hang     bool          // never ends; with Split: after the first half of the answer
	Stubborn bool          // ignores SIGTERM and SIGINT

	// An error envelope in the generation's manner, in place of the verb's work or,
	// with Worked, after it.
	Code, Message, Hint string
	Worked              bool

	// With Raw, Stdout and Stderr are all that is printed and nothing is done.
	Raw            bool
	Stdout, Stderr string

	Set  map[string]any // keys of data that are added or replaced
	Drop []string       // keys of data that are left out

	Flood  int64         // bytes of filler on stdout before everything else
	Banner string        // a line before the answer on stdout
	Noise  string        // a line before whatever comes on stderr
	Plain  bool          // text although --json was given
	Split  time.Duration // stdout in two writes with this (real) pause between them
	Kill   bool          // ended by SIGKILL after printing; with Split: after the first half
	Status *int          // exit status in place of the true one
}

// Fault orders a fault. The faults that were ordered first are used first; one
// run has one fault.
func (n *Network) Fault(f Fault) {
	n.change("ordering a fault", func(s *state) error {
		s.Faults = append(s.Faults, &f)
		return nil
	})
}

// ClearFaults ends every fault that was ordered.
func (n *Network) ClearFaults() {
	n.change("clearing faults", func(s *state) error { s.Faults = nil; return nil })
}

// takeFault picks the first fault that fits and counts it.
func (s *state) takeFault(nodeName, verb string) Fault {
	for i, f := range s.Faults {
		if f.Verb != "" && f.Verb != verb || f.Node != "" && f.Node != nodeName {
			continue
		}
		if f.Times == 1 {
			s.Faults = slices.Delete(s.Faults, i, i+1)
		} else if f.Times > 1 {
			f.Times--
		}
		return *f
	}
	return Fault{}
}

// answer runs the verb under the ordered fault, prints and gives the status.
func (p *process) answer(rec *recorder) int {
	f := p.fault
	if f.Stubborn {
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
	}
	p.sleep(f.Delay)
	if f.Hang && f.Split == 0 {
		rec.parsedEarly(p)
		hangForEver()
	}
	out := p.outcome(rec)
	status := p.print(out)
	if f.Status != nil {
		return *f.Status
	}
	return status
}

// parsedEarly records what a run that hangs was given.
func (r *recorder) parsedEarly(p *process) {
	if usesFlags(p.gen, p.verb) {
		f := parseFlags(p.gen, p.args)
		p.flags = &f
	}
	r.parsed(p)
}

// outcome is what is going to be printed.
func (p *process) outcome(rec *recorder) output {
	f := p.fault
	if f.Raw {
		rec.parsedEarly(p)
		return output{raw: true, stdout: []byte(f.Stdout), stderr: []byte(f.Stderr)}
	}
	if f.Code != "" && !f.Worked {
		rec.parsedEarly(p)
		return p.failed(&failure{code: f.Code, message: f.Message, hint: f.Hint})
	}
	out := p.dispatch(rec)
	if f.Code != "" {
		return p.failed(&failure{code: f.Code, message: f.Message, hint: f.Hint})
	}
	if out.data != nil {
		out.data = maps.Clone(out.data)
		maps.Copy(out.data, f.Set)
		for _, key := range f.Drop {
			delete(out.data, key)
		}
	}
	return out
}

// print writes both streams in the way the fault asks for.
func (p *process) print(out output) int {
	stdout, stderr := p.render(out)
	if p.fault.Banner != "" {
		stdout = append([]byte(p.fault.Banner+"\n"), stdout...)
	}
	if p.fault.Noise != "" {
		stderr = append([]byte(p.fault.Noise+"\n"), stderr...)
	}
	_, _ = p.stderr.Write(stderr)
	_, _ = io.CopyN(p.stdout, filler{}, p.fault.Flood)
	if p.fault.Split <= 0 {
		_, _ = p.stdout.Write(stdout)
		return out.status
	}
	half := len(stdout) / 2
	_, _ = p.stdout.Write(stdout[:half])
	if p.fault.Hang {
		hangForEver()
	}
	if !p.fault.Kill {
		time.Sleep(p.fault.Split)
		_, _ = p.stdout.Write(stdout[half:])
	}
	return out.status
}

// filler is an endless run of lines.
type filler struct{}

func (filler) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
		if i%80 == 79 {
			b[i] = '\n'
		}
	}
	return len(b), nil
}
