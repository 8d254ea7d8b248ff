//go:build unix

package pipetest

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Make makes a named pipe in a directory.
func Make(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Ready returns the pipe when a child has written its first line, "ready", to it.
// The pipe reads as ended when all that the child started is gone.
func Ready(t *testing.T, path string, limit time.Duration) *bufio.Reader {
	t.Helper()
	opened := make(chan *os.File, 1)
	go func() {
		// Opened for writing too it would never end; for reading alone it waits for the child.
		pipe, _ := os.Open(path)
		opened <- pipe
	}()
	var pipe *os.File
	select {
	case pipe = <-opened:
	case <-time.After(limit):
		t.Fatal("no child has begun")
	}
	t.Cleanup(func() { _ = pipe.Close() })
	r := bufio.NewReader(pipe)
	if line, err := r.ReadString('\n'); line != "ready\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	return r
}

// Gone fails the test if a process still holds the pipe.
func Gone(t *testing.T, pipe io.Reader, limit time.Duration) {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, pipe)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(limit):
		t.Fatal("a child is still there")
	}
}
