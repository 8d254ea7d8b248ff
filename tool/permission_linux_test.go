package tool

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"charm.land/fantasy"
)

// TestAWorkDirThatMayNotBeEnteredIsNamed closes the directory after the tools are
// loaded. The superuser may enter everything, so its test runs the tool on a thread
// that has another user's rights to files, which the child inherits.
func TestAWorkDirThatMayNotBeEnteredIsNamed(t *testing.T) {
	dir, err := os.MkdirTemp("", "closed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	tools, err := LoadTools([]Def{{Name: "sh", Description: "A shell.", Binary: "/bin/sh"}}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	answers := make(chan fantasy.ToolResponse)
	go func() {
		defer close(answers)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if os.Getuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				t.Error(err)
				return
			}
		}
		resp, err := callWith(t, t.Context(), tools[0], script("echo ran"))
		if err != nil {
			t.Errorf("a Go error: %v", err)
		}
		answers <- resp
	}()
	resp := <-answers
	if want := "the working directory " + dir + " cannot be entered: permission denied"; !resp.IsError || !strings.Contains(resp.Content, want) {
		t.Errorf("got %q, want it to contain %q", resp.Content, want)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if resp := call(t, tools[0], script("echo ran")); resp.Content != "ran\n" {
		t.Errorf("once it is open again: %q", resp.Content)
	}
}
