package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/tool"
)

type GreetInput struct {
	Name  string `json:"name" jsonschema:"description=Whom to greet, by first name"`
	Times int    `json:"times,omitempty" jsonschema:"description=How many times,minimum=1,maximum=3,default=1"`
}

func greet(_ context.Context, in GreetInput, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
	return fantasy.NewTextResponse("Hello" + strings.Repeat(", "+in.Name, in.Times) + "!"), nil
}

func ExampleNew() {
	t := tool.New("greet", "Greets a person.", greet)

	times := t.Info().Parameters["times"].(map[string]any)
	fmt.Println(times["description"])

	for _, input := range []string{
		`{"name": "Ada"}`,
		`{"name": "Ada", "times": "2"}`,
		`{"name": "Ada", "times": 7}`,
		`{"Name": "Ada"}`,
	} {
		resp, err := t.Run(context.Background(), fantasy.ToolCall{Name: "greet", Input: input})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.Content)
	}
	// Output:
	// How many times. From 1 to 3; default 1.
	// Hello, Ada!
	// Hello, Ada, Ada!
	// Nothing was run: times must be an integer from 1 to 3, not 7. For example: {"times": 1}
	// Nothing was run: the input has the unknown key "Name" (did you mean "name"?); the keys are "name", "times".
}

func ExampleNewParallel() {
	t := tool.NewParallel("greet", "Greets a person.", greet)
	fmt.Println(t.Info().Name, t.Info().Required, t.Info().Parallel)
	// Output: greet [name] true
}

func ExampleGuard() {
	tools := tool.Guard([]fantasy.AgentTool{tool.New("greet", "Greets a person.", greet)},
		func(_ context.Context, info fantasy.ToolInfo, call fantasy.ToolCall) error {
			if strings.Contains(call.Input, "Mallory") {
				return fmt.Errorf("%s is not allowed with this input: %w", info.Name, tool.ErrStopTurn)
			}
			if !strings.Contains(call.Input, "Ada") {
				return errors.New("only Ada is greeted today; ask the user")
			}
			return nil
		})

	for _, name := range []string{"Ada", "Bob", "Mallory"} {
		input := fmt.Sprintf(`{"name": %q}`, name)
		resp, err := tools[0].Run(context.Background(), fantasy.ToolCall{Name: "greet", Input: input})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.Content, "| stop:", resp.StopTurn)
	}
	// Output:
	// Hello, Ada! | stop: false
	// only Ada is greeted today; ask the user | stop: false
	// greet is not allowed with this input: the turn ends here | stop: true
}
