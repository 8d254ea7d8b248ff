//go:build unix

package agents

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fantasytools/fantasytools/tool"
)

// clock is a registry's time.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

// passSecond is when a registry looks at its file again.
func (c *clock) passSecond() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(reloadAfter)
}

// open returns a registry whose time stands still.
func open(t *testing.T, path string) (*Registry, *clock, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	r, err := Open(path, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{t: time.Now().Add(time.Hour)} // so that no file is too new for its time to tell
	r.now = c.now
	r.checked = c.now()
	return r, c, logs
}

func rewrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestATokenThatIsAddedIsKnownAtOnce(t *testing.T) {
	path := write(t, "agents: [{name: me}]")
	r, _, _ := open(t, path)
	if _, ok := r.ByToken("jobsd_wrong"); ok {
		t.Fatal("a wrong token is known")
	}
	token, err := AddToken(path, "me")
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := r.ByToken(token); !ok || a.Name != "me" {
		t.Errorf("got %+v, %v", a, ok)
	}
}

func TestATokenWhoseLineIsDeletedIsRevokedWithinASecond(t *testing.T) {
	path := write(t, "agents: [{name: me}]")
	token, err := AddToken(path, "me")
	if err != nil {
		t.Fatal(err)
	}
	r, clock, _ := open(t, path)
	rewrite(t, path, "agents: [{name: me}]")
	if _, ok := r.ByToken(token); !ok {
		t.Error("the file was read although no second has passed")
	}
	clock.passSecond()
	if _, ok := r.ByToken(token); ok {
		t.Error("the token is still known")
	}
	if _, ok := r.ByName("me"); !ok {
		t.Error("the agent is gone")
	}
}

func TestAllAgentsMayBeDeleted(t *testing.T) {
	path := write(t, "agents: [{name: me}]")
	r, clock, _ := open(t, path)
	rewrite(t, path, "agents: []")
	clock.passSecond()
	if _, ok := r.ByName("me"); ok {
		t.Error("the agent is still there")
	}
}

func TestAWrongVersionIsLoggedOnceAndTheOneBeforeStays(t *testing.T) {
	path := write(t, "agents: [{name: me, bins: [{name: sh, binary: sh}]}]")
	token, err := AddToken(path, "me")
	if err != nil {
		t.Fatal(err)
	}
	right, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, clock, logs := open(t, path)
	for _, breakIt := range []func(){
		func() { rewrite(t, path, "agents: [") },
		func() { rewrite(t, path, strings.Replace(string(right), "binary: sh", "binary: ./gone", 1)) },
		func() { _ = os.Remove(path) },
	} {
		breakIt()
		for range 3 {
			clock.passSecond()
			a, ok := r.ByToken(token)
			if !ok || a.Bins["sh"] == nil {
				t.Fatalf("the version before is not in force: %+v", a)
			}
		}
		if got := logs.FilterLevelExact(zap.ErrorLevel).TakeAll(); len(got) != 1 || !strings.Contains(got[0].Message, "cannot be used") {
			t.Errorf("logged: %v", got)
		}
		logs.TakeAll()
		rewrite(t, path, string(right))
		clock.passSecond()
		if _, ok := r.ByToken(token); !ok {
			t.Error("the right version is not read")
		}
		logs.TakeAll()
	}
}

func TestATokenIsRevokedByAVersionThatIsWrongElsewhere(t *testing.T) {
	path := write(t, "agents: [{name: me, bins: [{name: sh, binary: sh}]}, {name: you}]")
	mine, err := AddToken(path, "me")
	if err != nil {
		t.Fatal(err)
	}
	yours, err := AddToken(path, "you")
	if err != nil {
		t.Fatal(err)
	}
	r, clock, _ := open(t, path)
	rewrite(t, path, "agents: [{name: me, bins: [{name: sh, binary: ./gone}]}, {name: you, tokens: ['"+hashOf(yours).String()+"']}]")
	clock.passSecond()
	if _, ok := r.ByToken(mine); ok {
		t.Error("the token that was deleted is still known")
	}
	if _, ok := r.ByToken(yours); !ok {
		t.Error("the token that was kept is not known")
	}
	if a, _ := r.ByName("me"); a == nil || a.Bins["sh"] == nil {
		t.Error("the agent of the version before is gone")
	}
}

func TestAChangeWithinTheGrainOfTheClockIsSeen(t *testing.T) {
	path := write(t, "agents: [{name: me}]")
	r, clock, _ := open(t, path)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	clock.t, r.checked = before.ModTime(), before.ModTime()
	rewrite(t, path, "agents: [{name: yo}]")
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	clock.passSecond()
	if _, ok := r.ByName("yo"); !ok {
		t.Error("the change was not seen")
	}
}

func TestARegistryInMemory(t *testing.T) {
	dir := t.TempDir()
	own := executableFile(t, filepath.Join(dir, "own"))
	r, err := New(Agent{Name: "me", Bins: map[string]*Bin{"own": {Def: tool.Def{Binary: "./own", Timeout: time.Minute}, Dir: dir}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(Agent{Name: "you", Capabilities: []string{}}); err != nil {
		t.Fatal(err)
	}
	token, err := r.Token("me")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(token, "jobsd_") || len(token) != len("jobsd_")+43 {
		t.Errorf("the token is %q", token)
	}
	me, ok := r.ByToken(token)
	want := &Agent{Name: "me", Bins: map[string]*Bin{"own": {Def: tool.Def{Name: "own", Binary: "./own", Timeout: time.Minute}, Path: own, Dir: dir}}}
	if diff := cmp.Diff(want, me); diff != "" || !ok {
		t.Errorf("-want +got:\n%s", diff)
	}
	you, ok := r.ByName("you")
	if !ok || you.Can(Submit) {
		t.Errorf("an agent without capabilities: %+v", you)
	}
	_, err = r.Token("us")
	if err == nil || err.Error() != `there is no agent "us"; there are me, you` {
		t.Errorf("a token for nobody: %v", err)
	}
}

func TestARegistryInMemoryRefuses(t *testing.T) {
	for _, tc := range []struct {
		name  string
		agent Agent
		want  string
	}{
		{"an empty name", Agent{}, "the name is empty"},
		{"a name that is there", Agent{Name: "me"}, "another one of this name"},
		{"an unknown capability", Agent{Name: "a", Capabilities: []string{"all"}}, `the capability "all" is not known`},
		{"a Bin that is nil", Agent{Name: "a", Bins: map[string]*Bin{"x": nil}}, `tool "x": there is no Bin`},
		{"two names for one Bin", Agent{Name: "a", Bins: map[string]*Bin{"x": {Def: tool.Def{Name: "y", Binary: "sh"}}}}, `has the name "y"`},
		{"a program that is not there", Agent{Name: "a", Bins: map[string]*Bin{"x": {Def: tool.Def{Binary: "./gone"}}}}, `agent "a": tool "x": the binary`},
		{"a relative Path", Agent{Name: "a", Bins: map[string]*Bin{"x": {Path: "sh"}}}, "is not absolute"},
		{"a Dir that is not there", Agent{Name: "a", Bins: map[string]*Bin{"x": {Def: tool.Def{Binary: "sh"}, Dir: "/nowhere/at/all"}}}, "does not exist"},
		{"a bad name of a Bin", Agent{Name: "a", Bins: map[string]*Bin{"x y": {Def: tool.Def{Binary: "sh"}}}}, "the name may hold only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := New(Agent{Name: "me"})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Add(tc.agent); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got the error %v, want one with %q", err, tc.want)
			}
			if got := r.Names(); len(got) != 1 {
				t.Errorf("the agents are %v", got)
			}
		})
	}
	if _, err := New(Agent{}, Agent{Name: "b.c"}); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two problems: %v", err)
	}
}

