package agents

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
	"github.com/fantasytools/fantasytools/internal/program"
	"github.com/fantasytools/fantasytools/tool"
)

// Capabilities: what an agent's tokens allow, one a call.
const (
	Submit = "job_submit"
	Status = "job_status"
	List   = "job_list"
	Cancel = "job_cancel"
	Watch  = "job_watch"
)

// Capabilities returns all of them.
func Capabilities() []string { return []string{Submit, Status, List, Cancel, Watch} }

// Agent is an owner of jobs. What a [Registry] hands out must not be changed.
type Agent struct {
	// Name is 1 to 64 of A-Z, a-z, 0-9, _ and -. It is the wire's agent_id and a
	// token of subjects in NATS.
	Name string

	// Capabilities are what the agent's tokens allow; nil: everything.
	Capabilities []string

	// Bins are what its jobs may run, by name.
	Bins map[string]*Bin
}

// Can tells whether the agent's tokens allow a call.
func (a *Agent) Can(capability string) bool {
	return a.Capabilities == nil || slices.Contains(a.Capabilities, capability)
}

// BinNames returns the names of the agent's binaries in order.
func (a *Agent) BinNames() []string { return slices.Sorted(maps.Keys(a.Bins)) }

// Bin is a binary that jobs may run. The zero values of Path and Dir are filled in
// by [New] and [Registry.Add].
type Bin struct {
	// Def says how to run it. Its Name is the key in Agent.Bins, or empty; its
	// Description may be empty; Doc, MaxOutput and Parallel mean nothing for a job.
	Def tool.Def

	// Path is the program's absolute path. "": found from Def.Binary, by the rules
	// of package tool.
	Path string

	// Dir is the absolute path of the directory in which it runs. "": the current
	// directory.
	Dir string
}

// Timeout returns how long a job of the Bin may run where none may run longer than
// limit; limit 0 is no limit, and so is a result of 0.
func (b *Bin) Timeout(limit time.Duration) time.Duration {
	limit = max(limit, 0)
	switch t := b.Def.Timeout; {
	case t <= 0:
		return limit
	case limit == 0:
		return t
	default:
		return min(t, limit)
	}
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// check returns all that is wrong with the agent's name and capabilities.
func (a *Agent) check() []error {
	var errs []error
	switch {
	case a.Name == "":
		errs = append(errs, errors.New("the name is empty"))
	case !validName.MatchString(a.Name):
		errs = append(errs, errors.New("the name may hold only letters, digits, underscores and dashes, at most 64"))
	}
	for _, c := range a.Capabilities {
		if !slices.Contains(Capabilities(), c) {
			errs = append(errs, fmt.Errorf("the capability %.80q is not known; there are %s", c, strings.Join(Capabilities(), ", ")))
		}
	}
	return errs
}

// complete returns a copy of the agent in which every Bin can be run, or what
// prevents that.
func (a *Agent) complete() (*Agent, error) {
	errs := a.check()
	done := &Agent{Name: a.Name, Capabilities: slices.Clone(a.Capabilities), Bins: make(map[string]*Bin, len(a.Bins))}
	dirs := map[string][]tool.Def{}
	for _, name := range a.BinNames() {
		b, err := a.Bins[name].complete(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done.Bins[name] = b
		checked := b.Def
		checked.Binary = b.Path
		dirs[b.Dir] = append(dirs[b.Dir], checked)
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		errs = append(errs, checkDefs(dirs[dir], dir)...)
	}
	if len(errs) > 0 {
		return nil, errors.Join(within(fmt.Sprintf("agent %.80q", a.Name), errs)...)
	}
	return done, nil
}

func (b *Bin) complete(name string) (*Bin, error) {
	if b == nil {
		return nil, fmt.Errorf("tool %.80q: there is no Bin", name)
	}
	done := *b
	if done.Def.Name = cmp.Or(b.Def.Name, name); done.Def.Name != name {
		return nil, fmt.Errorf("tool %.80q: its Def has the name %.80q", name, done.Def.Name)
	}
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return nil, fmt.Errorf("tool %.80q: finding its directory: %w", name, err)
	}
	done.Dir = dir
	if b.Path == "" {
		if done.Path, err = program.Resolve(b.Def.Binary, dir); err != nil {
			return nil, fmt.Errorf("tool %.80q: %w", name, err)
		}
	} else if !filepath.IsAbs(b.Path) {
		return nil, fmt.Errorf("tool %.80q: the path %q is not absolute", name, b.Path)
	}
	return &done, nil
}

// checkDefs returns what [tool.LoadTools] finds wrong with the definitions, one
// problem an error. A job has no description to check.
func checkDefs(defs []tool.Def, dir string) []error {
	checked := make([]tool.Def, len(defs))
	for i, d := range defs {
		d.Description, d.Doc = cmp.Or(d.Description, "Runs a program."), ""
		checked[i] = d
	}
	_, err := tool.LoadTools(checked, dir, nil)
	return toolfile.Problems(err)
}

// within puts a label in front of each error.
func within(label string, errs []error) []error {
	labelled := make([]error, len(errs))
	for i, err := range errs {
		labelled[i] = fmt.Errorf("%s: %w", label, err)
	}
	return labelled
}
