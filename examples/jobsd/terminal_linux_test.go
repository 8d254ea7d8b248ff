package main

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

const hostile = "\x1b]0;owned\x07\x1b[31mred\u009b2J\u202eback\x7f\r\tüber"

// terminal opens a terminal that changes nothing of what is written.
func terminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	var n, unlocked uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCGPTN: &n, syscall.TIOCSPTLCK: &unlocked} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return screen, tty
}

func TestWhatAJobWroteDoesNotSteerATerminal(t *testing.T) {
	screen, tty := terminal(t)
	if err := show(tty, hostile+"."); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1000)
	n, err := screen.Read(buf)
	if want := "\ufffd]0;owned\ufffd\ufffd[31mred\ufffd2J\ufffdback\ufffd\ufffd\tüber."; err != nil || string(buf[:n]) != want {
		t.Errorf("got %q, %v; want %q", buf[:n], err, want)
	}
}

func TestWhatAJobWroteIsLeftAsItIsElsewhere(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	defer w.Close() //nolint:errcheck // it is a pipe
	if err := show(w, hostile); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1000)
	if n, err := r.Read(buf); err != nil || string(buf[:n]) != hostile {
		t.Errorf("got %q, %v", buf[:n], err)
	}
}
