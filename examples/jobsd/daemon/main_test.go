package daemon_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// shell is an agent whose one binary is a POSIX shell.
func shell(name string, capabilities ...string) agents.Agent {
	return agents.Agent{Name: name, Capabilities: capabilities, Bins: map[string]*agents.Bin{"sh": {Def: tool.Def{Binary: "sh"}}}}
}

func registry(t testing.TB, as ...agents.Agent) *agents.Registry {
	t.Helper()
	r, err := agents.New(as...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// start starts a daemon that ends with the test.
func start(t testing.TB, c daemon.Config) *daemon.Daemon {
	t.Helper()
	if c.Agents == nil {
		c.Agents = registry(t, shell("me"))
	}
	if c.StateDir == "" {
		c.StateDir = t.TempDir()
	}
	if c.Logger == nil {
		c.Logger = zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel))
	}
	d, err := daemon.Start(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		if err := d.Shutdown(now); err != nil {
			t.Error(err)
		}
	})
	return d
}

// client returns a client of the agent me.
func client(t testing.TB, d *daemon.Daemon, r *agents.Registry) *jobsclient.Client {
	t.Helper()
	token, err := r.Token("me")
	if err != nil {
		t.Fatal(err)
	}
	c := jobsclient.New(jobsclient.Config{URL: d.URL(), Token: token, DialOptions: d.DialOptions()})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func submit(t testing.TB, c *jobsclient.Client, script string) string {
	t.Helper()
	id, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "sh", Args: []string{"-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func wait(t testing.TB, c *jobsclient.Client, id string) *jobsclient.Job {
	t.Helper()
	j, err := c.Wait(testContext(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// begun waits until a job runs.
func begun(t testing.TB, c *jobsclient.Client, id string) {
	t.Helper()
	for job, err := range c.Watch(testContext(t), id) {
		if err != nil || job.Ended() {
			t.Fatalf("the job does not run: %+v, %v", job, err)
		}
		if job.Status == jobsclient.Running {
			return
		}
	}
}

var number int

func unique(prefix string) string {
	number++
	return fmt.Sprint(prefix, number)
}
