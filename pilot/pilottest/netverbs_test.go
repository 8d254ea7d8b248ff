package pilottest_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

func TestEveryVerbWithADaemonSaysThatItIsNotRunning(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.Stop("me")
		for _, args := range [][]string{
			{"send-message", "bob", "--data=x"}, {"send-file", "bob", "/f"}, {"trust"}, {"pending"}, {"handshake", "bob"},
			{"approve", "2"}, {"reject", "2"}, {"untrust", "2"}, {"find", "bob"}, {"peers"}, {"ping", "bob"},
			{"publish", "bob", "t", "--data=x"}, {"subscribe", "bob", "t"}, {"info"},
		} {
			f := run(t, n, me, append(args, "--json")...).failure(t)
			hint, _ := f["hint"].(string)
			if f["code"] != "not_running" || strings.Contains(hint, me.Socket) != (g != pilottest.V12) {
				t.Errorf("%q: %v", args, f)
			}
		}
		for _, args := range [][]string{{"inbox"}, {"received"}, {"lookup", "2"}} {
			run(t, n, me, append(args, "--json")...).data(t)
		}
	})
}

func TestASocketElsewhereIsADaemonThatIsNotRunning(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	r := runEnv(t, n, append(me.Env(), "PILOT_SOCKET="+filepath.Join(t.TempDir(), "x.sock")), "trust", "--json")
	if r.failure(t)["code"] != "not_running" {
		t.Errorf("%+v", r)
	}
}

func TestAnotherHomeHasAnotherMailboxButTheSameDaemon(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Deliver("me", pilottest.Message{From: "bob", Text: "x"})
	env := []string{"HOME=" + t.TempDir(), "PILOT_SOCKET=" + me.Socket}
	if data := runEnv(t, n, env, "inbox", "--json").data(t); data["total"] != 0.0 {
		t.Errorf("%v", data)
	}
	if data := runEnv(t, n, env, "find", "bob", "--json").data(t); data["node_id"] != 2.0 {
		t.Errorf("%v", data)
	}
}

func TestPeersAreNullWithoutATunnel(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		if peers, ok := run(t, n, me, "peers", "--json").data(t)["peers"]; peers != nil || !ok {
			t.Errorf("%v", peers)
		}
		n.Tunnel("me", "bob", true)
		row := run(t, n, me, "peers", "--json").data(t)["peers"].([]any)[0].(map[string]any)
		want := []string{"authenticated", "encrypted", "node_id", "relay"}
		if g == pilottest.V12 {
			want = []string{"authenticated", "encrypted", "endpoint", "node_id"}
		}
		if diff := cmp.Diff(want, keys(row)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPingReportsFailuresInItsRows(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		modern := g != pilottest.V12
		good := run(t, n, me, "ping", "bob", "--count=2", "--timeout=600s", "--json")
		if rows := good.data(t)["results"].([]any); len(rows) != 2 || good.status != 0 {
			t.Errorf("%+v", good)
		}
		n.Crash("bob")
		dead := run(t, n, me, "ping", "bob", "--count=1", "--timeout=10s", "--json")
		row := dead.data(t)["results"].([]any)[0].(map[string]any)
		if row["error"] != "dial: daemon: dial timeout" || dead.stderr != "" || (dead.status == 1) != modern {
			t.Errorf("%+v", dead)
		}
		later := run(t, n, me, "ping", "bob", "--count=3", "--timeout=10s", "--json")
		if later.data(t)["timeout"] != true || later.status != 0 {
			t.Errorf("%+v", later)
		}
		none := run(t, n, me, "ping", "bob", "--count=0", "--json")
		if (none.status == 2) != modern {
			t.Errorf("%+v", none)
		}
		negative := run(t, n, me, "ping", "bob", "--count=-1", "--json").data(t)
		if results, ok := negative["results"]; results != nil || !ok {
			t.Errorf("%v", negative)
		}
	})
}

func TestAMessageToADeadPeer(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		for name, down := range map[string]func(string){"crashed": n.Crash, "frozen": n.Freeze} {
			down("bob")
			f := run(t, n, me, "send-message", "bob", "--data=x", "--json").failure(t)
			if f["code"] != "connection_failed" || f["message"] != "cannot connect to 0:0000.0000.0002 (data exchange port 1001)" || f["hint"] == nil {
				t.Errorf("%s: %v", name, f)
			}
		}
		if g != pilottest.V116 {
			return
		}
		if f := run(t, n, me, "send-message", "bob", "--data=x", "--timeout=5s", "--json").failure(t); f["code"] != "timeout" {
			t.Errorf("%v", f)
		}
	})
}

