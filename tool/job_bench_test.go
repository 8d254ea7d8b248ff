package tool

import (
	"context"
	"slices"
	"testing"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

// BenchmarkFromEndToJobWait measures from a job's end at the daemon to the answer
// of job_wait, where the daemon tells its watches at once.
func BenchmarkFromEndToJobWait(b *testing.B) {
	d := jobstest.New(b, jobstest.Options{ForgetCalls: true})
	c := jobsclient.New(d.Config())
	b.Cleanup(func() { _ = c.Close() })
	wait := newJobTools(c).basic()[2]
	var took []time.Duration
	for b.Loop() {
		job := d.AddJob(d.Agent(), jobsclient.Job{})
		end := make(chan time.Time, 1)
		time.AfterFunc(5*time.Millisecond, func() { // by then it is watching
			end <- time.Now()
			d.Finish(job, "ok", 0)
		})
		answer, err := wait.Run(context.Background(), fantasy.ToolCall{Input: id(job)})
		if err != nil || answer.IsError {
			b.Fatal(answer.Content, err)
		}
		took = append(took, time.Since(<-end))
		d.Forget(job)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
}
