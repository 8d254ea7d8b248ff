package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAnIdleDaemonIsSmallAndStartsFast measures the program as it is deployed. A
// moment in which the machine is busy may spoil a measurement: the best of three
// counts.
func TestAnIdleDaemonIsSmallAndStartsFast(t *testing.T) {
	program := build(t, ".")
	start, memory := time.Hour, 1<<30
	for range 3 {
		s := newSite(t)
		began := time.Now()
		c := launchProgram(t, program, "", "serving", "serve", "-state", filepath.Join(s.dir, "state"), "-agents", s.agentsFile)
		start = min(start, time.Since(began))
		memory = min(memory, residentKiB(t, c.Process.Pid))
		c.stop(t)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("it starts in %v, takes %d KiB and has a file of %d bytes", start.Round(time.Millisecond), memory, info.Size())
	if start >= time.Second || memory >= 60_000 {
		t.Errorf("it starts in %v and takes %d KiB; a second and 60,000 are the bounds", start, memory)
	}
}

func residentKiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := bytes.Cut(status, []byte("VmRSS:"))
	var n int
	if _, err := fmt.Sscan(string(after), &n); err != nil {
		t.Fatal(err)
	}
	return n
}
