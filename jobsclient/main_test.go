package jobsclient_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

// asDaemon makes the test binary a daemon of its own.
const asDaemon = "JOBSCLIENT_TEST_DAEMON"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		serve()
		return
	}
	goleak.VerifyTestMain(m)
}

// serve runs a daemon, tells its Config on standard output, and ends with
// standard input. Lines on standard input are jobs to add.
func serve() {
	d, err := jobstest.Start(jobstest.Options{Bins: map[string]jobstest.Bin{"true": jobstest.Prints("", 0)}, ForgetCalls: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer d.Close()
	answers := json.NewEncoder(os.Stdout)
	_ = answers.Encode([]string{d.URL(), d.Token()})
	jobs := json.NewDecoder(os.Stdin)
	for {
		var job jobsclient.Job
		if err := jobs.Decode(&job); err != nil {
			return
		}
		_ = answers.Encode(d.AddJob(d.Agent(), job))
	}
}

// otherProcess starts a daemon in a process of its own, with one job in it.
func otherProcess(t testing.TB, job jobsclient.Job) jobsclient.Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), asDaemon+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	answers := json.NewDecoder(bufio.NewReader(out))
	var config []string
	if err := answers.Decode(&config); err != nil {
		t.Fatal(err)
	}
	var id string
	if err := json.NewEncoder(in).Encode(job); err != nil {
		t.Fatal(err)
	}
	if err := answers.Decode(&id); err != nil || !strings.HasPrefix(id, "job_") {
		t.Fatal(id, err)
	}
	return jobsclient.Config{URL: config[0], Token: config[1]}
}
