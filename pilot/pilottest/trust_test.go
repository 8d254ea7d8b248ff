package pilottest_test

import (
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

func TestAHandshakeBecomesTrustInSteps(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.SetDelays(pilottest.Delays{Request: time.Hour, Accept: time.Hour})
		if data := run(t, n, me, "handshake", "carol", "hi", "--json").data(t); data["status"] != "sent" {
			t.Errorf("%v", data)
		}
		again := run(t, n, me, "handshake", "carol", "hi", "--json")
		if g == pilottest.V12 {
			if again.failure(t)["code"] != "connection_failed" {
				t.Errorf("%+v", again)
			}
		} else if again.data(t)["status"] != "in_flight" {
			t.Errorf("%+v", again)
		}
		if held := n.Pending("carol"); held != nil {
			t.Errorf("carol holds %v too early", held)
		}
		n.Settle()
		if held := n.Pending("carol"); len(held) != 1 || held[0] != "me" {
			t.Errorf("carol holds %v", held)
		}
		n.Approve("carol", "me")
		if !n.Trusts("carol", "me") || n.Trusts("me", "carol") {
			t.Error("an approval must be known to the approver first")
		}
		n.Settle()
		rows := run(t, n, me, "trust", "--json").data(t)["trusted"].([]any)
		for _, row := range rows {
			if r := row.(map[string]any); r["node_id"] == 3.0 && r["mutual"] != true {
				t.Errorf("the requester's record is %v", r)
			}
		}
		run(t, n, me, "send-message", "carol", "--data=x", "--json").data(t)
	})
}

func TestApprovingNobodySucceedsAndChangesNothing(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, _ pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		run(t, n, me, "approve", "3", "--json").data(t)
		run(t, n, me, "reject", "3", "--json").data(t)
		if n.Trusts("me", "carol") {
			t.Error("trust without a request")
		}
	})
}

func TestUntrustIsToldToTheOtherSideBy113AndLater(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		run(t, n, me, "untrust", "2", "--json").data(t)
		if n.Trusts("me", "bob") || n.Trusts("bob", "me") != (g == pilottest.V12) {
			t.Error("the wrong side forgot")
		}
		if f := run(t, n, me, "untrust", "2", "--json").failure(t); f["code"] != "connection_failed" {
			t.Errorf("%v", f)
		}
		r := run(t, n, me, "send-message", "bob", "--data=x", "--json")
		want := map[bool]string{true: "connection_failed", false: "trust_required"}[g == pilottest.V12]
		if r.failure(t)["code"] != want {
			t.Errorf("%+v", r)
		}
	})
}

func TestARevokedPeerCannotAskAgainUntilWeAsk(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.SetSpeed(1)
	run(t, n, me, "untrust", "bob", "--json").data(t)
	n.Request("bob", "me", "again")
	if held := n.Pending("me"); held != nil {
		t.Errorf("held %v", held)
	}
	run(t, n, me, "handshake", "bob", "--json").data(t)
	n.Request("bob", "me", "again")
	if !n.Trusts("me", "bob") {
		t.Error("who asks each other trusts each other")
	}
}

func TestNodeArgumentsAreNumbersIn12AndAnythingLater(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		for _, verb := range []string{"lookup", "approve", "reject"} {
			for _, arg := range []string{"bob", "0:0000.0000.0002"} {
				r := run(t, n, me, verb, arg, "--json")
				if (r.status == 0) != (g != pilottest.V12) {
					t.Errorf("%s %s: %+v", verb, arg, r)
				}
			}
		}
	})
}

func TestTheGateTriesAHandshakeWithPublicPeersOnly(t *testing.T) {
	t.Parallel()
	for _, g := range []pilottest.Generation{pilottest.V113, pilottest.V116} {
		n, me := smallNetwork(t, g)
		n.AddNode(pilottest.Node{Name: "shop", Public: true, AutoApprove: true})
		if f := run(t, n, me, "ping", "carol", "--count=1", "--json").failure(t); f["code"] != "trust_required" || f["hint"] == nil {
			t.Errorf("%v", f)
		}
		run(t, n, me, "ping", "shop", "--count=1", "--json").data(t)
		if !n.Trusts("shop", "me") || !n.Trusts("me", "shop") {
			t.Error("the gate made no trust")
		}
		n.Untrust("me", "shop")
		n.StopRegistry()
		if f := run(t, n, me, "ping", "4", "--count=1", "--json").failure(t); f["code"] != "trust_required" {
			t.Errorf("%v", f)
		}
	}
}

func TestTheListOfServiceAgents(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.Specialist("weather", pilottest.Script{})
		r := run(t, n, me, "trusted", "list", "--json")
		switch g {
		case pilottest.V12:
			r.failure(t)
		case pilottest.V113:
			if r.status != 0 || r.stdout == "" || r.stdout[0] == '{' {
				t.Errorf("1.13 prints a table: %+v", r)
			}
		default:
			if data := r.data(t); data["count"] != 1.0 {
				t.Errorf("%v", data)
			}
		}
	})
}
