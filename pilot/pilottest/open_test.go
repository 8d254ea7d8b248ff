package pilottest_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

func TestOpenGoesOnWithTheNetworkThatLivesThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, pilottest.Config{Dir: dir, Generation: pilottest.V12})
	first.AddNode(pilottest.Node{Name: "me"})
	second := open(t, pilottest.Config{Dir: dir})
	second.AddNode(pilottest.Node{Name: "bob"})
	second.Trust("me", "bob")
	if !first.Trusts("bob", "me") {
		t.Error("the two do not see the same network")
	}
}

func open(t *testing.T, c pilottest.Config) *pilottest.Network {
	t.Helper()
	n, err := pilottest.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(n.Err(), n.Close()); err != nil {
			t.Error(err)
		}
	})
	return n
}

func TestOpenRefusesWhatItCannotMake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]pilottest.Config{
		"no directory":       {},
		"unknown generation": {Dir: t.TempDir(), Generation: "2.0"},
	} {
		if n, err := pilottest.Open(c); err == nil {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

func TestErrorsOfAnOpenedNetworkAreKept(t *testing.T) {
	t.Parallel()
	n, err := pilottest.Open(pilottest.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	n.AddNode(pilottest.Node{Name: "me"})
	n.Trust("me", "nobody")
	n.AddNode(pilottest.Node{Name: "../up"})
	if err := n.Err(); err == nil || err.Error() != `making trust: the network has no node "nobody"` {
		t.Errorf("%v", err)
	}
}

func TestNodesAreRefusedThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]pilottest.Node{
		"no name":            {},
		"a path":             {Name: "a/b"},
		"a name twice":       {Name: "me"},
		"a number twice":     {Name: "x", ID: 1},
		"unknown generation": {Name: "y", Generation: "3"},
	} {
		n, err := pilottest.Open(pilottest.Config{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		n.AddNode(pilottest.Node{Name: "me"})
		if n.Err() != nil {
			t.Fatal(n.Err())
		}
		if n.AddNode(spec); n.Err() == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestTheFakeIsFoundInPATHToo(t *testing.T) {
	n, me := smallNetwork(t, pilottest.V116)
	dir := t.TempDir()
	path := n.Install(dir)
	t.Setenv("PATH", dir)
	if found, err := exec.LookPath("pilotctl"); err != nil || found != path {
		t.Fatalf("%s, %v", found, err)
	}
	cmd := exec.CommandContext(t.Context(), "pilotctl", "find", "bob", "--json")
	cmd.Env = []string{"HOME=" + me.Home, "PATH=" + dir}
	if out, err := cmd.Output(); err != nil || len(out) == 0 {
		t.Errorf("%s, %v", out, err)
	}
}

func TestTheProgramOfItsOwnAnswersLikeTheTestBinary(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "pilotctl")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/pilotctl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := open(t, pilottest.Config{Dir: t.TempDir(), Binary: binary})
	me := n.AddNode(pilottest.Node{Name: "me"})
	if data := run(t, n, me, "find", "me", "--json").data(t); data["node_id"] != 1.0 {
		t.Errorf("%v", data)
	}
	if r := runEnv(t, n, []string{"HOME=" + t.TempDir()}, "find", "me", "--json"); r.status != 70 || r.stdout != "" {
		t.Errorf("without a network: %+v", r)
	}
}