func TestWithoutARegistryNamesAreUnknown(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, _ pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.StopRegistry()
		for _, args := range [][]string{{"find", "bob"}, {"send-message", "bob", "--data=x"}, {"handshake", "bob"}, {"subscribe", "bob", "t"}} {
			if f := run(t, n, me, append(args, "--json")...).failure(t); f["code"] != "not_found" {
				t.Errorf("%q: %v", args, f)
			}
		}
		if f := run(t, n, me, "handshake", "3", "--json").failure(t); f["code"] != "connection_failed" {
			t.Errorf("%v", f)
		}
	})
}

func TestPilotHomeMovesTheConfigurationSince113(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.Deliver("me", pilottest.Message{From: "bob", Text: "x"})
		env := append(me.Env(), "PILOT_HOME="+nodeOf(n, "bob").Home)
		data := runEnv(t, n, env, "info", "--json").data(t)
		if want := map[bool]string{true: "me", false: "bob"}[g == pilottest.V12]; data["hostname"] != want {
			t.Errorf("the daemon is that of %v", data["hostname"])
		}
		if data := runEnv(t, n, env, "inbox", "--json").data(t); data["total"] != 1.0 {
			t.Errorf("the mailbox moved: %v", data)
		}
	})
}

func TestAPeerThatDoesNotEcho(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Behave("bob", pilottest.Behaviour{NoEcho: true})
	r := run(t, n, me, "ping", "bob", "--count=1", "--json")
	if row := r.data(t)["results"].([]any)[0].(map[string]any); row["error"] == nil || row["rtt_ms"] == nil || r.status != 1 {
		t.Errorf("%+v", r)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.AddNode(pilottest.Node{Name: "shop", Public: true, Tags: []string{"news"}, Networks: []uint16{9}})
		data := run(t, n, me, "lookup", "4", "--json").data(t)
		if diff := cmp.Diff([]any{0.0, 9.0}, data["networks"]); diff != "" || (data["real_addr"] != nil) != (g == pilottest.V12) {
			t.Errorf("%v", data)
		}
		if f := run(t, n, me, "lookup", "99", "--json").failure(t); f["code"] != "connection_failed" {
			t.Errorf("%v", f)
		}
		n.StopRegistry()
		if f := run(t, n, me, "lookup", "4", "--json").failure(t); f["code"] != "connection_failed" || f["hint"] == nil {
			t.Errorf("%v", f)
		}
	})
}

func TestBroadcastCodes(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		token := append(me.Env(), "PILOT_ADMIN_TOKEN=secret")
		tests := []struct {
			env  []string
			args []string
			code string
			text string
		}{
			{token, []string{"9"}, "usage", ""},
			{token, []string{"nine", "hi"}, "usage", "nine"},
			{token, []string{"9", "hi", "--port=x"}, "usage", "port"},
			{me.Env(), []string{"9", "hi"}, "auth_required", ""},
			{append(me.Env(), "PILOT_ADMIN_TOKEN=wrong"), []string{"9", "hi"}, "broadcast_failed", "invalid admin token"},
			{token, []string{"0", "hi"}, "broadcast_failed", "not permitted on backbone network"},
			{token, []string{"8", "hi"}, "broadcast_failed", "is not a member of network"},
		}
		for _, test := range tests {
			f := runEnv(t, n, test.env, append([]string{"--json", "broadcast"}, test.args...)...).failure(t)
			want := test.code
			if g == pilottest.V12 {
				want = "unavailable"
			} else if !strings.Contains(f["message"].(string), test.text) {
				t.Errorf("%q: %v", test.args, f)
			}
			if f["code"] != want {
				t.Errorf("%q: %v", test.args, f)
			}
		}
		if g == pilottest.V12 {
			return
		}
		runEnv(t, n, token, "broadcast", "9", "hi", "--json").data(t)
		if frames := n.Broadcasts(9); len(frames) != 1 || string(frames[0].Data) != "hi" || frames[0].Port != 1000 {
			t.Errorf("%+v", frames)
		}
	})
}

