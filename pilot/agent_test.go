package pilot

import (
	"strings"
	"testing"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/scripted"
	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// TestTheRealAgentLoopRunsTheTools goes the way that the descriptions teach:
// search, help, query, then a message to a peer.
func TestTheRealAgentLoopRunsTheTools(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		model := &scripted.Model{Turns: []scripted.Turn{
			{Calls: []scripted.Call{{Tool: "pilot_search", Input: `{"keyword":"bitcoin"}`}, {Tool: "pilot_peers", Input: ``}}},
			{Calls: []scripted.Call{{Tool: "pilot_help", Input: `{"agent":"bitstamp"}`}}},
			{Calls: []scripted.Call{{Tool: "pilot_query", Input: `{"agent":"bitstamp","filters":{"pair":"btcusd"}}`}}},
			{Calls: []scripted.Call{{Tool: "pilot_send", Input: `{"peer":"bob","message":"--it is 67123.50"}`}, {Tool: "pilot_send", Input: `{"peer":"bob"}`}}},
			{Text: "Bob knows."},
		}}
		agent := fantasy.NewAgent(model, fantasy.WithTools(NewTools(s.client)...), fantasy.WithStopConditions(fantasy.StepCountIs(8)))
		result, err := agent.Generate(t.Context(), fantasy.AgentCall{Prompt: "Tell Bob the price of bitcoin."})
		if err != nil {
			t.Fatal(err)
		}
		var read []string
		for _, step := range result.Steps {
			for _, r := range step.Content.ToolResults() {
				switch out := r.Result.(type) {
				case fantasy.ToolResultOutputContentText:
					read = append(read, out.Text)
				case fantasy.ToolResultOutputContentError:
					read = append(read, "error: "+out.Error.Error())
				}
			}
		}
		all := strings.Join(read, "\n--\n")
		for _, part := range []string{"bitstamp: Bitcoin and other tickers", "/data filters: pair", `{"pair":"btcusd","last":67123.50,"note":"a<b & c>d"}`, "hello to you", "error: "} {
			if !strings.Contains(all, part) {
				t.Errorf("%q is missing in\n%s", part, all)
			}
		}
		if mails := s.Inbox("bob"); len(mails) != 1 || mails[0].Text != "--it is 67123.50" {
			t.Errorf("bob has %+v", mails)
		}
	})
}
