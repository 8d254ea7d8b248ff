//go:build unix

package daemon_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/tool"
)

// A daemon in the process, without a socket.
func Example() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: done 3 hello
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a directory of temporary files
	registry, err := agents.New(agents.Agent{
		Name: "me",
		Bins: map[string]*agents.Bin{"sh": {Def: tool.Def{Binary: "sh"}}},
	})
	if err != nil {
		return err
	}
	token, err := registry.Token("me")
	if err != nil {
		return err
	}
	d, err := daemon.Start(ctx, daemon.Config{Agents: registry, StateDir: dir, Socket: "-", Memory: true})
	if err != nil {
		return err
	}
	defer d.Shutdown(ctx) //nolint:errcheck // the end of the example

	client := jobsclient.New(jobsclient.Config{URL: d.URL(), Token: token, DialOptions: d.DialOptions()})
	defer client.Close() //nolint:errcheck // the end of the example
	id, err := client.Submit(ctx, jobsclient.SubmitRequest{Bin: "sh", Args: []string{"-c", "echo hello; exit 3"}})
	if err != nil {
		return err
	}
	job, err := client.Wait(ctx, id)
	if err != nil {
		return err
	}
	fmt.Print(job.Status, " ", job.ExitCode, " ", job.Stdout)
	return nil
}
