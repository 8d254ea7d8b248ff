package pilot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// BenchmarkVerb compares a verb, as a method and as a tool, with a bare run of
// the same pilotctl. The three take turns, and of each the tenth of a hundred
// fastest counts: the slower ones were disturbed by other programs.
func BenchmarkVerb(b *testing.B) {
	n, err := pilottest.Open(pilottest.Config{Dir: b.TempDir(), Generation: pilottest.V116, Binary: fakePilotctl(b)})
	if err != nil {
		b.Fatal(err)
	}
	me := n.AddNode(pilottest.Node{Name: "me"})
	n.AddNode(pilottest.Node{Name: "bob"})
	n.Trust("me", "bob")
	c := &Client{Binary: n.Binary, Home: me.Home}
	tool := toolNamed(c, "pilot_find")
	env := c.environ()
	bare := func() error {
		cmd := exec.CommandContext(b.Context(), n.Binary, "--json", "find", "bob")
		var stdout, stderr bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &stdout, &stderr
		return cmd.Run()
	}
	method := func() error {
		_, err := c.Find(b.Context(), FindInput{Hostname: "bob"})
		return err
	}
	asTool := func() error {
		r, err := tool.Run(b.Context(), fantasy.ToolCall{Name: "pilot_find", Input: `{"hostname":"bob"}`})
		if err == nil && r.IsError {
			err = fmt.Errorf("%s", r.Content)
		}
		return err
	}
	ways := []func() error{bare, method, asTool}
	took := make([][]time.Duration, len(ways))
	for turn := 0; b.Loop(); turn++ {
		for i := range ways {
			i = (i + turn) % len(ways)
			start := time.Now()
			if err := ways[i](); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(start))
		}
		n.ForgetCalls()
	}
	for i := range took {
		slices.Sort(took[i])
	}
	undisturbed := func(i int) float64 { return float64(took[i][len(took[i])/10].Microseconds()) }
	b.ReportMetric(undisturbed(0), "bare-µs")
	b.ReportMetric(undisturbed(1)/undisturbed(0), "method/bare")
	b.ReportMetric(undisturbed(2)/undisturbed(0), "tool/bare")
}

// TestTheModelReadsAtMostHalfOfTheEnvelope compares with what a bridge shows
// that passes pilotctl's envelope on, indented by two blanks. -v prints the
// table.
func TestTheModelReadsAtMostHalfOfTheEnvelope(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for _, g := range generations {
		s := newSim(t, g)
		s.Deliver("me", pilottest.Message{From: "bob", Text: "Lunch at noon?"})
		s.Deliver("me", pilottest.Message{From: "bob", Text: "{\"status\":\"done\",\"files\":[\"a.txt\",\"b.txt\"]}", Type: "json"})
		for _, call := range [][3]string{
			{"pilot_inbox", `{}`, "inbox"},
			{"pilot_search", `{"keyword":"bitcoin"}`, "send-message"}, {"pilot_query", `{"agent":"bitstamp"}`, "send-message"},
			{"pilot_trust_check", `{"target":"bob"}`, ""}, {"pilot_trust_check", `{"target":"5"}`, ""},
		} {
			s.ForgetCalls()
			r := s.run(call[0], call[1])
			envelope := 0
			for _, c := range s.Calls() {
				// 1.2 gives the reply by way of the inbox, which is not counted: the
				// envelope would be larger still.
				if call[2] == "" || c.Verb == call[2] || g == pilottest.V12 && c.Verb == "inbox" && envelope < 2 {
					envelope += len(pretty(t, c.Stdout+c.Stderr))
				}
			}
			if g == pilottest.V12 && call[2] == "send-message" {
				continue // its envelope has no answer to compare with
			}
			fmt.Fprintf(&table, "%-5s %-18s %5d of %5d bytes (%d%%)\n", g, call[0], len(r.Content), envelope, 100*len(r.Content)/envelope)
			if r.IsError || 2*len(r.Content) > envelope {
				t.Errorf("%s %s: %d bytes of %d:\n%s", g, call[0], len(r.Content), envelope, r.Content)
			}
		}
	}
	t.Log("\n" + table.String())
}

func pretty(t *testing.T, envelope string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(envelope), "", "  "); err != nil {
		return []byte(envelope)
	}
	return bytes.TrimSpace(b.Bytes())
}
