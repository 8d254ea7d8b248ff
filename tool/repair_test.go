//go:build unix

package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/scripted"
)

func TestAnAgentRunsNoCallWhoseInputBrokeOff(t *testing.T) {
	for _, tc := range []struct{ name, input, want string }{
		{"an input that broke off is not run", `{"args":["first","sec`, "error: invalid JSON input"},
		{"an input with a comma too many is not run", `{"args":["first",]}`, "error: invalid JSON input"},
		{"an empty input reaches the tool", "", "error: Nothing was run: provide args, stdin, or both."},
		{"null reaches the tool", "null", "error: Nothing was run: provide args, stdin, or both."},
		{"a whole input is run", `{"args":["first"]}`, "ran"},
	} {
		for name, generate := range map[string]bool{"Generate": true, "Stream": false} {
			t.Run(tc.name+" by "+name, func(t *testing.T) {
				work := t.TempDir()
				writeFile(t, filepath.Join(work, "program"), "#!/bin/sh\ntouch ran\necho ran\n", 0o755)
				tools, err := LoadTools([]Def{{Name: "it", Description: "It.", Binary: "./program"}}, work, nil)
				if err != nil {
					t.Fatal(err)
				}
				model := &scripted.Model{Turns: []scripted.Turn{{Calls: []scripted.Call{{Tool: "it", Input: tc.input}}}, {Text: "Done."}}}
				if generate {
					agent := fantasy.NewAgent(model, fantasy.WithTools(tools...), fantasy.WithRepairToolCall(RepairToolCall))
					_, err = agent.Generate(t.Context(), fantasy.AgentCall{Prompt: "Go."})
				} else {
					agent := fantasy.NewAgent(model, fantasy.WithTools(tools...))
					_, err = agent.Stream(t.Context(), fantasy.AgentStreamCall{Prompt: "Go.", RepairToolCall: RepairToolCall})
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := shownText(t, results(model.Requests()[1])[0]); !strings.HasPrefix(got, tc.want) {
					t.Errorf("the model reads %q, want %q", got, tc.want)
				}
				if _, err := os.Stat(filepath.Join(work, "ran")); (err == nil) != (tc.want == "ran") {
					t.Errorf("whether the program ran: %v", err == nil)
				}
			})
		}
	}
}
