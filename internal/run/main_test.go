//go:build unix

package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// childVar makes the test binary one of the children that tests run.
const childVar = "FANTASYTOOLS_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVar) {
	case "escape":
		escape()
	case "terminals":
		tellTerminals()
	default:
		goleak.VerifyTestMain(m)
	}
}

// escape starts a process outside its group, which keeps stdout open, and ends.
func escape() {
	cmd := exec.Command("sleep", "300")
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = processAttributes()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(cmd.Process.Pid)
}

// tellTerminals tells whether this process has a terminal, and whether a child
// of Run has one.
func tellTerminals() {
	res, err := Run(context.Background(), Command{
		Path: "/bin/sh", Args: []string{"-c", "exec 2>/dev/null; : </dev/tty"}, Dir: "/", Env: os.Environ(),
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("own %v, child %v\n", hasTerminal(), res.ExitCode == 0)
}
