package run

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"
)

// openTerminal returns the two ends of a new pseudo-terminal.
func openTerminal(t *testing.T) (leader, follower *os.File) {
	t.Helper()
	leader, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leader.Close() })
	var locked, number int32
	for request, arg := range map[uintptr]*int32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, leader.Fd(), request, uintptr(unsafe.Pointer(arg))); errno != 0 {
			t.Fatal(errno)
		}
	}
	follower, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = follower.Close() })
	return leader, follower
}

func TestAChildHasNoTerminal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tell := func(attr *syscall.SysProcAttr, stdin *os.File) string {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childVar+"=terminals")
		cmd.SysProcAttr, cmd.Stdin = attr, stdin
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.TrimSpace(out))
	}
	_, follower := openTerminal(t)
	if got := tell(&syscall.SysProcAttr{Setsid: true, Setctty: true}, follower); got != "own true, child false" {
		t.Errorf("of a process with a terminal: %s", got)
	}
	if got := tell(&syscall.SysProcAttr{Setsid: true}, nil); got != "own false, child false" {
		t.Errorf("of a process without a terminal: %s", got)
	}
}
