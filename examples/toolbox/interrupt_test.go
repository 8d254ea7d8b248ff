//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/internal/pipetest"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// interrupted sends the signal to a command that runs, and returns how it ended.
func interrupted(t *testing.T, cmd *exec.Cmd, sig os.Signal) outcome {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status is looked at
	return outcome{
		stdout: cmd.Stdout.(*bytes.Buffer).String(), stderr: cmd.Stderr.(*bytes.Buffer).String(), status: cmd.ProcessState.ExitCode(),
	}
}

// started starts the program.
func started(t *testing.T, stdin io.Reader, args ...string) *exec.Cmd {
	t.Helper()
	cmd := process(t, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &bytes.Buffer{}, &bytes.Buffer{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

const background = `{"args":["-c","exec 3>pipe; sleep 300 & echo ready >&3; wait"]}`

func TestAnInterruptEndsTheChildOfACall(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			machine(t, "sh", "sleep")
			path := pipetest.Make(t, ".")
			cmd := started(t, nil, "call", "sh", background)
			pipe := pipetest.Ready(t, path, limit)
			o := interrupted(t, cmd, sig)
			pipetest.Gone(t, pipe, limit)
			if want := (outcome{"", "toolbox: interrupted\n", exitInterrupted}); o != want {
				t.Errorf("got %+v, want %+v", o, want)
			}
		})
	}
}

func TestAnInterruptedCallSaysSoInJSON(t *testing.T) {
	machine(t, "sh", "sleep")
	path := pipetest.Make(t, ".")
	cmd := started(t, nil, "call", "-o", "result", "sh", background, "-json")
	pipe := pipetest.Ready(t, path, limit)
	o := interrupted(t, cmd, syscall.SIGINT)
	pipetest.Gone(t, pipe, limit)
	if e := decode[errorReport](t, o).Error; e.Status != exitInterrupted || o.status != exitInterrupted {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat("result"); err == nil {
		t.Error("a file without a result is left")
	}
}

func TestAnInterruptEndsTheReadingOfTheInput(t *testing.T) {
	machine(t, "sh")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	cmd := started(t, r, "call", "sh", "-")
	if _, err := w.WriteString(`{"args":`); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	// The program has its signals caught when it has read what was written: then
	// a write that is larger than the pipe goes through.
	if _, err := w.Write(bytes.Repeat([]byte(" "), 256<<10)); err != nil {
		t.Fatal(err)
	}
	if o := interrupted(t, cmd, os.Interrupt); o.status != exitInterrupted || o.stderr != "toolbox: interrupted\n" {
		t.Errorf("%+v", o)
	}
}

func TestAnInterruptEndsDoctorAndThePilotctlThatHangs(t *testing.T) {
	network, _ := join(t, pilottest.V116)
	network.Fault(pilottest.Fault{Verb: "version", Hang: true})
	cmd := started(t, nil, "doctor", "-wait", "10m", "-json")
	for deadline := time.Now().Add(limit); len(network.Running()) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("pilotctl was not started")
		}
	}
	if o := interrupted(t, cmd, os.Interrupt); o.status != exitInterrupted {
		t.Errorf("%+v", o)
	}
	if running := network.Running(); len(running) != 0 {
		t.Errorf("still running: %+v", running)
	}
}

func TestAnInterruptedWaitCancelsTheJob(t *testing.T) {
	machine(t, "sh")
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"long": {Path: "/bin/sleep", Args: []string{"300"}}}})
	d.Setenv(t)
	submitted := decode[result](t, toolbox(t, "", "call", "job_submit", `{"bin":"long"}`, "-json"))
	var job struct {
		ID string `json:"job_id"`
	}
	if err := json.Unmarshal([]byte(submitted.Text), &job); err != nil {
		t.Fatal(err)
	}
	cmd := started(t, nil, "call", "job_wait", submitted.Text)
	for deadline := time.Now().Add(limit); len(d.CallsOf(jobstest.MethodWatch)) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the job is not watched")
		}
	}
	if o := interrupted(t, cmd, os.Interrupt); o.status != exitInterrupted {
		t.Errorf("%+v", o)
	}
	client := jobsclient.New(d.Config())
	defer client.Close() //nolint:errcheck // only asked
	got, err := client.Wait(t.Context(), job.ID)
	if err != nil || got.Status != jobsclient.Cancelled {
		t.Errorf("%+v, %v", got, err)
	}
}

// A program that does not read its input, and a daemon that goes away, break a
// pipe and a connection: neither is an interrupt.
func TestABrokenPipeOfAToolIsNoInterrupt(t *testing.T) {
	machine(t, "head")
	input := `{"args":["-c","1"],"stdin":"` + strings.Repeat("x", 4<<20) + `"}`
	cmd := process(t, "call", "head", "-")
	cmd.Stdin = strings.NewReader(input)
	if o := ended(t, cmd); o.status != exitOK || o.stdout != "x\n" {
		t.Errorf("%+v", o)
	}
}
