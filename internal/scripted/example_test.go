package scripted_test

import (
	"context"
	"fmt"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/scripted"
)

func Example() {
	model := &scripted.Model{Turns: []scripted.Turn{
		{Text: "Let me shout.", Calls: []scripted.Call{{Tool: "shout", Input: `{"text":"hello"}`}}},
		{Text: "That was loud."},
	}}
	agent := fantasy.NewAgent(model, fantasy.WithTools(shout()))
	result, err := agent.Generate(context.Background(), fantasy.AgentCall{Prompt: "Shout hello."})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Response.Content.Text())
	fmt.Println(len(model.Requests()), "requests")
	// Output:
	// That was loud.
	// 2 requests
}
