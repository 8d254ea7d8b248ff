//go:build unix && !linux && !darwin

package run

import "os"

// waitLeader waits for the leader. These systems offer the syscall package no
// way to leave it a zombie, so the group is killed a moment after its id is
// free.
func (g group) waitLeader() *os.ProcessState {
	state, _ := g.process.Wait()
	return state
}
