package pilottest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

func TestEveryVerbSucceedsOnAHealthyNetwork(t *testing.T) {
	t.Parallel()
	n := pilottest.New(t, pilottest.V116)
	n.SetSpeed(100)
	me := n.AddNode(pilottest.Node{Name: "me", Networks: []uint16{9}, AdminToken: "s"})
	n.AddNode(pilottest.Node{Name: "bob"})
	n.AddNode(pilottest.Node{Name: "carol"})
	n.Trust("me", "bob")
	n.Request("carol", "me", "please")
	n.Directory(pilottest.Agent{Hostname: "btc-price", Description: "bitcoin ticker"})
	n.Specialist("btc-price", pilottest.Script{Help: "/data {}", Data: `{"price":1}`, Summary: "up"})
	n.Answer("bob", pilottest.Script{Func: func(from, text string) []pilottest.Reply {
		return []pilottest.Reply{{Text: from + " said " + text}}
	}})
	n.Feed("bob", "news", 0, "one", "two")
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"send-message", "list-agents", `--data=/data {"search":"bitcoin","limit":10}`, "--wait=30s"},
		{"send-message", "btc-price", "--data=/help", "--wait=30s"},
		{"send-message", "btc-price", "--data=/data {}", "--wait=30s"},
		{"send-message", "btc-price", "--data=/summary why", "--wait=60s"},
		{"send-message", "bob", "--data=--dash", "--wait=30s"},
		{"send-file", "bob", file},
		{"inbox", "--limit=5", "--full"},
		{"received"},
		{"trust"}, {"pending"},
		{"handshake", "carol", "because"},
		{"approve", "carol"}, {"reject", "carol", "no"}, {"untrust", "carol"},
		{"find", "bob"}, {"lookup", "bob"}, {"peers"}, {"ping", "bob", "--count=1", "--timeout=1s"},
		{"broadcast", "9", "hi"},
		{"publish", "bob", "news", "--data=x"},
		{"subscribe", "bob", "news", "--count=2", "--timeout=5s"},
		{"trusted", "list"},
	} {
		r := runEnv(t, n, append(me.Env(), "PILOT_ADMIN_TOKEN=s"), append(args, "--json")...)
		if data := r.data(t); len(data) == 0 || r.stderr != "" || r.status != 0 {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
