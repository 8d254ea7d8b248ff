package tool

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/jobsclient"
)

func TestAJobWhoseBinaryFailedIsNoErrorOfTheTool(t *testing.T) {
	s := newSet(t, nil)
	ctx := context.Background()
	job := s.ok(ctx, "job_submit", `{"bin":"fail"}`)["job_id"].(string)
	if got := s.ok(ctx, "job_wait", id(job)); got["exit_code"] != 3.0 || got["stderr"] != "no such table\n" {
		t.Errorf("got %v", got)
	}
	broken := s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Failed, Error: "argument list too long"})
	if got := s.ok(ctx, "job_wait", id(broken)); got["status"] != "error" || got["error"] != "argument list too long" || got["exit_code"] != nil {
		t.Errorf("got %v", got)
	}
}

func TestTheStatusOfARunningJobIsShortAndPointsToJobWait(t *testing.T) {
	s := newSet(t, nil)
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{Stdout: strings.Repeat("line\n", 100_000) + "the end ü", Started: time.Now().Add(-90 * time.Second)})
	for range 5 {
		answer, err := s.run(context.Background(), "job_status", id(job))
		if err != nil || len(answer.Content) > 8<<10 {
			t.Fatalf("%d bytes, %v", len(answer.Content), err)
		}
		for _, text := range []string{"job_wait", "1m30s", "the end ü", "bytes before]", `"status":"running"`} {
			if !strings.Contains(answer.Content, text) && !strings.Contains(answer.Content, strings.Replace(text, "1m30s", "1m31s", 1)) {
				t.Errorf("%q is missing in %s", text, answer.Content)
			}
		}
		var result JobResult
		if err := json.Unmarshal([]byte(answer.Metadata), &result); err != nil || result.StdoutBytes != 500_000+10 {
			t.Errorf("metadata %s, %v", answer.Metadata, err)
		}
	}
}

func TestMuchOutputIsShownWithinTheBoundOfABinarys(t *testing.T) {
	s := newSet(t, nil)
	tests := map[string]struct{ stdout, stderr string }{
		"five MiB":                    {"first\n" + strings.Repeat("x", 5<<20) + "\nlast", ""},
		"forty MB of lines":           {"first\n" + strings.Repeat("0123456789abcde\n", 40<<20/16) + "last", ""},
		"quotes, which JSON doubles":  {"first" + strings.Repeat(`"\`, 1<<20) + "last", ""},
		"both streams":                {"first" + strings.Repeat("o", 1<<20) + "last", strings.Repeat("e", 1<<20)},
		"little on one of the two":    {"first" + strings.Repeat("o", 1<<20) + "last", "a warning"},
		"characters of several bytes": {"first" + strings.Repeat("ü€", 1<<20) + "last", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			job := s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: test.stdout, Stderr: test.stderr})
			answer, err := s.run(context.Background(), "job_wait", id(job))
			if err != nil || answer.IsError {
				t.Fatal(answer.Content, err)
			}
			if n := len(answer.Content); n > 33<<10 || n < 16<<10 {
				t.Errorf("the answer has %d bytes", n)
			}
			var got jobText
			if err := json.Unmarshal([]byte(answer.Content), &got); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got.Stdout, "first") || !strings.HasSuffix(got.Stdout, "last") || !strings.Contains(got.Stdout, "bytes") {
				t.Errorf("head, tail or notice is missing: %.60q … %q", got.Stdout, got.Stdout[len(got.Stdout)-20:])
			}
			if len(test.stderr) < 100 && got.Stderr != test.stderr {
				t.Errorf("stderr is %q", got.Stderr)
			}
		})
	}
}

func TestOutputIsCleaned(t *testing.T) {
	s := newSet(t, nil)
	job := s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: "\x1b[31mred\x1b[0m 1%\r100%\x00\n<&>"})
	if got := s.ok(context.Background(), "job_wait", id(job)); got["stdout"] != "100%\n<&>" {
		t.Errorf("got %q", got["stdout"])
	}
}

func TestOutputThatIsNoTextIsAnnouncedWithItsSize(t *testing.T) {
	s := newSet(t, nil)
	for name, status := range map[string]jobsclient.Status{"of a job that runs": jobsclient.Running, "of a job that has ended": jobsclient.Done} {
		t.Run(name, func(t *testing.T) {
			job := s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: status, Stdout: strings.Repeat("\x00", 1000), Stderr: "a warning\n"})
			got := s.ok(context.Background(), "job_status", id(job))
			if text, _ := got["stdout"].(string); !strings.Contains(text, "1000 bytes of application/octet-stream") || got["stderr"] != "a warning\n" {
				t.Errorf("got %v", got)
			}
		})
	}
}
