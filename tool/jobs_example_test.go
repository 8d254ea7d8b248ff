package tool_test

import (
	"context"
	"fmt"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
	"github.com/fantasytools/fantasytools/tool"
)

// In an agent's runtime the environment names the daemon, and BuildJobTools is
// all there is to write. Here a fake daemon takes its place.
func ExampleNewJobTools() {
	daemon, err := jobstest.Start(jobstest.Options{Bins: map[string]jobstest.Bin{"report": jobstest.Prints("42 rows\n", 0)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer daemon.Close()
	client := jobsclient.New(daemon.Config())
	defer func() { _ = client.Close() }()

	tools := tool.NewJobTools(client)
	for _, t := range tools {
		fmt.Println(t.Info().Name)
	}
	// An agent makes such calls: fantasy.NewAgent(model, fantasy.WithTools(tools...)).
	ctx := tool.WithSession(context.Background(), "session-7")
	answer, err := tools[0].Run(ctx, fantasy.ToolCall{Name: "job_submit", Input: `{"bin":"report"}`})
	if err != nil || answer.IsError {
		fmt.Println(answer.Content, err)
		return
	}
	answer, err = tools[2].Run(ctx, fantasy.ToolCall{Name: "job_wait", Input: answer.Content})
	if err != nil || answer.IsError {
		fmt.Println(answer.Content, err)
		return
	}
	fmt.Println(daemon.Jobs()[0].Stdout, daemon.Jobs()[0].Labels[tool.SessionLabel])
	// Output:
	// job_submit
	// job_status
	// job_wait
	// job_cancel
	// job_list
	// job_watch
	// 42 rows
	//  session-7
}
