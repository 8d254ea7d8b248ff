//go:build unix

package daemon_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
	"github.com/fantasytools/fantasytools/jobsclient"
)

var loadJobs = flag.Int("load-jobs", 2_000, "how many jobs TestLoad runs; the README has 10,000")

// load submits n jobs from so many submitters, each of which waits for its job
// before it submits the next, and returns how long each step took.
type load struct {
	submits, waits []time.Duration // of each submission; from each job's end until its waiter knows
	took           time.Duration
}

func drive(t testing.TB, d *daemon.Daemon, c *jobsclient.Client, n, submitters int, script func(i int) string) load {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	submits, returned, ids := make([]time.Duration, n), make([]time.Time, n), make([]string, n)
	work := make(chan int)
	var wg sync.WaitGroup
	began := time.Now()
	for range submitters {
		wg.Go(func() {
			for i := range work {
				at := time.Now()
				id, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "sh", Args: []string{"-c", script(i)}})
				if err != nil {
					t.Errorf("job %d: %v", i, err)
					continue
				}
				submits[i], ids[i] = time.Since(at), id
				j, err := c.Wait(ctx, id)
				if err != nil || j.Status != jobsclient.Done || j.ExitCode != 0 {
					t.Errorf("job %d: %+v, %v", i, j, err)
				}
				returned[i] = time.Now()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
	took := time.Since(began)
	finished := map[string]int64{}
	if err := d.Store().List(ctx, "", func(r *jobsdpb.Record, _ uint64) bool { finished[r.GetId()] = r.GetFinished(); return true }); err != nil {
		t.Fatal(err)
	}
	waits := make([]time.Duration, n)
	for i, id := range ids {
		waits[i] = returned[i].Sub(time.Unix(0, finished[id]))
	}
	slices.Sort(submits)
	slices.Sort(waits)
	return load{submits, waits, took}
}

func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)-1)*percent/100].Round(10 * time.Microsecond)
}

func (l load) String() string {
	return fmt.Sprintf("%d jobs in %v, %.0f a second; submit %v (median), %v (99th percentile); end to wait %v, %v",
		len(l.submits), l.took.Round(10*time.Millisecond), float64(len(l.submits))/l.took.Seconds(),
		at(l.submits, 50), at(l.submits, 99), at(l.waits, 50), at(l.waits, 99))
}

// TestLoad is 64 submitters at one front. No job is lost and none runs twice.
func TestLoad(t *testing.T) {
	r := registry(t, shell("me"))
	d := start(t, daemon.Config{Agents: r, Slots: 16})
	file := filepath.Join(t.TempDir(), "ran")
	l := drive(t, d, client(t, d, r), *loadJobs, 64, func(i int) string { return fmt.Sprintf("echo %d >>%s", i, file) })
	t.Log(l)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for line := range strings.FieldsSeq(string(b)) {
		ran[line]++
	}
	for i := range *loadJobs {
		if n := ran[fmt.Sprint(i)]; n != 1 {
			t.Errorf("job %d ran %d times", i, n)
		}
	}
}

// BenchmarkJobs is whole jobs, from their submission until their waiter knows of
// the end, with few and with many ended ones in the bucket.
func BenchmarkJobs(b *testing.B) {
	for _, ended := range []int{1_000, 50_000} {
		b.Run(fmt.Sprintf("ended=%d", ended), func(b *testing.B) {
			r := registry(b, shell("me"))
			d := start(b, daemon.Config{Agents: r, Slots: 16})
			addEnded(b, d.Store(), ended)
			b.ResetTimer()
			l := drive(b, d, client(b, d, r), b.N, 64, func(int) string { return "exit 0" })
			b.StopTimer()
			b.ReportMetric(float64(b.N)/l.took.Seconds(), "jobs/s")
			b.ReportMetric(float64(at(l.submits, 50).Microseconds()), "submit-µs")
			b.ReportMetric(float64(at(l.waits, 50).Microseconds()), "wait-µs")
		})
	}
}

// addEnded puts ended jobs into the bucket.
func addEnded(tb testing.TB, s *store.Store, n int) {
	tb.Helper()
	work := make(chan int)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := range work {
				r := &jobsdpb.Record{
					Id: fmt.Sprintf("job_old-%d", i), Agent: "me", Bin: "sh", Args: []string{"-c", "true"}, Status: store.Done,
					Stdout: &jobsdpb.Output{Inline: []byte("hello\n"), Size: 6, Head: 6}, Finished: time.Now().UnixNano(),
				}
				if _, err := s.Update(context.Background(), r, 0); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
}