func TestTheAgentsOfAFileAreChangedThere(t *testing.T) {
	r, err := Open(write(t, "agents: [{name: me}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(Agent{Name: "you"}); err == nil || !strings.Contains(err.Error(), "agents.yaml") {
		t.Errorf("Add: %v", err)
	}
	if _, err := r.Token("me"); err == nil || !strings.Contains(err.Error(), "jobsd token") {
		t.Errorf("Token: %v", err)
	}
}

func TestTheTimeoutOfABinIsTheLesserOne(t *testing.T) {
	for _, tc := range []struct{ def, limit, want time.Duration }{
		{0, 0, 0}, {0, time.Hour, time.Hour}, {-1, time.Hour, time.Hour}, {-1, 0, 0},
		{time.Minute, 0, time.Minute}, {time.Minute, time.Hour, time.Minute}, {2 * time.Hour, time.Hour, time.Hour}, {time.Minute, -1, time.Minute},
	} {
		b := Bin{Def: tool.Def{Timeout: tc.def}}
		if got := b.Timeout(tc.limit); got != tc.want {
			t.Errorf("%v of at most %v: got %v, want %v", tc.def, tc.limit, got, tc.want)
		}
	}
}

func TestARegistryIsUsedByManyWhileItsFileChanges(t *testing.T) {
	path := write(t, "agents:\n  - name: me\n")
	r, _, _ := open(t, path)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				token, err := AddToken(path, "me")
				if err != nil {
					t.Error(err)
					return
				}
				if _, ok := r.ByToken(token); !ok {
					t.Error("a token that was just added is not known")
				}
				r.ByName("me")
				r.Names()
			}
		})
	}
	wg.Wait()
}
