package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a new pseudo-terminal.
func openTerminal(t *testing.T) (far, near *os.File) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	if err := unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(int(far.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	near, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = near.Close() })
	return far, near
}

// onTerminal returns what a scripted run writes to a terminal.
func onTerminal(t *testing.T, env ...string) string {
	t.Helper()
	far, near := openTerminal(t)
	cmd := command(t, "-script", "my.txt")
	writeFiles(t, cmd.Dir, map[string]string{"my.txt": "sh {\"args\":[\"-c\",\"ls\"]}\n\n> There."})
	cmd.Env = append(append(cmd.Env, "TERM=xterm"), env...)
	cmd.Stdout = near
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = near.Close()
	var out bytes.Buffer
	_, _ = io.Copy(&out, far) // ends with EIO when the agent has closed its end
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return out.String()
}

func TestColoursAreForTerminalsThatWantThem(t *testing.T) {
	for _, tc := range []struct {
		name   string
		env    []string
		colour bool
	}{
		{"a terminal", nil, true},
		{"NO_COLOR is set", []string{"NO_COLOR=1"}, false},
		{"NO_COLOR is empty", []string{"NO_COLOR="}, true},
		{"a terminal without colours", []string{"TERM=dumb"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := onTerminal(t, tc.env...)
			if got := strings.Contains(out, "\x1b[1m[1] sh\x1b[0m"); got != tc.colour || strings.Contains(out, "\x1b") != tc.colour {
				t.Errorf("got %q", out)
			}
		})
	}
}
