//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func TestJobsRunOnTheDaemonThatTheEnvironmentNames(t *testing.T) {
	daemon := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"report": jobstest.Prints("42 rows\n", 3)}})
	cmd := command(t, "-script", "my.txt")
	cmd.Env = append(cmd.Env, jobsclient.EnvDaemonURL+"="+daemon.URL(), jobsclient.EnvAgentToken+"="+daemon.Token())
	writeFiles(t, cmd.Dir, map[string]string{
		"my.txt": `job_submit {"bin":"report","args":["--year","2025"]}` + "\n" + `sh {"args":["-c","env"]}` + "\n\n" +
			`job_wait {"job_id":"$job_id"}` + "\n\n> There.",
	})
	stdout, stderr, status := output(t, cmd)
	if status != exitOK || stderr != "" {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
	jobs := daemon.Jobs()
	if len(jobs) != 1 || jobs[0].Bin != "report" || len(daemon.CallsOf(jobstest.MethodSubmit)) != 1 {
		t.Fatalf("the daemon has the jobs %+v", jobs)
	}
	for _, want := range []string{
		"\njobs:    job_submit, job_status, job_wait; on the daemon of OTTERSD_URL\n",
		"[1] job pending\n    {\"job_id\":\"" + jobs[0].ID + "\"}\n",
		"[3] job done, exit code 3, ", ", 8 bytes\n    42 rows\n",
		"calls: 3, 0 of them failed\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, daemon.Token()) {
		t.Error("the token is shown")
	}
}

func TestHalfAnEnvironmentIsReportedAndJobsRunInThisProcess(t *testing.T) {
	cmd := command(t, "-script", "my.txt")
	cmd.Env = append(cmd.Env, jobsclient.EnvDaemonURL+"=unix:///none.sock")
	writeFiles(t, cmd.Dir, map[string]string{
		"my.txt": "job_submit {\"bin\":\"sh\",\"stdin\":\"echo here\"}\n\njob_wait {\"job_id\":\"$job_id\"}\n\n> There.",
	})
	stdout, stderr, status := output(t, cmd)
	if status != exitOK || !strings.Contains(stderr, jobsclient.EnvAgentToken) || !strings.Contains(stdout, "\n    here\n") {
		t.Errorf("exit status %d\n%s\n%s", status, stdout, stderr)
	}
}

func TestAJobRunsTheProgramOfTheToolsFile(t *testing.T) {
	cmd := command(t, "-tools", "my.yaml", "-script", "my.txt", "-workdir", "work")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-secret", "CHOSEN_TOKEN=chosen", "OTHER_TOKEN=hidden")
	writeFiles(t, cmd.Dir, map[string]string{
		"work/usr/bin/show": "#!/bin/sh\necho \"$*\"\npwd\nenv\n",
		"my.yaml":           "tools: [{name: shown, description: Shows., binary: show, args: [-a, b], env: [SET=x, CHOSEN_TOKEN, ABSENT]}]",
		"my.txt": `job_submit {"bin":"shown","args":["c"]}` + "\n" + `job_submit {"bin":"sh"}` + "\n\n" +
			`job_wait {"job_id":"$job_id"}` + "\n\n> There.",
	})
	if err := os.Chmod(filepath.Join(cmd.Dir, "work/usr/bin/show"), 0o700); err != nil {
		t.Fatal(err)
	}
	stdout, _, status := output(t, cmd)
	for _, want := range []string{"\n    -a b c\n", "/work\n", "\n    SET=x\n", "CHOSEN_TOKEN=chosen\n", "calls: 3, 1 of them failed\n"} {
		if status != exitOK || !strings.Contains(stdout, want) {
			t.Errorf("exit status %d, and %q is missing in\n%s", status, want, stdout)
		}
	}
	for _, bad := range []string{"sk-secret", "hidden", "ABSENT"} {
		if strings.Contains(stdout, bad) {
			t.Errorf("the job saw %s:\n%s", bad, stdout)
		}
	}
}

func TestAnInterruptEndsTheJobThatIsWaitedFor(t *testing.T) {
	cmd := command(t, "-script", "my.txt")
	writeFiles(t, cmd.Dir, map[string]string{
		"my.txt": `job_submit {"bin":"sh","args":["-c","exec 3>pipe; sleep 300 & echo ready >&3; wait"]}` + "\n\n" +
			`job_wait {"job_id":"$job_id"}` + "\n\n> There.",
	})
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	pipe := waitFor(t, cmd, cmd.Start)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	gone(t, pipe)
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted || stderr.String() != "agent: interrupted\n" {
		t.Errorf("exit status %d, stderr %q\n%s", status, stderr.String(), stdout.String())
	}
}

func TestAJobThatNobodyWaitedForEndsWithTheAgent(t *testing.T) {
	cmd := command(t, "-script", "my.txt")
	writeFiles(t, cmd.Dir, map[string]string{
		"my.txt": `job_submit {"bin":"sh","args":["-c","exec 3>pipe; sleep 300 & echo ready >&3; wait"]}` + "\n" +
			`sh {"args":["-c","until test -e seen; do sleep 0.01; done"]}` + "\n\n> There.",
	})
	pipe := waitFor(t, cmd, cmd.Start)
	writeFiles(t, cmd.Dir, map[string]string{"seen": ""})
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	gone(t, pipe)
}
