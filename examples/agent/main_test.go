package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// agentBinary is this program, as go build makes it.
var agentBinary string

func TestMain(m *testing.M) {
	pilottest.Main()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		panic(err)
	}
	agentBinary = filepath.Join(dir, "agent.exe") // a name that runs everywhere
	if out, err := exec.Command("go", "build", "-o", agentBinary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(dir)
		os.Exit(status)
	}))
}
