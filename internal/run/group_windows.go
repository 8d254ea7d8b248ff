package run

import (
	"os"
	"syscall"
)

// group is a job object that holds the child and all that it starts, or, where
// none could be made, the child alone.
type group struct {
	process *os.Process
	job     syscall.Handle // 0: none
}

var (
	kernel32                 = syscall.NewLazyDLL("kernel32.dll")
	createJobObject          = kernel32.NewProc("CreateJobObjectW")
	assignProcessToJobObject = kernel32.NewProc("AssignProcessToJobObject")
	terminateJobObject       = kernel32.NewProc("TerminateJobObject")
)

// newGroup puts a child that was just started into a job. What the child
// started before that is not in it.
func newGroup(p *os.Process) group {
	g := group{process: p}
	job, _, _ := createJobObject.Call(0, 0)
	if job == 0 {
		return g
	}
	assigned := false
	_ = p.WithHandle(func(handle uintptr) {
		ok, _, _ := assignProcessToJobObject.Call(job, handle)
		assigned = ok != 0
	})
	if !assigned {
		_ = syscall.CloseHandle(syscall.Handle(job))
		return g
	}
	g.job = syscall.Handle(job)
	return g
}

func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// terminate reports that a polite end is not to be had: a program without a
// window has no way to be asked.
func (g group) terminate() bool { return false }

func (g group) kill() {
	if g.job != 0 {
		_, _, _ = terminateJobObject.Call(uintptr(g.job), 1)
		return
	}
	_ = g.process.Kill()
}

// waitLeader returns when the child has ended; os/exec can still wait for it.
func (g group) waitLeader() *os.ProcessState {
	_ = g.process.WithHandle(func(handle uintptr) {
		_, _ = syscall.WaitForSingleObject(syscall.Handle(handle), syscall.INFINITE)
	})
	return nil
}

// reap ends what is left of the job.
func (g group) reap() {
	if g.job == 0 {
		return
	}
	g.kill()
	_ = syscall.CloseHandle(g.job)
}

func exitStatus(s *os.ProcessState) (code int, signal string) {
	if s == nil {
		return -1, ""
	}
	return s.ExitCode(), ""
}

// readNow reads nothing: the pipes of Windows know no deadline, so reading is
// never stopped.
func readNow(syscall.RawConn, []byte) int { return 0 }
