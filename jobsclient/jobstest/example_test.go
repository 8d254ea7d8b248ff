package jobstest_test

import (
	"context"
	"fmt"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/scripted"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
	"github.com/fantasytools/fantasytools/tool"
)

// The code under test gets its client from the daemon's Config, or finds URL and
// token in the environment after Setenv.
func Example() {
	daemon, err := jobstest.Start(jobstest.Options{Bins: map[string]jobstest.Bin{
		"report": jobstest.Prints("42 rows\n", 0),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer daemon.Close()

	client := jobsclient.New(daemon.Config())
	defer func() { _ = client.Close() }()
	ctx := context.Background()
	id, err := client.Submit(ctx, jobsclient.SubmitRequest{Bin: "report", Args: []string{"--year", "2025"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	job, err := client.Wait(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(job.Status, job.Stdout)
	fmt.Println(daemon.CallsOf(jobstest.MethodSubmit)[0].Submit.Args)
	// Output:
	// done 42 rows
	//
	// [--year 2025]
}

// A daemon that dies while a job runs, and comes back: the job is orphaned, and
// whoever waits for it hears of it.
func ExampleDaemon_Kill() {
	daemon, err := jobstest.Start(jobstest.Options{Bins: map[string]jobstest.Bin{"build": jobstest.Blocks(nil, "")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer daemon.Close()
	client := jobsclient.New(daemon.Config())
	defer func() { _ = client.Close() }()
	id, err := client.Submit(context.Background(), jobsclient.SubmitRequest{Bin: "build"})
	if err != nil {
		fmt.Println(err)
		return
	}

	for job, err := range client.Watch(context.Background(), id) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(job.Status)
		if job.Status == jobsclient.Running {
			if err := daemon.Restart(); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	// Output:
	// running
	// orphaned
}

// An agent with the job tools, driven by a model that plays a script.
func Example_agent() {
	daemon, err := jobstest.Start(jobstest.Options{Bins: map[string]jobstest.Bin{"report": jobstest.Prints("42 rows\n", 0)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer daemon.Close()
	earlier := daemon.AddJob(daemon.Agent(), jobsclient.Job{ID: "job_earlier", Bin: "build", Status: jobsclient.Done, ExitCode: 2})
	client := jobsclient.New(daemon.Config())
	defer func() { _ = client.Close() }()

	model := &scripted.Model{Turns: []scripted.Turn{
		{Calls: []scripted.Call{
			{Tool: "job_submit", Input: `{"bin":"report"}`},
			{Tool: "job_wait", Input: `{"job_id":"` + earlier + `"}`},
		}},
		{Text: "The build failed; the report is on its way."},
	}}
	agent := fantasy.NewAgent(model, fantasy.WithTools(tool.NewJobTools(client)...))
	result, err := agent.Generate(context.Background(), fantasy.AgentCall{Prompt: "How did the build go? And start the report."})
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(result.Response.Content.Text())
	fmt.Println("submitted:", daemon.CallsOf(jobstest.MethodSubmit)[0].Submit.Bin)
	fmt.Println("connections:", daemon.Accepts())
	// Output:
	// The build failed; the report is on its way.
	// submitted: report
	// connections: 1
}
