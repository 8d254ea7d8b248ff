package bridge_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"charm.land/fantasy"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fantasytools/fantasytools/tool"
)

// cost is what three calls took, made in turns: /bin/true directly, /bin/true through
// the bridge, and through the bridge a tool that does nothing, which is what the
// protocol itself costs.
type cost struct{ direct, bridge, protocol []time.Duration }

// times returns by how much a call through the bridge, without the protocol, costs
// more than a direct one, by the medians.
func (c *cost) times() float64 {
	return float64(median(c.bridge)-median(c.protocol)) / float64(median(c.direct))
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// measure returns a function that makes the three calls.
func measure(t testing.TB) (c *cost, round func()) {
	t.Helper()
	tools, err := tool.LoadTools([]tool.Def{{Name: "true", Description: "Does nothing well.", Binary: "true", Parallel: true}}, "", nil)
	if err != nil {
		t.Skip(err) // not on Windows
	}
	empty := answers(fantasy.NewTextResponse("(exit 0, no output)"), nil)
	empty.info.Parallel = true
	session, _ := serve(t, append(tools, empty), nil, nil)
	timed := func(call func() error) time.Duration {
		started := time.Now()
		if err := call(); err != nil {
			t.Fatal(err)
		}
		return time.Since(started)
	}
	through := func(name string) func() error {
		return func() error {
			_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"args": []string{"x"}}})
			return err
		}
	}
	direct := func() error {
		_, err := tools[0].Run(context.Background(), fantasy.ToolCall{Name: "true", Input: `{"args":["x"]}`})
		return err
	}
	c = &cost{}
	return c, func() {
		c.direct = append(c.direct, timed(direct))
		c.bridge = append(c.bridge, timed(through("true")))
		c.protocol = append(c.protocol, timed(through("fake")))
	}
}

// BenchmarkBridge reports, besides the three times, x-direct: what a call through the
// bridge costs without the protocol, as a multiple of a direct one.
func BenchmarkBridge(b *testing.B) {
	c, round := measure(b)
	for b.Loop() {
		round()
	}
	for unit, took := range map[string][]time.Duration{"direct-us": c.direct, "bridge-us": c.bridge, "protocol-us": c.protocol} {
		b.ReportMetric(float64(median(took).Nanoseconds())/1000, unit)
	}
	b.ReportMetric(c.times(), "x-direct")
	b.ReportMetric(0, "ns/op") // of the three together it says nothing
}

// The bound is for a machine that does much else; the benchmark shows 1.2 and less.
func TestTheBridgeAddsLittleToACall(t *testing.T) {
	const bound, attempts, rounds = 1.5, 5, 60
	for range attempts {
		c, round := measure(t)
		for range rounds {
			round()
		}
		if c.times() <= bound {
			return
		}
		t.Logf("%.2f times a direct call", c.times())
	}
	t.Errorf("in %d attempts a call through the bridge cost more than %v times a direct one", attempts, bound)
}
