//go:build linux

package tool

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"charm.land/fantasy"
)

// The scripts write to both streams at once, so that neither can be drained
// before the other. The measuring process is one of its own, whose peak no other
// test has raised.
func TestOutputOfAnySizeTakesAFixedAmountOfMemory(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const gib2 = 2 << 30
	for _, tc := range []struct{ name, script string }{
		{"2 GiB of text on each stream", fmt.Sprintf("yes out | head -c %d & yes err | head -c %d >&2; wait", gib2, gib2)},
		{"2 GiB of zeros on each stream", fmt.Sprintf("head -c %d /dev/zero & head -c %d /dev/zero >&2; wait", gib2, gib2)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tool := load(t, Def{Binary: self, Env: []string{childVar + "=memory", memoryVar + "=" + tc.script}, Timeout: 5 * time.Minute})
			resp, err := callWith(t, t.Context(), tool, Input{Args: []string{"x"}})
			if err != nil {
				t.Fatal(err)
			}
			kib, metadata, _ := strings.Cut(resp.Content, " ")
			rise, err := strconv.Atoi(kib)
			if err != nil {
				t.Fatalf("got %q", resp.Content)
			}
			if limit := 16 << 10; rise >= limit {
				t.Errorf("the peak rose by %d KiB, limit %d", rise, limit)
			}
			for _, want := range []string{`"exit_code":0`, fmt.Sprintf(`"stdout_bytes":%d`, gib2), fmt.Sprintf(`"stderr_bytes":%d`, gib2)} {
				if !strings.Contains(metadata, want) {
					t.Errorf("metadata %s lack %s", metadata, want)
				}
			}
			t.Logf("the peak rose by %d KiB", rise)
		})
	}
}

// leftovers lists the processes, zombies included, that are children of this one
// or have the mark in their environment.
func leftovers(t *testing.T, mark string) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		pid := filepath.Base(filepath.Dir(path))
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		fields := strings.Fields(string(rest))
		environ, _ := os.ReadFile(filepath.Join("/proc", pid, "environ"))
		ours := len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid())
		if ours || pid != strconv.Itoa(os.Getpid()) && bytes.Contains(environ, []byte(mark)) {
			found = append(found, string(stat))
		}
	}
	return found
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// awaitAtMost waits until got is at most want: what a killed process held goes a
// moment after it.
func awaitAtMost(t *testing.T, what string, want int, got func() int) {
	t.Helper()
	for deadline := time.Now().Add(soon); got() > want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d, before %d", what, got(), want)
		}
	}
}

func TestAThousandCallsLeaveNothingBehind(t *testing.T) {
	const mark = "FANTASYTOOLS_TEST_MARK=thousand"
	tool := load(t, Def{Binary: "/bin/sh", Env: []string{mark}})
	call(t, tool, script("echo warm"))
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range numbers {
				oneOfAThousand(t, tool, i)
			}
		})
	}
	for i := range 1000 {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	awaitAtMost(t, "processes", 0, func() int { return len(leftovers(t, mark)) })
	awaitAtMost(t, "goroutines", goroutines, runtime.NumGoroutine)
	awaitAtMost(t, "open files", files, func() int { return openFiles(t) })
}

func oneOfAThousand(t *testing.T, tool fantasy.AgentTool, i int) {
	ctx, in, want := t.Context(), script(fmt.Sprintf("echo %d", i)), fmt.Sprintf("%d\n", i)
	switch i % 10 {
	case 3:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 5*time.Millisecond)
		defer cancel()
		in = script("sleep 300")
	case 7:
		in = script(fmt.Sprintf("sleep 300 & echo %d", i))
	}
	resp, err := callWith(t, ctx, tool, in)
	if i%10 == 3 {
		if err == nil {
			t.Errorf("call %d was not cancelled", i)
		}
		return
	}
	if err != nil || resp.IsError || resp.Content != want {
		t.Errorf("call %d: %q, %v", i, resp.Content, err)
	}
}
