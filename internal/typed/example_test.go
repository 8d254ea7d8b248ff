package typed_test

import (
	"context"
	"fmt"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/typed"
)

func ExampleNew() {
	type input struct {
		Path  string   `json:"path" jsonschema:"description=File to read, relative to the project"`
		Lines int      `json:"lines,omitempty" jsonschema:"description=How many lines,minimum=1,maximum=1000,default=50"`
		Match []string `json:"match,omitempty" jsonschema:"description=Words of which a line must hold one"`
	}
	tool := typed.New("read", "Reads a file.", typed.Options{Parallel: true},
		func(_ context.Context, in input, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
			return fantasy.NewTextResponse(fmt.Sprintf("%s %d %q", in.Path, in.Lines, in.Match)), nil
		})

	for _, input := range []string{
		`{"path": "a.txt"}`,
		`{"path": "a.txt", "lines": "7", "match": "[\"x\", 1]"}`,
		`{"path": "a.txt", "match": "x"}`,
		`{}`,
	} {
		resp, err := tool.Run(context.Background(), fantasy.ToolCall{Name: "read", Input: input})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.Content)
	}
	// Output:
	// a.txt 50 []
	// a.txt 7 ["x" "1"]
	// Nothing was run: match must be a list of strings, not the text "x". For example: {"match": ["text"]}
	// Nothing was run: the input lacks "path" (a string). For example: {"path": "text"}
}
