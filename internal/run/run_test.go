//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon bounds what should be immediate, on a loaded machine.
const soon = 20 * time.Second

func sh(script string) Command {
	return Command{
		Path: "/bin/sh", Args: []string{"-c", script}, Dir: "/", Env: os.Environ(),
		Head: 1 << 10, Tail: 1 << 10,
	}
}

func mustRun(t *testing.T, ctx context.Context, c Command) *Result {
	t.Helper()
	began := time.Now()
	res, err := Run(ctx, c)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	if d := time.Since(began); d > soon {
		t.Errorf("took %v", d)
	}
	return res
}

// alive reports whether the process exists and is not a zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// awaitState waits until the process whose id the file holds is in a state, as
// /proc names it; without /proc, until there is an id.
func awaitState(file, state string) {
	for ; ; time.Sleep(time.Millisecond) {
		pid, err := os.ReadFile(file)
		if err != nil || len(pid) == 0 || pid[len(pid)-1] != '\n' {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
		if _, rest, _ := strings.Cut(string(stat), ") "); err != nil || strings.HasPrefix(rest, state) {
			return
		}
	}
}

// waitGone waits until init has taken the process.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(soon); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

func pidFrom(t *testing.T, out Output) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(string(out.Head)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestRunTellsHowAChildEnded(t *testing.T) {
	for _, tc := range []struct {
		name, script, stdout, stderr string
		code                         int
		signal                       string
	}{
		{"success", "echo out; echo err >&2", "out\n", "err\n", 0, ""},
		{"an exit code", "echo partial; exit 3", "partial\n", "", 3, ""},
		{"a signal", "kill -9 $$", "", "", -1, "SIGKILL"},
		{"another signal", "kill -SEGV $$", "", "", -1, "SIGSEGV"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := mustRun(t, t.Context(), sh(tc.script))
			if res.ExitCode != tc.code || res.Signal != tc.signal {
				t.Errorf("got %d %q, want %d %q", res.ExitCode, res.Signal, tc.code, tc.signal)
			}
			if string(res.Stdout.Head) != tc.stdout || string(res.Stderr.Head) != tc.stderr {
				t.Errorf("got %q, %q", res.Stdout.Head, res.Stderr.Head)
			}
			if res.TimedOut || res.Cancelled || res.GivenUp || res.Duration <= 0 {
				t.Errorf("got %+v", res)
			}
		})
	}
}

func TestABackgroundChildDoesNotDelayTheResultAndIsKilled(t *testing.T) {
	res := mustRun(t, t.Context(), sh("sleep 300 & echo $!"))
	if res.ExitCode != 0 {
		t.Errorf("exit code %d", res.ExitCode)
	}
	waitGone(t, pidFrom(t, res.Stdout))
}

func TestAProcessThatLeftTheGroupDoesNotDelayTheResult(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := sh("")
	c.Path, c.Args, c.Env = self, nil, append(os.Environ(), childVar+"=escape")
	res := mustRun(t, t.Context(), c)
	pid := pidFrom(t, res.Stdout)
	defer syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
	if res.ExitCode != 0 || res.Duration < pipeDelay {
		t.Errorf("got %+v; the pipe was still open", res)
	}
}

func TestCancelEndsAChildThatIgnoresTheSignal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := sh("trap '' TERM INT; echo $$ >pid; while :; do sleep 1; done")
	c.Dir, c.Grace = t.TempDir(), 50*time.Millisecond
	go func() {
		defer cancel()
		for {
			if b, err := os.ReadFile(filepath.Join(c.Dir, "pid")); err == nil && len(b) > 0 {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	res := mustRun(t, ctx, c)
	if !res.Cancelled || res.TimedOut || res.Signal != "SIGKILL" {
		t.Errorf("got %+v, want cancelled by SIGKILL", res)
	}
}

func TestTimeoutLetsAChildEndPolitely(t *testing.T) {
	c := sh("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done")
	c.Timeout, c.Grace = 3*time.Second, soon // more than a shell needs to start
	res := mustRun(t, t.Context(), c)
	if !res.TimedOut || res.Cancelled || res.ExitCode != 7 || string(res.Stdout.Head) != "ready\nbye\n" {
		t.Errorf("got %+v, stdout %q", res, res.Stdout.Head)
	}
}

func TestAStoppedChildEnds(t *testing.T) {
	c := sh("trap 'exit 7' TERM; echo $$ >pid; kill -STOP $$")
	c.Dir, c.Grace = t.TempDir(), soon
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		awaitState(filepath.Join(c.Dir, "pid"), "T")
	}()
	if res := mustRun(t, ctx, c); res.ExitCode != 7 || !res.Cancelled {
		t.Errorf("got %+v, want the child's own end", res)
	}
}

func TestANegativeGraceKillsAtOnce(t *testing.T) {
	c := sh("trap 'exit 0' TERM; while :; do sleep 0.01; done")
	c.Timeout, c.Grace = 100*time.Millisecond, -1
	if res := mustRun(t, t.Context(), c); res.Signal != "SIGKILL" {
		t.Errorf("got %+v, want an end by SIGKILL", res)
	}
}

func TestAnEndedContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := sh("touch made")
	c.Dir = t.TempDir()
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "made")); err == nil {
		t.Error("the child ran")
	}
}

