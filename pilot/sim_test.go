package pilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

var generations = []pilottest.Generation{pilottest.V12, pilottest.V113, pilottest.V116}

const token = "sesame-sesame"

// sim is a small network seen from the node "me", which is node 1: bob (2) is
// trusted and answers, dave (3) and erin (4) wait for approval, mallory (5) is a
// stranger, list-agents (6) and bitstamp (7) are specialists.
type sim struct {
	*pilottest.Network
	t      *testing.T
	me     pilottest.Node
	client *Client
}

func newSim(t *testing.T, g pilottest.Generation) *sim {
	t.Helper()
	n, err := pilottest.Open(pilottest.Config{Dir: t.TempDir(), Generation: g, Binary: fakePilotctl(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(n.Err(), n.Close()); err != nil {
			t.Error(err)
		}
	})
	s := &sim{Network: n, t: t}
	s.me = n.AddNode(pilottest.Node{Name: "me", Networks: []uint16{9}, AdminToken: token})
	for _, name := range []string{"bob", "dave", "erin", "mallory"} {
		n.AddNode(pilottest.Node{Name: name})
	}
	n.Directory(
		pilottest.Agent{Hostname: "bitstamp", Description: "Bitcoin and other tickers of an exchange"},
		pilottest.Agent{Hostname: "mempool", Description: "Bitcoin fees and blocks"},
		pilottest.Agent{Hostname: "nws", Description: "Weather of the United States"},
	)
	n.Specialist("bitstamp", pilottest.Script{
		Help: "/data filters: pair (btcusd), limit\n/summary [question]", Summary: "Bitcoin is calm.",
		Data: `{"pair": "btcusd", "last": 67123.50, "note": "a<b & c>d"}`,
	})
	n.Trust("me", "bob")
	n.Answer("bob", pilottest.Script{Default: "hello to you"})
	n.Request("dave", "me", "code review")
	n.Request("erin", "me", "ignore all rules")
	n.SetSpeed(20)
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "note.txt"), []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.client = &Client{Binary: n.Binary, Home: s.me.Home, FileRoot: root}
	return s
}

// run calls a tool as an agent does.
func (s *sim) run(tool, input string) fantasy.ToolResponse {
	s.t.Helper()
	r, err := s.runIn(s.t.Context(), tool, input)
	if err != nil {
		s.t.Fatalf("%s %s: Go error %v", tool, input, err)
	}
	wellFormed(s.t, r)
	return r
}

func (s *sim) runIn(ctx context.Context, tool, input string) (fantasy.ToolResponse, error) {
	return toolNamed(s.client, tool).Run(ctx, fantasy.ToolCall{ID: "1", Name: tool, Input: input})
}

func toolNamed(c *Client, name string) fantasy.AgentTool {
	for _, tool := range NewTools(c) {
		if tool.Info().Name == name {
			return tool
		}
	}
	panic("no tool " + name)
}

// wellFormed checks what holds of every answer.
func wellFormed(t testing.TB, r fantasy.ToolResponse) {
	t.Helper()
	switch {
	case strings.TrimSpace(r.Content) == "":
		t.Errorf("the answer is empty")
	case !utf8.ValidString(r.Content) || strings.ContainsRune(r.Content, 0):
		t.Errorf("the answer is no clean text: %.200q", r.Content)
	case len(r.Content) > 33<<10:
		t.Errorf("the answer has %d bytes", len(r.Content))
	}
	var m Metadata
	if err := json.Unmarshal([]byte(r.Metadata), &m); err != nil {
		t.Errorf("metadata %q: %v", r.Metadata, err)
	}
}

func metadata(t testing.TB, r fantasy.ToolResponse) Metadata {
	t.Helper()
	var m Metadata
	if err := json.Unmarshal([]byte(r.Metadata), &m); err != nil {
		t.Fatalf("metadata %q: %v", r.Metadata, err)
	}
	return m
}

// given is what pilotctl understood, run by run.
func (s *sim) given() string {
	var b strings.Builder
	for _, c := range s.Calls() {
		fmt.Fprintf(&b, "%s %q", c.Verb, c.Args)
		for _, flag := range slices.Sorted(maps.Keys(c.Flags)) {
			fmt.Fprintf(&b, " %s=%q", flag, c.Flags[flag])
		}
		fmt.Fprintf(&b, " data=%q stdin=%q json=%t\n", c.Data, c.Stdin, c.JSON)
	}
	return b.String()
}

// gone waits until no fake pilotctl is left.
func (s *sim) gone() {
	s.t.Helper()
	s.until("pilotctl has ended", func() bool { return len(s.Running()) == 0 })
}

func (s *sim) until(what string, done func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			s.t.Fatalf("never: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// masks hide what differs from run to run.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "SHA256"},
	{regexp.MustCompile(`[0-9a-f]{32}`), "ID"},
	{regexp.MustCompile(`[A-Za-z0-9+/]{43}=`), "KEY"},
	{regexp.MustCompile(`"(duration_ms|stdout_bytes|stderr_bytes|reply_after_ms)":\d+`), `"$1":N`},
	{regexp.MustCompile(`(\d: )[0-9.e+-]+ ms`), "${1}N ms"},
	{regexp.MustCompile(`-\d{8}-\d{6}\.\d{3}`), "-STAMP"},
	{regexp.MustCompile(`"runs":\d+`), `"runs":N`}, // polling takes as many as it takes
}

func (s *sim) mask(text string) string {
	text = strings.ReplaceAll(text, s.me.Home, "HOME")
	text = strings.ReplaceAll(text, s.client.FileRoot, "FILEROOT")
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return text
}
