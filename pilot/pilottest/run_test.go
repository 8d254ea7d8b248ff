package pilottest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// result is what a run of the fake pilotctl printed.
type result struct {
	stdout, stderr string
	status         int
}

// data decodes the object of the success envelope.
func (r result) data(t *testing.T) map[string]any {
	t.Helper()
	var env struct {
		Status string
		Data   map[string]any
	}
	if err := json.Unmarshal([]byte(r.stdout), &env); err != nil || env.Status != "ok" {
		t.Fatalf("not a success: status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
	return env.Data
}

// failure decodes the error envelope.
func (r result) failure(t *testing.T) map[string]any {
	t.Helper()
	var env map[string]any
	if err := json.Unmarshal([]byte(r.stderr), &env); err != nil || env["status"] != "error" {
		t.Fatalf("not an error: status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
	return env
}

// run starts the fake pilotctl as a node's.
func run(t *testing.T, network *pilottest.Network, node pilottest.Node, args ...string) result {
	t.Helper()
	return runEnv(t, network, node.Env(), args...)
}

func runEnv(t *testing.T, network *pilottest.Network, env []string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), network.Binary, args...)
	cmd.Env = env
	cmd.Dir = t.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running pilotctl %q: %v", args, err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}
