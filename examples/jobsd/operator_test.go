package main

import (
	"bufio"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

// threeJobs puts a job in each of three states into a daemon's database.
func threeJobs(d *jobstest.Daemon) {
	now := time.Now().Truncate(time.Second)
	label := func(name string) map[string]string { return map[string]string{agentLabel: name, "k": "v"} }
	d.AddJob(d.Agent(), jobsclient.Job{ID: "job_1", Bin: "sh", Args: []string{"-c", "true"}, Status: jobsclient.Done, ExitCode: 3, Labels: label("me"),
		Created: now.Add(-time.Hour), Started: now.Add(-time.Hour), Finished: now.Add(-time.Hour + 65*time.Second), Stdout: "out"})
	d.AddJob(d.Agent(), jobsclient.Job{ID: "job_2", Bin: "report", Status: jobsclient.Running, Labels: label("you"), Created: now.Add(-time.Minute)})
	d.AddJob(d.Agent(), jobsclient.Job{ID: "job_3", Bin: "b\x1b[2J", Status: jobsclient.Pending, Created: now})
}

func TestJobsAreListed(t *testing.T) {
	d, dir := operate(t, jobstest.Options{})
	threeJobs(d)
	for _, tc := range []struct {
		name string
		args []string
		want []string // lines, without the time of creation
	}{
		{"all", nil, []string{"job_3 - pending b [2J - -", "job_2 you running report - *", "job_1 me done sh 3 1m5s"}},
		{"of a state", []string{"-status", "done"}, []string{"job_1 me done sh 3 1m5s"}},
		{"of an agent", []string{"-agent", "you"}, []string{"job_2 you running report - *"}},
		{"so many", []string{"-limit", "1"}, []string{"job_3 - pending b [2J - -"}},
		{"none", []string{"-agent", "us"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stdout, stderr, status := output(append([]string{"jobs", "-state", dir}, tc.args...)...)
			if status != exitOK || stderr != "" {
				t.Fatalf("exit status %d, stderr %q", status, stderr)
			}
			lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
			if got := strings.Join(strings.Fields(lines[0]), " "); got != "ID AGENT STATUS BIN EXIT ELAPSED CREATED" {
				t.Errorf("the head is %q", got)
			}
			var got []string
			for _, line := range lines[1:] {
				created := regexp.MustCompile(` \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`)
				if !created.MatchString(line) {
					t.Errorf("%q has no time of creation", line)
				}
				line = strings.Join(strings.Fields(created.ReplaceAllString(line, "")), " ")
				got = append(got, regexp.MustCompile(`(running .* )\S+$`).ReplaceAllString(line, "${1}*"))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestJobsAreListedInJSON(t *testing.T) {
	d, dir := operate(t, jobstest.Options{})
	stdout, _, _ := output("jobs", "-json", "-state", dir)
	if stdout != "[]\n" {
		t.Errorf("no jobs: %q", stdout)
	}
	threeJobs(d)
	stdout, stderr, status := output("jobs", "-json", "-state", dir)
	var got []map[string]any
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != exitOK || stderr != "" || len(got) != 3 {
		t.Fatalf("exit status %d, stderr %q, %v:\n%s", status, stderr, err, stdout)
	}
	for _, key := range []string{"created", "started", "finished"} {
		at, err := time.Parse(time.RFC3339, got[2][key].(string))
		if err != nil || at.Location() != time.UTC {
			t.Errorf("%s: %v, %v", key, at, err)
		}
		delete(got[2], key)
	}
	want := map[string]any{
		"id": "job_1", "agent": "me", "status": "done", "bin": "sh", "args": []any{"-c", "true"}, "exit_code": 3.0, "elapsed_ms": 65000.0, "labels": map[string]any{"k": "v"},
	}
	if diff := cmp.Diff(want, got[2]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	delete(got[0], "created")
	want = map[string]any{"id": "job_3", "status": "pending", "bin": "b\x1b[2J", "args": []any{}, "elapsed_ms": 0.0}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLogsPrintsWhatThereIs(t *testing.T) {
	d, dir := operate(t, jobstest.Options{})
	for _, tc := range []struct {
		name           string
		job            jobsclient.Job
		stdout, stderr string
		followed       int // exit status with -f; -1: it would go on
	}{
		{"a job that is done", jobsclient.Job{ID: "job_a", Status: jobsclient.Done, Stdout: "out\n", Stderr: "err\n"}, "out\n", "err\n", exitOK},
		{"one that ended with an exit code", jobsclient.Job{ID: "job_b", Status: jobsclient.Done, ExitCode: 7, Stdout: "out\n"}, "out\n", "jobsd: job_b ended with exit code 7\n", exitFailed},
		{"one that failed", jobsclient.Job{ID: "job_c", Status: jobsclient.Failed, Error: "killed by SIGKILL"}, "", "jobsd: job_c failed: killed by SIGKILL\n", exitFailed},
		{"one that was cancelled", jobsclient.Job{ID: "job_d", Status: jobsclient.Cancelled}, "", "jobsd: job_d was cancelled\n", exitFailed},
		{"one that is orphaned", jobsclient.Job{ID: "job_e", Status: jobsclient.Orphaned}, "", "jobsd: job_e is orphaned: what ran it died, and how it ended is not known\n", exitFailed},
		{"one that runs", jobsclient.Job{ID: "job_f", Status: jobsclient.Running, Stdout: "so far"}, "so far", "jobsd: job_f is still running; jobsd logs -f follows it\n", -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d.AddJob(d.Agent(), tc.job)
			stdout, stderr, status := output("logs", tc.job.ID, "-state", dir)
			if status != exitOK || stdout != tc.stdout || stderr != tc.stderr {
				t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
			}
			if tc.followed < 0 {
				return
			}
			stdout, stderr, status = output("logs", tc.job.ID, "-f", "-state", dir)
			if status != tc.followed || stdout != tc.stdout || stderr != tc.stderr {
				t.Errorf("-f: exit status %d, stdout %q, stderr %q", status, stdout, stderr)
			}
		})
	}
}

// following runs logs -f and returns its stdout to read from while it runs, and a
// function that waits for its end.
func following(t *testing.T, args ...string) (*bufio.Reader, func() (stderr string, status int)) {
	t.Helper()
	r, w := io.Pipe()
	var stderr strings.Builder
	ended := make(chan int, 1)
	go func() {
		status := run(append([]string{"logs", "-f"}, args...), w, &stderr)
		_ = w.Close()
		ended <- status
	}()
	return bufio.NewReader(r), func() (string, int) {
		select {
		case status := <-ended:
			return stderr.String(), status
		case <-time.After(limit):
			t.Fatal("it goes on")
			return "", 0
		}
	}
}

func readLine(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	if got, err := r.ReadString('\n'); got != want {
		t.Fatalf("read %q, %v, want %q", got, err, want)
	}
}

func TestLogsFollowsAJobAcrossARestartOfTheDaemon(t *testing.T) {
	d, dir := operate(t, jobstest.Options{})
	id := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Running, Bin: "sh", Stdout: "one\n"})
	r, wait := following(t, id, "-state", dir)
	readLine(t, r, "one\n")
	d.Update(id, func(j *jobsclient.Job) { j.Stdout += "two\n"; j.Stderr = "warning\n" })
	readLine(t, r, "two\n")
	d.Kill()
	if err := d.Restart(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r)
	stderr, status := wait()
	if err != nil || string(rest) != "" || status != exitFailed || stderr != "warning\njobsd: "+id+" is orphaned: what ran it died, and how it ended is not known\n" {
		t.Errorf("exit status %d, more on stdout %q, stderr %q", status, rest, stderr)
	}
}

func TestLogsFollowsAJobToItsGoodEnd(t *testing.T) {
	d, dir := operate(t, jobstest.Options{Transport: jobstest.TCP})
	id := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Pending, Bin: "sh"})
	r, wait := following(t, "-state", dir, id)
	d.Update(id, func(j *jobsclient.Job) { j.Status, j.Started, j.Stdout = jobsclient.Running, time.Now(), "one\n" })
	readLine(t, r, "one\n")
	d.Finish(id, "one\ntwo\n", 0)
	readLine(t, r, "two\n")
	if stderr, status := wait(); status != exitOK || stderr != "" {
		t.Errorf("exit status %d, stderr %q", status, stderr)
	}
}

func TestLogsInJSONHoldWhatIsNewInEachChange(t *testing.T) {
	d, dir := operate(t, jobstest.Options{})
	id := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Running, Bin: "sh", Stdout: "one\n"})
	r, wait := following(t, "-json", id, "-state", dir)
	readLine(t, r, `{"id":"`+id+`","status":"running","stdout":"one\n"}`+"\n")
	d.Update(id, func(j *jobsclient.Job) { j.Stderr = "<err>" })
	readLine(t, r, `{"id":"`+id+`","status":"running","stderr":"<err>"}`+"\n")
	d.Finish(id, "one\ntwo\n", 4)
	readLine(t, r, `{"id":"`+id+`","status":"done","stdout":"two\n","exit_code":4}`+"\n")
	if stderr, status := wait(); status != exitFailed || stderr != "" {
		t.Errorf("exit status %d, stderr %q", status, stderr)
	}
}

func TestCancelSaysWhatBecameOfEachJob(t *testing.T) {
	d, dir := operate(t, jobstest.Options{Bins: map[string]jobstest.Bin{"wait": jobstest.Blocks(nil, "")}})
	client := jobsclient.New(d.Config())
	defer client.Close() //nolint:errcheck // returns nil
	submit := func() string {
		id, err := client.Submit(t.Context(), jobsclient.SubmitRequest{Bin: "wait"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.AwaitJob(t.Context(), id, func(j jobsclient.Job) bool { return j.Status == jobsclient.Running }); err != nil {
			t.Fatal(err)
		}
		return id
	}
	first, second := submit(), submit()
	stdout, stderr, status := output("cancel", "-state", dir, first, second)
	if status != exitOK || stderr != "" || stdout != first+" is cancelled\n"+second+" is cancelled\n" {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	done := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Done, ExitCode: 2})
	pending := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Pending})
	third := submit()
	stdout, stderr, status = output("cancel", "-state", dir, done, "job_none", pending, third)
	want := "jobsd: " + done + " has ended already: it ended with exit code 2\n" +
		"jobsd: there is no job \"job_none\"; jobsd jobs lists those that there are\n" +
		"jobsd: " + pending + " is pending, and the daemon does not cancel it now; try again\n"
	if status != exitFailed || stderr != want || stdout != third+" is cancelled\n" {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	stdout, stderr, status = output("cancel", "-json", "-state", dir, first)
	if status != exitFailed || stderr != "" || stdout != `{"id":"`+first+`","cancelled":false,"status":"cancelled","message":"`+first+` has ended already: it was cancelled"}`+"\n" {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}

func TestWithoutADaemonTheOperatorIsToldToStartOne(t *testing.T) {
	d, dir := operate(t, jobstest.Options{})
	d.Stop()
	fresh := t.TempDir()
	for _, args := range [][]string{{"jobs"}, {"logs", "job_1"}, {"logs", "-f", "job_1"}, {"cancel", "job_1"}} {
		stdout, stderr, status := output(append(args, "-state", dir)...)
		if status != exitFailed || stdout != "" || !strings.Contains(stderr, d.Address()) || !strings.Contains(stderr, "(start one with: jobsd serve -state '"+dir+"')") {
			t.Errorf("%v: exit status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
		stdout, stderr, status = output(append(args, "-state", fresh)...)
		if status != exitFailed || stdout != "" || !strings.Contains(stderr, filepath.Join(fresh, "jobsd.sock")) || !strings.Contains(stderr, "start one with: jobsd serve") {
			t.Errorf("%v of a directory without a daemon: exit status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
}

func TestATokenOfAnotherDaemonIsExplained(t *testing.T) {
	_, dir := operate(t, jobstest.Options{})
	writeFile(t, filepath.Join(dir, "operator.token"), "of-another\n")
	for _, args := range [][]string{{"jobs"}, {"logs", "job_1"}, {"cancel", "job_1"}} {
		stdout, stderr, status := output(append(args, "-state", dir)...)
		if status != exitFailed || stdout != "" || !strings.Contains(stderr, "refused the operator's token of "+filepath.Join(dir, "operator.token")) || strings.Contains(stderr, "of-another") {
			t.Errorf("%v: exit status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
}

func TestAnotherAddressMayBeNamed(t *testing.T) {
	d, dir := operate(t, jobstest.Options{})
	writeFile(t, filepath.Join(dir, "address"), "unix:///nowhere\n")
	d.AddJob(d.Agent(), jobsclient.Job{ID: "job_1", Status: jobsclient.Done, Stdout: "out"})
	stdout, stderr, status := output("logs", "job_1", "-state", dir, "-url", d.URL())
	if status != exitOK || stdout != "out" || stderr != "" {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	_, stderr, status = output("logs", "job_2", "-state", dir, "-url", d.URL())
	if status != exitFailed || !strings.Contains(stderr, `there is no job "job_2"; jobsd jobs lists`) {
		t.Errorf("exit status %d, stderr %q", status, stderr)
	}
}
