package jobstest_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

// A process in a session of its own is not reached by the kill of its job.
func TestAProcessThatLeftItsJobHoldsUpNeitherTheJobNorClose(t *testing.T) {
	began := time.Now()
	d := jobstest.New(t, jobstest.Options{Bins: shell})
	client := jobsclient.New(d.Config())
	t.Cleanup(func() { _ = client.Close() })
	id, err := client.Submit(t.Context(), jobsclient.SubmitRequest{Bin: "sh", Args: []string{"-c", "setsid sleep 300 & echo $!"}})
	if err != nil {
		t.Fatal(err)
	}
	job, err := client.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(job.Stdout)); err == nil {
		defer syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
	}
	if job.Status != jobsclient.Done || job.Stdout == "" {
		t.Errorf("got %+v", job)
	}
	d.Close()
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}