// Both cases are ready, and a select would take either; 50 times one is not
// chance.
func TestAChildThatHasEndedByItselfWasNotStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		c := sh("exit 3")
		c.Timeout = time.Nanosecond
		p, err := spawn(c)
		if err != nil {
			t.Fatal(err)
		}
		<-p.ended
		res := &Result{}
		p.await(ctx, c, res)
		if res.Cancelled || res.TimedOut || res.ExitCode != 3 {
			t.Fatalf("got %+v, want exit code 3 and no more", res)
		}
	}
}

// What no signal reaches, such as a program of another user, must not hold the
// call. Here the signals go to a process that is not there.
func TestAChildThatCannotBeKilledIsGivenUp(t *testing.T) {
	t.Parallel()
	c := sh("echo partial; exec sleep 300")
	c.Timeout, c.Grace = 100*time.Millisecond, -1
	p, err := spawn(c)
	if err != nil {
		t.Fatal(err)
	}
	child := p.group
	p.group = group{process: &os.Process{Pid: 1 << 30}}
	res := &Result{}
	p.await(t.Context(), c, res)
	if !res.GivenUp || !res.TimedOut {
		t.Errorf("got %+v", res)
	}
	if out := p.stdout.output(); string(out.Head) != "partial\n" {
		t.Errorf("got %q", out.Head)
	}
	child.kill() // so that the goroutine that waits for it ends
}

func TestStdin(t *testing.T) {
	for _, tc := range []struct {
		name, script, stdin, want string
		code                      int
	}{
		{"arrives whole", "cat", strings.Repeat("x", 300), strings.Repeat("x", 300), 0},
		{"is empty when none is given", "cat", "", "", 0},
		{"larger than a pipe does not block on output", "cat", strings.Repeat("y", 4<<20), "", 0},
		{"that is not read is no failure", "exit 0", strings.Repeat("z", 4<<20), "", 0},
		{"that is not read does not hide the exit code", "exit 1", strings.Repeat("z", 4<<20), "", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := sh(tc.script)
			c.Stdin = tc.stdin
			res := mustRun(t, t.Context(), c)
			if res.ExitCode != tc.code {
				t.Errorf("exit code %d, want %d", res.ExitCode, tc.code)
			}
			if tc.script == "cat" && res.Stdout.Size() != int64(len(tc.stdin)) {
				t.Errorf("%d bytes came back of %d", res.Stdout.Size(), len(tc.stdin))
			}
			if tc.want != "" && string(res.Stdout.Head) != tc.want {
				t.Errorf("got %q", res.Stdout.Head)
			}
		})
	}
}

// The test's own standard input is the null device more often than not, so a
// child that inherited it would not show.
func TestTheHostsStdinIsNotRead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func(old *os.File) {
		os.Stdin = old
		_, _ = r.Close(), w.Close()
	}(os.Stdin)
	os.Stdin = r
	if _, err := w.WriteString("the host's"); err != nil {
		t.Fatal(err)
	}
	c := sh("cat -")
	c.Timeout = soon
	if res := mustRun(t, t.Context(), c); res.TimedOut || res.Stdout.Size() != 0 {
		t.Errorf("got %+v", res)
	}
	_ = w.Close() // so that the read ends even if the child has taken all
	rest := make([]byte, 20)
	if n, err := r.Read(rest); err != nil || string(rest[:n]) != "the host's" {
		t.Errorf("the host reads %q, %v", rest[:n], err)
	}
}