func TestEventsReachALivingSubscription(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.Trust("carol", "bob")
		n.SetSpeed(1)
		got := make(chan result, 1)
		go func() { got <- run(t, n, me, "subscribe", "bob", "news", "--count=2", "--timeout=60s", "--json") }()
		waitUntil(t, func() bool { return n.Subscribers("bob", "news") == 1 })
		for _, text := range []string{"one", "two"} {
			cmd := append([]string{"publish", "bob", "news"}, "--data="+text, "--json")
			run(t, n, nodeOf(n, "carol"), cmd...).data(t)
		}
		events := (<-got).data(t)["events"].([]any)
		var texts []string
		for _, e := range events {
			texts = append(texts, e.(map[string]any)["data"].(string))
		}
		if diff := cmp.Diff([]string{"one", "two"}, texts); diff != "" {
			t.Error(diff)
		}
		if n.Subscribers("bob", "news") != 0 {
			t.Error("the subscription outlives its process")
		}
	})
}

// nodeOf finds a node's home by its name.
func nodeOf(n *pilottest.Network, name string) pilottest.Node {
	return pilottest.Node{Name: name, Home: filepath.Join(n.Dir, "homes", name)}
}

func waitUntil(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what the test waits for does not come")
		}
	}
}

func TestABrokerSince113TakesOnlyClientsItTrusts(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.AddNode(pilottest.Node{Name: "shop", Public: true})
		n.TrustOneWay("me", "shop")
		run(t, n, me, "publish", "shop", "news", "--data=x", "--json").data(t)
		r := run(t, n, me, "subscribe", "shop", "news", "--count=1", "--timeout=1s", "--json")
		if g == pilottest.V12 {
			if len(n.Published("shop")) != 1 || r.data(t)["timeout"] != true {
				t.Errorf("%+v", r)
			}
			return
		}
		if f := r.failure(t); f["code"] != "connection_failed" || f["message"] != "recv: EOF" || len(n.Published("shop")) != 0 {
			t.Errorf("%v", f)
		}
	})
}

func TestSubscriptionsEndInFourWays(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, _ pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.Feed("bob", "news", 0, "one")
		over := run(t, n, me, "subscribe", "bob", "news", "--count=3", "--timeout=2s", "--json").data(t)
		if over["timeout"] != true || len(over["events"].([]any)) != 1 {
			t.Errorf("timeout: %v", over)
		}
		stream := run(t, n, me, "subscribe", "bob", "news", "--timeout=2s", "--json")
		if stream.stdout != `{"bytes":3,"data":"one","topic":"news"}`+"\n" || stream.status != 0 {
			t.Errorf("stream: %+v", stream)
		}
		n.Behave("bob", pilottest.Behaviour{BreakEvents: true})
		broken := run(t, n, me, "subscribe", "bob", "news", "--count=3", "--timeout=2s", "--json").data(t)
		if broken["timeout"] != false || broken["error"] == nil {
			t.Errorf("broken: %v", broken)
		}
		n.ClearFeeds()
		silent := run(t, n, me, "subscribe", "bob", "news", "--count=3", "--timeout=2s", "--json")
		if silent.failure(t)["code"] != "connection_failed" {
			t.Errorf("broken at once: %+v", silent)
		}
	})
}

func TestNeighbouringCommands(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		if data := run(t, n, me, "context", "--json").data(t); data["version"] == nil || data["commands"] == nil {
			t.Errorf("%v", data)
		}
		if data := run(t, n, me, "info", "--json").data(t); data["hostname"] != "me" || (data["features"] != nil) != (g != pilottest.V12) {
			t.Errorf("%v", data)
		}
		if data := run(t, n, me, "daemon", "status", "--json").data(t); data["running"] != true {
			t.Errorf("%v", data)
		}
		if r := run(t, n, me, "health", "--json"); (r.status == 0) != (g != pilottest.V12) {
			t.Errorf("%+v", r)
		}
		n.Stop("me")
		if r := run(t, n, me, "daemon", "status", "--check"); r.status != 1 || r.stdout != "" {
			t.Errorf("%+v", r)
		}
	})
}

func TestTextIsPrintedWithoutTheJSONFlag(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Tunnel("me", "bob", false)
	for _, args := range [][]string{{"find", "bob"}, {"peers"}, {"trust"}, {"info"}, {"inbox"}} {
		if r := run(t, n, me, args...); r.status != 0 || r.stdout == "" || strings.HasPrefix(r.stdout, "{") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := run(t, n, me, "find", "nobody"); !strings.HasPrefix(r.stderr, "error: ") || !strings.Contains(r.stderr, "\nhint:  ") {
		t.Errorf("%+v", r)
	}
}
