//go:build !unix

package jobstest

import "os/exec"

func ownGroup(*exec.Cmd) {}

// killGroup kills the process only: there are no process groups here.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
