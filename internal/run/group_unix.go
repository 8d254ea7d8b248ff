//go:build unix

package run

import (
	"os"
	"syscall"
)

// group is the process group of a child, which leads it.
type group struct{ process *os.Process }

func newGroup(p *os.Process) group { return group{p} }

// processAttributes makes the child lead a process group, and, where this process
// has a terminal, a session, which takes the terminal from it. A session is not
// made for nothing: Linux schedules each one as a unit (autogroup), which on a busy
// machine makes a short-lived child wait longer for its turn.
func processAttributes() *syscall.SysProcAttr {
	if hasTerminal() {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// hasTerminal reports whether this process has a controlling terminal.
func hasTerminal() bool {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDONLY|syscall.O_NOCTTY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	_ = syscall.Close(fd)
	return true
}

// terminate asks the group to end and reports that this was possible. A stopped
// process handles the signal only once it is continued.
func (g group) terminate() bool {
	_ = syscall.Kill(-g.process.Pid, syscall.SIGTERM)
	_ = syscall.Kill(-g.process.Pid, syscall.SIGCONT)
	return true
}

func (g group) kill() { _ = syscall.Kill(-g.process.Pid, syscall.SIGKILL) }

// reap kills what is left of the group. The ended leader is not waited for yet,
// so the id is still its own.
func (g group) reap() { g.kill() }

func exitStatus(s *os.ProcessState) (code int, signal string) {
	if s == nil {
		return -1, ""
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -1, signalName(ws.Signal())
	}
	return s.ExitCode(), ""
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGABRT: "SIGABRT", syscall.SIGALRM: "SIGALRM", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGHUP: "SIGHUP", syscall.SIGILL: "SIGILL", syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGPROF: "SIGPROF", syscall.SIGQUIT: "SIGQUIT", syscall.SIGSEGV: "SIGSEGV",
	syscall.SIGSYS: "SIGSYS", syscall.SIGTERM: "SIGTERM", syscall.SIGTRAP: "SIGTRAP", syscall.SIGUSR1: "SIGUSR1",
	syscall.SIGUSR2: "SIGUSR2", syscall.SIGVTALRM: "SIGVTALRM", syscall.SIGXCPU: "SIGXCPU", syscall.SIGXFSZ: "SIGXFSZ",
}

func signalName(s syscall.Signal) string {
	if name, ok := signalNames[s]; ok {
		return name
	}
	return s.String()
}

// readNow reads what is there without waiting.
func readNow(conn syscall.RawConn, buf []byte) (n int) {
	_ = conn.Read(func(fd uintptr) bool {
		n, _ = syscall.Read(int(fd), buf)
		return true
	})
	return n
}
