//go:build linux || darwin

package run

import (
	"os"
	"syscall"
	"unsafe"
)

// pPID is P_PID of waitid(2), the same on Linux and macOS.
const pPID = 1

// waitLeader returns when the leader has ended, and leaves it a zombie: its id,
// which is the group's, cannot be given to another process before it is
// waited for.
func (g group) waitLeader() *os.ProcessState {
	var info [128]byte // siginfo_t, which nobody reads
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(g.process.Pid),
			uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return nil
		}
	}
}