func TestStartErrorsNameWhatIsAtFault(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gone := filepath.Join(dir, "gone")
	for _, tc := range []struct {
		name string
		c    Command
		want string
	}{
		{"a missing program", Command{Path: gone, Dir: dir}, "the program " + gone + " does not exist"},
		{"a missing working directory", Command{Path: "/bin/sh", Dir: gone}, "the working directory " + gone + " does not exist"},
		{"a working directory that is a file", Command{Path: "/bin/sh", Dir: write("file", "", 0o644)}, "is not a directory"},
		{"a directory as program", Command{Path: dir, Dir: dir}, dir + " is a directory, not a program"},
		{"a file without permission", Command{Path: write("plain", "#!/bin/sh\n", 0o644), Dir: dir}, "may not be executed by this user (file mode -rw-r--r--)"},
		{"a script with a missing interpreter", Command{Path: write("script", "#!/no/such -x\n", 0o755), Dir: dir}, "its interpreter /no/such"},
		{"a script whose interpreter is not executable", Command{Path: write("script2", "#!"+write("interpreter", "", 0o644)+"\n", 0o755), Dir: dir}, "its interpreter " + dir + "/interpreter (named in its first line) cannot be executed"},
		{"a script whose interpreter is a directory", Command{Path: write("script3", "#!"+dir+"\n", 0o755), Dir: dir}, "its interpreter " + dir + " (named"},
		{"a script with Windows line ends", Command{Path: write("dos", "#!/bin/sh\r\n", 0o755), Dir: dir}, "Windows line ends"},
		{"a file that is no program", Command{Path: write("text", "hello", 0o755), Dir: dir}, "not in a format that this system runs"},
		{"a too long argument", Command{Path: "/bin/echo", Args: []string{"a", strings.Repeat("a", 131072)}, Dir: dir}, "one argument is 131072 bytes long, over the system's limit of 131071; pass long text in stdin"},
		{"a too long variable", Command{Path: "/bin/echo", Args: []string{"a"}, Env: []string{"A=" + strings.Repeat("a", 131072)}, Dir: dir}, "a variable of the tool's environment is 131074 bytes long, over the system's limit of 131071"},
		{"too many arguments", Command{Path: "/bin/echo", Args: strings.Split(strings.Repeat("0123456789 ", 1<<20), " "), Dir: dir}, "bytes long together, over the system's limit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, err := Run(t.Context(), tc.c)
			var start *StartError
			if !errors.As(err, &start) || res != nil {
				t.Fatalf("got %v, %v, want a StartError", res, err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q, want it to contain %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "fork/exec") {
				t.Errorf("%q speaks of system calls", err)
			}
		})
	}
}

func TestALongestArgumentWorks(t *testing.T) {
	c := sh("")
	c.Path, c.Args = "/bin/echo", []string{strings.Repeat("a", 131071)}
	if res := mustRun(t, t.Context(), c); res.Stdout.Size() != 131072 {
		t.Errorf("%d bytes came back", res.Stdout.Size())
	}
}

// A file that is open for writing cannot be executed. The writer here closes it
// while Run tries.
func TestAProgramThatIsBeingWrittenIsTriedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	body, err := os.ReadFile("/bin/echo")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, body, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := spawn(Command{Path: path}); !errors.Is(err, syscall.ETXTBSY) {
		t.Fatalf("got %v, want the file to be busy", err)
	}
	time.AfterFunc(time.Millisecond, func() { _ = f.Close() })
	if res := mustRun(t, t.Context(), Command{Path: path, Args: []string{"hi"}, Head: 10}); string(res.Stdout.Head) != "hi\n" {
		t.Errorf("got %q", res.Stdout.Head)
	}
}

func TestTheEnvironmentIsWhatIsGiven(t *testing.T) {
	res := mustRun(t, t.Context(), Command{Path: "/usr/bin/env", Env: nil, Dir: "/", Head: 100})
	if res.Stdout.Size() != 0 {
		t.Errorf("an empty environment shows %q", res.Stdout.Head)
	}
	res = mustRun(t, t.Context(), Command{Path: "/usr/bin/env", Env: []string{"A=b"}, Dir: "/", Head: 100})
	if string(res.Stdout.Head) != "A=b\n" {
		t.Errorf("got %q", res.Stdout.Head)
	}
}
