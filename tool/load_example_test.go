//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/tool"
)

// A program becomes a tool by a description of what it does. The model sends
// arguments and standard input, and reads what the program wrote.
func ExampleLoadTools() {
	tools, err := tool.LoadTools([]tool.Def{{
		Name:        "sort",
		Description: "Sorts the lines of stdin; -n sorts by number.",
		Binary:      "sort",
		Env:         []string{"LC_ALL=C"},
	}}, os.TempDir(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, _ := tools[0].Run(context.Background(), fantasy.ToolCall{Input: `{"args":["-n"],"stdin":"10\n9\n8\n"}`})
	fmt.Print(resp.Content)

	resp, _ = tools[0].Run(context.Background(), fantasy.ToolCall{Input: `{"arguments":["-n"]}`})
	fmt.Println(resp.Content)
	// Output:
	// 8
	// 9
	// 10
	// Nothing was run: the input has the unknown key "arguments"; the keys are "args", "stdin".
}

// All that is wrong with the definitions is reported at once.
func ExampleLoadTools_problems() {
	_, err := tool.LoadTools([]tool.Def{
		{Name: "python3.11", Description: "Runs Python.", Binary: "sh"},
		{Name: "deploy", Description: "", Binary: "/no/such/program"},
	}, os.TempDir(), nil)
	fmt.Println(err)
	// Output:
	// tool "python3.11": the name may hold only letters, digits, underscores and dashes, begins with a letter or an underscore, and has at most 64 characters
	// tool "deploy": the description is empty; tell the model what the tool does
	// tool "deploy": the binary /no/such/program does not exist
}

// A failure is an answer that the model reads, never a Go error; what a host
// wants to know is in the metadata.
func ExampleResult() {
	tools, err := tool.LoadTools([]tool.Def{{Name: "sh", Description: "Runs a shell.", Binary: "/bin/sh"}}, os.TempDir(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := tools[0].Run(context.Background(), fantasy.ToolCall{Input: `{"args":["-c","echo partial; echo reason >&2; exit 3"]}`})
	fmt.Println(resp.IsError, err)
	fmt.Print(resp.Content)

	var result tool.Result
	if err := json.Unmarshal([]byte(resp.Metadata), &result); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("\nmetadata: exit code %d, %d bytes on stdout, %d on stderr\n", result.ExitCode, result.StdoutBytes, result.StderrBytes)
	// Output:
	// true <nil>
	// exit code 3
	//
	// stdout:
	// partial
	//
	// stderr:
	// reason
	//
	// metadata: exit code 3, 8 bytes on stdout, 7 on stderr
}
