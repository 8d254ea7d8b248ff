package agents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	dates = regexp.MustCompile(` # added \d{4}-\d\d-\d\d`)
	sums  = regexp.MustCompile(`"sha256:[0-9a-f]{64}"`)
)

func TestATokenIsAddedToAnyLayout(t *testing.T) {
	for _, tc := range []struct{ name, before, after string }{
		{"behind the last line of a list", "agents:\n  - name: me\n    tokens:\n      - a # laptop\n      - b # desk\n    bins: []\n", "agents:\n  - name: me\n    tokens:\n      - a # laptop\n      - b # desk\n      - NEW\n    bins: []\n"},
		{"behind the last line of the file", "agents:\n- tokens:\n  - a\n  name: me\n- name: you\n  tokens:\n  - b", "agents:\n- tokens:\n  - a\n  - NEW\n  name: me\n- name: you\n  tokens:\n  - b"},
		{"at the end of a file without an end of line", "agents:\n- name: me\n  tokens:\n  - a", "agents:\n- name: me\n  tokens:\n  - a\n  - NEW"},
		{"in front of a list that ends in a text of lines", "agents:\n- name: me\n  tokens:\n  - >-\n    a\n", "agents:\n- name: me\n  tokens:\n  - NEW\n  - >-\n    a\n"},
		{"to a file with the line ends of Windows", "agents:\r\n- name: me\r\n  tokens:\r\n  - é\r\n", "agents:\r\n- name: me\r\n  tokens:\r\n  - é\r\n  - NEW\r\n"},
		{"to a list in brackets", "agents: [{name: me, tokens: [é, b ]}]", `agents: [{name: me, tokens: [é, b, "NEW" ]}]`},
		{"to a list in brackets with a comma at its end", "agents:\n- name: me\n  tokens: [a,]\n", "agents:\n- name: me\n  tokens: [a, \"NEW\"]\n"},
		{"to a list in brackets over lines", "agents:\n- name: me\n  tokens: [\n    a, # c\n    b # d\n  ]\n", "agents:\n- name: me\n  tokens: [\n    a, # c\n    b # d\n  , \"NEW\"]\n"},
		{"to a list in brackets over lines that end in commas", "agents:\n- name: me\n  tokens: [\n    a,\n    b, # d\n  ]\n", "agents:\n- name: me\n  tokens: [\n    a,\n    b, # d\n    \"NEW\",\n  ]\n"},
		{"to empty brackets", "agents:\n- name: me\n  tokens: [ ] # none\n", "agents:\n- name: me\n  tokens: [\"NEW\" ] # none\n"},
		{"to a key without a value", "agents:\n- name: me\n  tokens: # none\n  # here\n  bins: []\n", "agents:\n- name: me\n  tokens: # none\n    - NEW\n  # here\n  bins: []\n"},
		{"to a key without a value at the end", "agents:\n- name: me\n  tokens:", "agents:\n- name: me\n  tokens:\n    - NEW"},
		{"to a key with null", "agents:\n- name: me\n  tokens: ~ # none\n", "agents:\n- name: me\n  tokens: [\"NEW\"] # none\n"},
		{"to a key without a value in braces", "agents: [{name: me, tokens: }]", `agents: [{name: me, tokens: ["NEW"] }]`},
		{"where there is no key", "agents:\n  # about me\n  - name: me # that's me\n    bins: []\n  - name: you\n", "agents:\n  # about me\n  - name: me # that's me\n    tokens:\n      - NEW\n    bins: []\n  - name: you\n"},
		{"where there is no key in braces", "agents: [{name: me}]", `agents: [{tokens: ["NEW"], name: me}]`},
		{"to JSON", `{"agents": [{"name": "me"}]}`, `{"agents": [{"tokens": ["NEW"], "name": "me"}]}`},
		{"to a list with an anchor", "agents:\n- name: me\n  tokens: &mine [a]\n", "agents:\n- name: me\n  tokens: &mine [a, \"NEW\"]\n"},
		{"to an agent with an anchor", "agents:\n- &me\n  name: me\n", "agents:\n- &me\n  name: me\n  tokens:\n    - NEW\n"},
		{"to a file with a byte order mark", "\uFEFFagents:\n- name: me\n  tokens: []\n", "\uFEFFagents:\n- name: me\n  tokens: [\"NEW\"]\n"},
		{"behind a text of many lines", "agents:\n- workdir: |-\n    tokens: []\n    - name: me\n  name: me\n", "agents:\n- workdir: |-\n    tokens: []\n    - name: me\n  name: me\n  tokens:\n    - NEW\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := hashOf(newToken())
			got, err := withToken("t", []byte(tc.before), "me", h)
			if err != nil {
				t.Fatal(err)
			}
			shown := dates.ReplaceAllString(strings.ReplaceAll(string(got), h.String(), "NEW"), "")
			if !strings.ContainsAny(tc.after, `"`) {
				shown = strings.ReplaceAll(shown, `"NEW"`, "NEW")
			}
			if diff := cmp.Diff(tc.after, shown); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestATokenIsNotAddedWhereItWouldChangeMore(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"a list that another agent has, too", "agents:\n- {name: you, tokens: &all [a]}\n- {name: me, tokens: *all}\n", "do not stand as a list of their own"},
		{"an agent that stands twice", "agents:\n- &me {name: me}\n- *me\n", "do not stand as a list of their own"},
		{"an agent that is an alias", "agents:\n- {name: you, bins: []}\n- &us {name: us}\n- *us\n", `there is no agent "me"; there are you, us, us`},
		{"an unknown agent", "agents: [{name: you}, {name: us}]", `there is no agent "me"; there are you, us`},
		{"no agents", "agents: []", `there is no agent "me", nor any other`},
		{"what is not YAML", "agents: [", "t: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := withToken("t", []byte(tc.src), "me", hashOf("x"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q and %v, want an error with %q", got, err, tc.want)
			}
		})
	}
}

