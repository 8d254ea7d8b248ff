package agents

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
	"github.com/fantasytools/fantasytools/examples/internal/yamlfile"
	"github.com/fantasytools/fantasytools/internal/program"
)

// file is the whole file.
type file struct {
	Agents []entry `yaml:"agents"`
}

// entry is one agent in the file.
type entry struct {
	Name         string           `yaml:"name"`
	Tokens       []string         `yaml:"tokens"`
	Capabilities []string         `yaml:"capabilities"`
	Workdir      string           `yaml:"workdir"`
	Bins         []toolfile.Entry `yaml:"bins"`
}

// decode reads the YAML, refusing keys that it does not know.
func decode(path string, src []byte) (f file, err error) {
	if err := yamlfile.Decode(path, src, &f); err != nil {
		return f, err
	}
	if f.Agents == nil {
		return f, fmt.Errorf("%s: no agents; they stand in a list under the key agents", path)
	}
	return f, checkNulls(path, src)
}

// checkNulls refuses a key capabilities without a value: whoever deleted all lines
// under it did not mean that everything is allowed.
func checkNulls(path string, src []byte) error {
	tree, err := yamlfile.Parse(path, src)
	if err != nil {
		return err
	}
	for i, node := range agentNodes(tree) {
		value := valueOf(node, "capabilities")
		if value == nil {
			continue
		}
		if _, null := value.Value.(*ast.NullNode); null {
			return fmt.Errorf("%s: agent %d: capabilities is empty; write [] for none, or leave the key out for all", path, i+1)
		}
	}
	return nil
}

// tokens returns the owner of each token that the file names. Entries that are no
// hashes are left to check.
func (f file) tokens() map[hash]string {
	owners := map[hash]string{}
	for _, e := range f.Agents {
		for _, t := range e.Tokens {
			if h, err := parseHash(t); err == nil {
				owners[h] = e.Name
			}
		}
	}
	return owners
}

// load checks the agents and finds their programs; all problems are in one error.
func (f file) load(path string, logger *zap.Logger) (*snapshot, error) {
	s := newSnapshot()
	var errs []error
	for i, e := range f.Agents {
		label := fmt.Sprintf("%s: agent %.80q", path, e.Name)
		if e.Name == "" {
			label = fmt.Sprintf("%s: agent number %d", path, i+1)
		}
		agent, problems := e.load(filepath.Dir(path), logger)
		hashes, more := e.hashes()
		problems = append(problems, more...)
		problems = append(problems, s.add(agent, hashes)...)
		errs = append(errs, within(label, problems)...)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

func (e *entry) hashes() ([]hash, []error) {
	var hashes []hash
	var errs []error
	for i, t := range e.Tokens {
		h, err := parseHash(t)
		if err != nil {
			errs = append(errs, fmt.Errorf("entry %d of tokens %w", i+1, err))
			continue
		}
		hashes = append(hashes, h)
	}
	return hashes, errs
}

// load makes the agent, as far as that is possible.
func (e *entry) load(base string, logger *zap.Logger) (*Agent, []error) {
	agent := &Agent{Name: e.Name, Capabilities: e.Capabilities, Bins: map[string]*Bin{}}
	dir := cmp.Or(e.Workdir, ".")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	problems := agent.check()
	entries, more := e.installed(dir, logger)
	problems = append(problems, more...)
	defs := toolfile.Defs(entries)
	problems = append(problems, checkDefs(defs, dir)...)
	for _, d := range defs {
		path, err := program.Resolve(d.Binary, dir)
		if err == nil { // otherwise checkDefs has told
			agent.Bins[d.Name] = &Bin{Def: d, Path: path, Dir: dir}
		}
	}
	return agent, problems
}

// installed returns the agent's binaries without those that are optional and not
// there.
func (e *entry) installed(dir string, logger *zap.Logger) ([]toolfile.Entry, []error) {
	var errs []error
	entries := slices.DeleteFunc(slices.Clone(e.Bins), func(b toolfile.Entry) bool {
		if !b.Optional {
			return false
		}
		if strings.ContainsAny(b.Binary, `/\`) {
			errs = append(errs, fmt.Errorf("tool %.80q: optional is for a program that PATH may have, and its binary is a path", b.Name))
			return true
		}
		_, err := program.Resolve(b.Binary, dir)
		missing := errors.Is(err, fs.ErrNotExist)
		if missing {
			logger.Info("a program is not installed; the BIN is left out", zap.String("agent", e.Name), zap.String("bin", b.Name), zap.String("binary", b.Binary))
		}
		return missing
	})
	return entries, errs
}

// agentNodes returns the mappings under the key agents.
func agentNodes(tree *ast.File) []*ast.MappingNode {
	if len(tree.Docs) == 0 {
		return nil
	}
	root, ok := tree.Docs[0].Body.(*ast.MappingNode)
	if !ok {
		return nil
	}
	value := valueOf(root, "agents")
	if value == nil {
		return nil
	}
	list, ok := value.Value.(*ast.SequenceNode)
	if !ok {
		return nil
	}
	var nodes []*ast.MappingNode
	for _, v := range list.Values {
		node, _ := withoutProperties(v).(*ast.MappingNode) // nil: not written out, but an alias
		nodes = append(nodes, node)
	}
	return nodes
}

// valueOf returns the entry of a mapping with this key, or nil.
func valueOf(m *ast.MappingNode, key string) *ast.MappingValueNode {
	if m == nil {
		return nil
	}
	for _, v := range m.Values {
		if name, ok := v.Key.(*ast.StringNode); ok && name.Value == key {
			return v
		}
	}
	return nil
}
