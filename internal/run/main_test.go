package run

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// escapeVar makes the test binary a child that starts a process outside its
// group, which keeps stdout open, and ends.
const escapeVar = "FANTASYTOOLS_TEST_ESCAPE"

func TestMain(m *testing.M) {
	if os.Getenv(escapeVar) != "" {
		escape()
		return
	}
	goleak.VerifyTestMain(m)
}

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