func TestAddTokenKeepsTheModeAndLeavesNothingBehind(t *testing.T) {
	path := write(t, "agents:\n- name: me\n")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	token, err := AddToken(link, "me")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info, err)
	}
	src, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(src), token) || !strings.Contains(string(src), hashOf(token).String()) {
		t.Errorf("the file is %q, %v", src, err)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(names) != 2 {
		t.Errorf("the directory holds %v, %v", names, err)
	}
	hidden, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(hidden) != 0 {
		t.Errorf("the directory holds %v, %v", hidden, err)
	}
}

func TestAFileThatIsRefusedStaysAsItIs(t *testing.T) {
	path := write(t, "agents: [{name: you}]")
	if _, err := AddToken(path, "me"); err == nil {
		t.Error("a token for an agent that is not there")
	}
	src, err := os.ReadFile(path)
	if err != nil || string(src) != "agents: [{name: you}]" {
		t.Errorf("the file is %q, %v", src, err)
	}
	if _, err := AddToken(filepath.Join(t.TempDir(), "none"), "me"); err == nil || !strings.Contains(err.Error(), "reading the agents file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestTokensThatAreAddedAtOnceAreAllThere(t *testing.T) {
	path := write(t, "agents:\n- name: me\n- {name: you}\n")
	var mu sync.Mutex
	want := map[string][]string{}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			agent := []string{"me", "you"}[i%2]
			for range 5 {
				token, err := AddToken(path, agent)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				want[agent] = append(want[agent], token)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for agent, tokens := range want {
		for _, token := range tokens {
			if a, ok := r.ByToken(token); !ok || a.Name != agent {
				t.Errorf("a token of %s is one of %+v", agent, a)
			}
		}
	}
}

// Whatever a file looks like, its other bytes stay and its other values, or it is
// refused.
func FuzzAddToken(f *testing.F) {
	for _, src := range []string{
		"agents:\n  - name: me\n    tokens:\n      - a # x\n",
		"agents: [{name: me, tokens: [é, b,]}]",
		"agents:\r\n- name: me\r\n  tokens: null\r\n",
		"agents:\n- tokens: # none\n  name: me",
		"agents:\n- name: me\n  tokens: [\n a, # c\n b ]\n- name: you\n",
		"{\"agents\": [{\"name\": \"me\"}]}",
		"agents:\n- &a\n  name: me\n  tokens: !!seq [x]\n",
		"\uFEFFagents:\n- name: >-\n    me\n",
		"agents:\n- ? name\n  : me\n",
	} {
		f.Add(src, "me")
	}
	f.Fuzz(func(t *testing.T, src, agent string) {
		before, err := decode("t", []byte(src))
		h := hashOf("x")
		if strings.Contains(src, h.String()) {
			t.Skip("holds the hash already")
		}
		changed, addErr := withToken("t", []byte(src), agent, h)
		if err != nil || addErr != nil {
			if err != nil && addErr == nil {
				t.Fatal("a file that cannot be read was changed")
			}
			return
		}
		after, err := decode("t", changed)
		if err != nil {
			t.Fatalf("%q became %q: %v", src, changed, err)
		}
		i := slices.IndexFunc(before.Agents, func(e entry) bool { return e.Name == agent })
		if i < 0 || !addsOnly(before, after, i, h.String()) {
			t.Fatalf("%q became %q", src, changed)
		}
		checkBytes(t, src, string(changed))
	})
}

// checkBytes fails the test if more was done to src than to put text with a hash
// in, in place of nothing or of null.
func checkBytes(t *testing.T, src, changed string) {
	t.Helper()
	prefix := 0
	for prefix < min(len(src), len(changed)) && src[prefix] == changed[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < min(len(src), len(changed))-prefix && src[len(src)-1-suffix] == changed[len(changed)-1-suffix] {
		suffix++
	}
	lost := src[prefix : len(src)-suffix]
	if !slices.Contains([]string{"", "~", "null", "Null", "NULL"}, strings.TrimSpace(lost)) {
		t.Fatalf("%q became %q: %q is gone", src, changed, lost)
	}
	if n := len(sums.FindAllString(changed, -1)) - len(sums.FindAllString(src, -1)); n != 1 {
		t.Fatalf("%q became %q: %d hashes more", src, changed, n)
	}
}
