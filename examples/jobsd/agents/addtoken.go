package agents

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/examples/internal/yamlfile"
)

// AddToken makes a token for an agent of the file and adds its hash to it. The
// rest of the file stays as it is, byte for byte. Whoever else adds one at the
// same time is waited for. A file that is a symbolic link stays one.
func AddToken(path, agent string) (token string, err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("reading the agents file: %w", err)
	}
	unlock, err := lock(path)
	if err != nil {
		return "", err
	}
	defer unlock()
	src, info, err := readFile(path)
	if err != nil {
		return "", err
	}
	token = newToken()
	changed, err := withToken(path, src, agent, hashOf(token))
	if err != nil {
		return "", err
	}
	if err := replace(path, changed, info); err != nil {
		return "", err
	}
	return token, nil
}

func unknownAgent(name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("there is no agent %.80q, nor any other", name)
	}
	return fmt.Errorf("there is no agent %.80q; there are %s", name, strings.Join(known, ", "))
}

// withToken returns the file with a hash added to an agent's tokens. Where it
// could stand is guessed from the layout, and the guess is taken that reads back
// as what is wanted: so no layout is changed in its meaning.
func withToken(path string, src []byte, agent string, h hash) ([]byte, error) {
	before, err := decode(path, src)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(before.Agents, func(e entry) bool { return e.Name == agent })
	if i < 0 {
		var known []string
		for _, e := range before.Agents {
			known = append(known, e.Name)
		}
		return nil, unknownAgent(agent, known)
	}
	text := strings.TrimPrefix(string(src), yamlfile.ByteOrderMark)
	tree, err := yamlfile.Parse(path, src)
	if err != nil {
		return nil, err
	}
	mark := string(src[:len(src)-len(text)])
	comment := " # added " + time.Now().Format(time.DateOnly)
	if nodes := agentNodes(tree); i < len(nodes) && nodes[i] != nil {
		for _, e := range tokenEdits(text, nodes[i], h.String(), comment) {
			changed := []byte(mark + e.apply(text))
			after, err := decode(path, changed)
			if err == nil && addsOnly(before, after, i, h.String()) {
				return changed, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: the tokens of agent %q do not stand as a list of their own; write them as one, or tokens: [] for the first", path, agent)
}

// addsOnly tells whether after is before with one more token of agent i.
func addsOnly(before, after file, i int, token string) bool {
	if len(after.Agents) != len(before.Agents) {
		return false
	}
	got, want := after.Agents[i].Tokens, before.Agents[i].Tokens
	j := slices.Index(got, token)
	if j < 0 || !slices.Equal(slices.Delete(slices.Clone(got), j, j+1), want) {
		return false
	}
	restored := file{Agents: slices.Clone(after.Agents)}
	restored.Agents[i].Tokens = want
	return reflect.DeepEqual(restored, before)
}
