package front_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// BenchmarkUpdateToWatcher tells how long it takes from a worker's write of a
// job's end until a watcher has its message, over a unix socket and HTTP/2.
func BenchmarkUpdateToWatcher(b *testing.B) {
	r := start(b, setup{})
	ctx := r.as("me")
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		job := r.pending().runs()
		w := r.watch(ctx, job.Id)
		w.must()
		job.Status, job.Finished = store.Done, time.Now().UnixNano()
		job.Stdout, job.Stderr = &jobsdpb.Output{Inline: []byte("x"), Size: 1}, &jobsdpb.Output{}
		heard := make(chan time.Time, 1)
		go func() {
			_, _ = w.next()
			heard <- time.Now()
		}()
		b.StartTimer()
		started := time.Now()
		job.update()
		took = append(took, (<-heard).Sub(started))
	}
	report(b, took)
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkSubmitAndWatch is what a client pays for a job's way through the
// front, with a worker that does nothing.
func BenchmarkSubmitAndWatch(b *testing.B) {
	r := start(b, setup{})
	client := r.client()
	var took []time.Duration
	for b.Loop() {
		started := time.Now()
		id, err := client.Submit(b.Context(), submitRequest)
		if err != nil {
			b.Fatal(err)
		}
		d, err := r.store.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		go func() { (&live{r, d.Record, d.Revision, nil}).runs().ends(store.Done) }()
		if _, err := client.Wait(b.Context(), id); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(started))
	}
	report(b, took)
}

// BenchmarkList lists 1,000 jobs.
func BenchmarkList(b *testing.B) {
	r := start(b, setup{})
	for range 1000 {
		r.pending()
	}
	ctx := r.as("me")
	for b.Loop() {
		if jobs, err := r.list(ctx, &jobsdpb.ListRequest{}); err != nil || len(jobs) != 1000 {
			b.Fatal(len(jobs), err)
		}
	}
}

// BenchmarkText renders 16 MiB, which is what is kept of a stream.
func BenchmarkText(b *testing.B) {
	for name, piece := range map[string]string{"ascii": "0123456\n", "letters": "äöü €\n", "binary": "\x00\x7f\xff\xfe\xc3a\xe2\x82"} {
		b.Run(name, func(b *testing.B) {
			const half = 8 << 20
			buffer := store.NewBuffer(half, half)
			buffer.Add(0, []byte(strings.Repeat(piece, 2*half/len(piece))))
			b.SetBytes(2 * half)
			for b.Loop() {
				front.Text(buffer, half, half, true)
			}
		})
	}
}
