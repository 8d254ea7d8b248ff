package jobsclient_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/jobsclient"
)

const largeOutput = 40 << 20

// The daemon runs in another process, so that what is measured is the client's.
func TestAJobWithFortyMegabytesOfOutputIsReadInThreeTimesItsSize(t *testing.T) {
	cfg := otherProcess(t, jobsclient.Job{ID: "job_large", Status: jobsclient.Done, Stdout: strings.Repeat("0123456789abcde\n", largeOutput/16)})
	for name, read := range map[string]func(*jobsclient.Client) (*jobsclient.Job, error){
		"Get":  func(c *jobsclient.Client) (*jobsclient.Job, error) { return c.Get(testContext(t), "job_large") },
		"Wait": func(c *jobsclient.Client) (*jobsclient.Job, error) { return c.Wait(testContext(t), "job_large") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, cfg)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			job, err := read(c)
			runtime.ReadMemStats(&after)
			if err != nil || len(job.Stdout) != largeOutput {
				t.Fatalf("got %v", err)
			}
			// What was allocated in all is at least what was in use at any time.
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("allocated %.2f times the size", float64(allocated)/largeOutput)
			if allocated > 3*largeOutput {
				t.Errorf("allocated %d bytes for a job of %d", allocated, largeOutput)
			}
		})
	}
}
