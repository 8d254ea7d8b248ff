package pilottest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// ask sends a message and returns the text of the reply.
func ask(t *testing.T, n *pilottest.Network, me pilottest.Node, peer, text string) string {
	t.Helper()
	reply, _ := run(t, n, me, "send-message", peer, "--data="+text, "--wait=60s", "--json").data(t)["reply"].(map[string]any)
	got, _ := reply["data"].(string)
	return got
}

func TestTheDirectoryMatchesTokensLiterally(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Directory(
		pilottest.Agent{Hostname: "btc", Description: "bitcoin price, hourly"},
		pilottest.Agent{Hostname: "eth", Description: "ether price", Category: "crypto"},
		pilottest.Agent{Hostname: "rain", Description: "weather"},
	)
	tests := map[string][]string{
		`{"search":"price","limit":10}`: {"btc", "eth"},
		`{"search":"price","limit":1}`:  {"btc"},
		`{"search":"Crypto","limit":9}`: {"eth"},
		`{"search":"bitcoi","limit":9}`: {},
		`{"search":"rain","limit":9}`:   {"rain"},
		`{"limit":150}`:                 {"btc", "eth", "rain"},
	}
	for filters, want := range tests {
		var got struct {
			Count, Total int
			Tiers        map[string]struct{ Items []pilottest.Agent }
		}
		if err := json.Unmarshal([]byte(ask(t, n, me, "list-agents", "/data "+filters)), &got); err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, a := range got.Tiers["free"].Items {
			names = append(names, a.Hostname)
		}
		if diff := cmp.Diff(want, names); diff != "" || got.Count != len(want) || got.Total != 3 {
			t.Errorf("%s: %+v\n%s", filters, got, diff)
		}
	}
}

func TestAScriptIsLookedThroughInOrder(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Specialist("all", pilottest.Script{
		Help: "help", Data: "data", Summary: "summary", Default: "default",
		Replies: map[string]string{"/data {}": "exactly", "/echo": "by the first word"},
	})
	got := map[string]string{}
	for _, text := range []string{"/help", "/data {}", `/data {"a":1}`, "/summary", "/summary why", "/echo x", "hello"} {
		got[text] = ask(t, n, me, "all", text)
	}
	want := map[string]string{
		"/help": "help", "/data {}": "exactly", `/data {"a":1}`: "data", "/summary": "summary", "/summary why": "summary",
		"/echo x": "by the first word", "hello": "default",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestALongReplyIsCutWithTheMarkerAndStaysUTF8(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	text := strings.Repeat("é", 10_000)
	n.Specialist("long", pilottest.Script{Data: "x" + text})
	n.Specialist("whole", pilottest.Script{Data: text, Limit: -1})
	got := ask(t, n, me, "long", "/data {}")
	body, ok := strings.CutSuffix(got, "... (truncated, 20001 bytes total)")
	if !ok || len(body) > pilottest.DefaultReplyLimit || len(body) < pilottest.DefaultReplyLimit-3 || !strings.HasSuffix(body, "é") {
		t.Errorf("%d bytes, ends %q", len(got), got[len(got)-50:])
	}
	if got := ask(t, n, me, "whole", "/data {}"); got != text {
		t.Errorf("%d bytes of %d", len(got), len(text))
	}
}

func TestAScriptMayBeAFunctionOfTheTest(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Answer("bob", pilottest.Script{Func: func(from, text string) []pilottest.Reply {
		if text == "silence" {
			return nil
		}
		return []pilottest.Reply{
			{Text: "not mine", From: "carol"},
			{Text: fmt.Sprintf("%s said %q", from, text), Type: "json", Delay: time.Second},
		}
	}})
	if got := ask(t, n, me, "bob", "a\n\xe2\x82\xac"); got != `me said "a\n€"` {
		t.Errorf("%q", got)
	}
	if mail := n.Inbox("me"); len(mail) != 2 || mail[0].From != "0:0000.0000.0003" || mail[1].Type != "JSON" {
		t.Errorf("%+v", mail)
	}
	r := run(t, n, me, "send-message", "bob", "--data=silence", "--wait=2s", "--no-resend", "--json")
	if r.failure(t)["code"] != "timeout" {
		t.Errorf("%+v", r)
	}
}

func TestAScriptWithFuncOfAClosedNetworkIsNoSilence(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Answer("bob", pilottest.Script{Func: func(string, string) []pilottest.Reply { return nil }})
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	r := run(t, n, me, "send-message", "bob", "--data=x", "--wait=1s", "--json")
	if r.status != 70 || !strings.Contains(r.stderr, "pilottest:") {
		t.Errorf("%+v", r)
	}
}
