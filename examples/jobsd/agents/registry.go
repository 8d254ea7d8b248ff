package agents

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// reloadAfter is how long a registry may not have looked at its file.
	reloadAfter = time.Second

	// maxFile is the largest file that is read, in bytes.
	maxFile = 1 << 20

	// clockGrain is how old a time of change must be for a file of the same time
	// to be the same: file systems count in steps of up to two seconds.
	clockGrain = 2 * time.Second
)

// Registry is who may run jobs: the agents of a file, which it follows, or those
// that a program names. It is safe for concurrent use.
type Registry struct {
	path   string // "": in memory
	logger *zap.Logger
	now    func() time.Time

	mu      sync.Mutex
	current *snapshot // replaced, never changed, if path is set
	checked time.Time // when the file was looked at
	seen    os.FileInfo
	source  []byte // of the version that was looked at
	wrong   string // what was logged of it
}

// snapshot is the agents of one version.
type snapshot struct {
	agents map[string]*Agent
	tokens map[hash]*Agent
}

func newSnapshot() *snapshot {
	return &snapshot{agents: map[string]*Agent{}, tokens: map[hash]*Agent{}}
}

// add adds an agent and its tokens, or says what is there already.
func (s *snapshot) add(a *Agent, hashes []hash) []error {
	var errs []error
	if _, taken := s.agents[a.Name]; taken {
		errs = append(errs, errors.New("there is another one of this name"))
	}
	s.agents[a.Name] = a
	for i, h := range hashes {
		if owner, taken := s.tokens[h]; taken {
			errs = append(errs, fmt.Errorf("entry %d of tokens stands at agent %.80q already", i+1, owner.Name))
		}
		s.tokens[h] = a
	}
	return errs
}

// Open reads the agents from a file, which it reads again when it changes. All
// that is wrong with the file is in one error. A nil logger is fine.
func Open(path string, logger *zap.Logger) (*Registry, error) {
	if logger == nil {
		logger = zap.NewNop()
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the agents file: %w", err)
	}
	r := &Registry{path: path, logger: logger, now: time.Now}
	src, info, err := readFile(path)
	if err != nil {
		return nil, err
	}
	f, err := decode(path, src)
	if err != nil {
		return nil, err
	}
	if r.current, err = f.load(path, logger); err != nil {
		return nil, err
	}
	r.seen, r.source, r.checked = info, src, r.now()
	return r, nil
}

// New returns a registry of these agents, in memory.
func New(agents ...Agent) (*Registry, error) {
	r := &Registry{logger: zap.NewNop(), now: time.Now, current: newSnapshot()}
	var errs []error
	for _, a := range agents {
		errs = append(errs, r.Add(a))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// Add adds an agent to a registry in memory. The agent is copied, and its binaries
// are found and checked as those of a file are.
func (r *Registry) Add(a Agent) error {
	if r.path != "" {
		return fmt.Errorf("agents are added in %s", r.path)
	}
	done, err := a.complete()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.current.agents[a.Name]; taken {
		return fmt.Errorf("agent %.80q: there is another one of this name", a.Name)
	}
	return errors.Join(r.current.add(done, nil)...)
}

// Token makes a token for an agent of a registry in memory. Only its hash is
// kept. For the agents of a file use [AddToken].
func (r *Registry) Token(agent string) (string, error) {
	if r.path != "" {
		return "", fmt.Errorf("tokens are added to %s by `jobsd token`", r.path)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.current.agents[agent]
	if !ok {
		return "", unknownAgent(agent, r.current.names())
	}
	token := newToken()
	r.current.tokens[hashOf(token)] = a
	return token, nil
}

// ByToken returns the agent whose token it is.
func (r *Registry) ByToken(token string) (*Agent, bool) {
	h := hashOf(token)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh(false)
	a, ok := r.current.tokens[h]
	if !ok {
		r.refresh(true)
		a, ok = r.current.tokens[h]
	}
	return a, ok
}

// ByName returns the agent of this name.
func (r *Registry) ByName(name string) (*Agent, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh(false)
	a, ok := r.current.agents[name]
	return a, ok
}

// Names returns the names of all agents in order.
func (r *Registry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh(false)
	return r.current.names()
}

func (s *snapshot) names() []string { return slices.Sorted(maps.Keys(s.agents)) }

// refresh looks at the file, if it was not looked at for a while or if it must.
func (r *Registry) refresh(must bool) {
	if r.path == "" || !must && r.now().Sub(r.checked) < reloadAfter {
		return
	}
	r.checked = r.now()
	if info, err := os.Stat(r.path); err == nil && r.same(info) {
		return
	}
	src, info, err := readFile(r.path)
	if err != nil {
		r.seen, r.source = nil, nil // the same version is news when it is back
		r.complain(err)
		return
	}
	known := r.source != nil && bytes.Equal(src, r.source)
	r.seen, r.source = info, src
	if !known {
		r.take(src)
	}
}

// same tells whether info is that of the version that was looked at.
func (r *Registry) same(info os.FileInfo) bool {
	return r.seen != nil && os.SameFile(info, r.seen) && info.Size() == r.seen.Size() && info.ModTime().Equal(r.seen.ModTime()) &&
		r.now().Sub(info.ModTime()) > clockGrain
}

// take puts a version of the file into force.
func (r *Registry) take(src []byte) {
	f, err := decode(r.path, src)
	if err != nil {
		r.complain(err)
		return
	}
	next, err := f.load(r.path, r.logger)
	if err != nil {
		r.revoke(f.tokens())
		r.complain(err)
		return
	}
	r.current, r.wrong = next, ""
	r.logger.Info("the agents file was read again", zap.String("file", r.path), zap.Int("agents", len(next.agents)), zap.Int("tokens", len(next.tokens)))
}

// revoke drops the tokens that the owners of a version that is wrong elsewhere do
// not have: who deletes a token must be able to rely on it.
func (r *Registry) revoke(owners map[hash]string) {
	left := &snapshot{agents: r.current.agents, tokens: maps.Clone(r.current.tokens)}
	maps.DeleteFunc(left.tokens, func(h hash, a *Agent) bool {
		owner, named := owners[h]
		return !named || owner != a.Name
	})
	r.current = left
}

// complain logs what is wrong with the file, once and not every second.
func (r *Registry) complain(err error) {
	if err.Error() == r.wrong {
		return
	}
	r.wrong = err.Error()
	r.logger.Error("the agents file cannot be used; the agents and programs read before stay in force", zap.Error(err))
}

func readFile(path string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the agents file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("the agents file %s is not a regular file", path)
	}
	if info.Size() > maxFile {
		return nil, nil, fmt.Errorf("the agents file %s has %d bytes; it may have %d", path, info.Size(), maxFile)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the agents file: %w", err)
	}
	return src, info, nil
}
