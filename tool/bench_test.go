//go:build unix

package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/fantasy"
)

// compare alternates ours and plain, so that both meet the same machine, and
// reports the time of each and how many times plain ours takes. It compares
// medians: a shared machine's pauses hit either.
func compare(b *testing.B, ours, plain func()) {
	b.Helper()
	ours()
	plain()
	var tool, exec []time.Duration
	timed := func(f func()) time.Duration {
		began := time.Now()
		f()
		return time.Since(began)
	}
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			tool = append(tool, timed(ours))
			exec = append(exec, timed(plain))
		} else {
			exec = append(exec, timed(plain))
			tool = append(tool, timed(ours))
		}
	}
	b.ReportMetric(0, "ns/op") // of both together says nothing
	b.ReportMetric(median(tool), "tool-ns/op")
	b.ReportMetric(median(exec), "exec-ns/op")
	b.ReportMetric(median(tool)/median(exec), "x")
}

func runTool(b *testing.B, tool fantasy.AgentTool, in Input) func() {
	b.Helper()
	call := fantasy.ToolCall{Input: input(b, in)}
	return func() {
		resp, err := tool.Run(context.Background(), call)
		if err != nil || resp.IsError {
			b.Fatalf("%q, %v", resp.Content, err)
		}
	}
}

// BenchmarkTrue is what a call of a program that does nothing costs.
func BenchmarkTrue(b *testing.B) {
	plain := func() {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(context.Background(), "/bin/true", "x")
		cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &stdout, &stderr
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
	compare(b, runTool(b, load(b, Def{Binary: "/bin/true"}), Input{Args: []string{"x"}}), plain)
}

// BenchmarkOutput64MiB is what draining output costs beside throwing it away.
func BenchmarkOutput64MiB(b *testing.B) {
	args := []string{"-c", "67108864", "/dev/zero"}
	plain := func() {
		cmd := exec.CommandContext(context.Background(), "head", args...)
		cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
	compare(b, runTool(b, load(b, Def{Binary: "head"}), Input{Args: args}), plain)
}

// BenchmarkLoadTools loads 200 definitions, each with a usage text.
func BenchmarkLoadTools(b *testing.B) {
	work := b.TempDir()
	defs := make([]Def, 200)
	for i := range defs {
		doc := fmt.Sprintf("doc%d.txt", i)
		if err := os.WriteFile(filepath.Join(work, doc), []byte(strings.Repeat("usage of a tool\n", 40)), 0o644); err != nil {
			b.Fatal(err)
		}
		defs[i] = Def{Name: fmt.Sprintf("tool_%d", i), Description: "Runs a program.", Binary: "sh", Doc: doc}
	}
	for b.Loop() {
		if _, err := LoadTools(defs, work, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// median returns the median in nanoseconds, or 1 of none.
func median(ds []time.Duration) float64 {
	if len(ds) == 0 {
		return 1
	}
	slices.Sort(ds)
	return float64(ds[len(ds)/2])
}
