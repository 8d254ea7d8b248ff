package pilot

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	pilottest.Main()
	_ = flag.Set("test.parallel", "6")        // most tests wait for processes, not for a processor
	_ = os.Setenv("PILOT_ADMIN_TOKEN", token) // for the broadcasts of tests that run side by side
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pilot-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if build, err = builder(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// build makes a program of the fake pilotctl once: it starts ten times faster
// than the test binary would.
var build func() (string, error)

// builder keeps the environment and the directory in which the tests started:
// the test that builds may have changed both.
func builder(into string) (func() (string, error), error) {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return nil, err
	}
	from, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	env := os.Environ()
	return sync.OnceValues(func() (string, error) {
		path := filepath.Join(into, "pilotctl"+exeSuffix())
		cmd := exec.Command(compiler, "build", "-o", path, "./pilottest/cmd/pilotctl")
		cmd.Dir, cmd.Env = from, env
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building the fake pilotctl: %w: %s", err, out)
		}
		return path, nil
	}), nil
}

func fakePilotctl(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
