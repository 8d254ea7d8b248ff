package pilottest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
)

// programName is what the fake program is called, besides .exe on Windows.
const programName = "pilotctl"

// mainCalled keeps a test binary that lacks the call of Main from running its
// tests again and again in the place of pilotctl.
var mainCalled atomic.Bool

// Main makes the program that calls it act as pilotctl when it was started
// under that name by way of a link which a Network made; Main does not return
// then. Otherwise it returns at once. Call it first in TestMain, or in main.
func Main() {
	mainCalled.Store(true)
	program := invokedPath()
	if strings.TrimSuffix(filepath.Base(program), ".exe") != programName {
		return
	}
	if _, ok := readMarker(filepath.Dir(program)); !ok {
		return
	}
	// A binary built with -race would sleep for a second in os.Exit.
	syscall.Exit(runProcess(program))
}

// Pilotctl acts as pilotctl whatever the program is called, and returns the
// exit status. It is for programs that are nothing else; the network is found
// by HOME or PILOT_SOCKET.
func Pilotctl() int { return runProcess(invokedPath()) }

// invokedPath is the program's path without following links.
func invokedPath() string {
	if len(os.Args) == 0 {
		return ""
	}
	name := os.Args[0]
	if filepath.Base(name) == name {
		if found, err := exec.LookPath(name); err == nil {
			name = found
		}
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	return abs
}

func runProcess(program string) int {
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	p := &process{
		argv: os.Args[1:], env: os.Environ(), dir: dir,
		stdin: newInput(os.Stdin), stdout: os.Stdout, stderr: os.Stderr,
	}
	return p.run(program)
}
