package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a new pseudo-terminal of that many columns.
func openTerminal(t *testing.T, columns uint16) (far, near *os.File) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	if err := unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(far.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
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

// onTerminal returns what the program writes to a terminal.
func onTerminal(t *testing.T, columns uint16, env []string, args ...string) string {
	t.Helper()
	far, near := openTerminal(t, columns)
	cmd := process(t, args...)
	cmd.Env = append(append(cmd.Env, "TERM=xterm"), env...)
	cmd.Stdout, cmd.Stderr = near, near
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = near.Close()
	var out bytes.Buffer
	_, _ = io.Copy(&out, far) // ends with EIO when the program has closed its end
	_ = cmd.Wait()            // what it printed is looked at
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

func TestColoursAreForTerminalsThatWantThem(t *testing.T) {
	machine(t, "sh", "grep", "find", "wc", "sort", "head", "git")
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
		for _, args := range [][]string{{"list"}, {"doctor"}, {"call", "sh", `{"args":["-c","echo a"]}`}} {
			t.Run(tc.name+", "+args[0], func(t *testing.T) {
				out := onTerminal(t, 80, tc.env, args...)
				if got := strings.Contains(out, "\x1b["); got != tc.colour {
					t.Errorf("got %q", out)
				}
			})
		}
	}
	if out := onTerminal(t, 80, nil, "schema", "sh"); strings.Contains(out, "\x1b") {
		t.Errorf("JSON is coloured: %q", out)
	}
}

func TestTheListFitsTheTerminal(t *testing.T) {
	everything(t)
	widest := 0
	for _, columns := range []uint16{60, 80, 200} {
		out := onTerminal(t, columns, nil, "list", "-tools", "my.yaml")
		for line := range strings.Lines(out) {
			n := ansi.StringWidth(strings.TrimSuffix(line, "\n"))
			if widest = max(widest, n); n > int(columns) {
				t.Errorf("%d of %d columns: %q", n, columns, line)
			}
		}
	}
	if widest <= 80 {
		t.Errorf("a wide terminal is not used: %d columns", widest)
	}
}

func TestAReaderOnTheTerminalIsToldToWrite(t *testing.T) {
	machine(t, "sh")
	far, near := openTerminal(t, 80)
	cmd := process(t, "call", "sh", "-")
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = near, &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := far.WriteString("{\"args\":[\"-c\",\"echo a\"]}\n\x04"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || stdout.String() != "a\n" || !strings.Contains(stderr.String(), "Ctrl-D ends it") {
		t.Errorf("%v, stdout %q, stderr %q", err, stdout.String(), stderr.String())
	}
}
