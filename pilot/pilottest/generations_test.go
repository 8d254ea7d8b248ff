package pilottest_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

var generations = []pilottest.Generation{pilottest.V12, pilottest.V113, pilottest.V116}

// eachGeneration runs a test on three networks with me and bob, who trust each
// other, and carol, who is private and a stranger.
func eachGeneration(t *testing.T, test func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node)) {
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			n, me := smallNetwork(t, g)
			test(t, g, n, me)
		})
	}
}

func smallNetwork(t *testing.T, g pilottest.Generation) (*pilottest.Network, pilottest.Node) {
	t.Helper()
	n := pilottest.New(t, g)
	n.SetSpeed(100)
	me := n.AddNode(pilottest.Node{Name: "me", Networks: []uint16{9}, AdminToken: "secret"})
	n.AddNode(pilottest.Node{Name: "bob"})
	n.AddNode(pilottest.Node{Name: "carol"})
	n.Trust("me", "bob")
	return n, me
}

func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func TestGlobalFlagsVanishWhereverTheyStand(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		run(t, n, me, "--json", "handshake", "bob", "--verbose", "-v")
		got := n.LastCall()
		want := []string{"bob"}
		if g == pilottest.V12 {
			want = []string{"bob", "--verbose", "-v"}
		}
		if diff := cmp.Diff(want, got.Args); diff != "" || got.Verb != "handshake" || !got.JSON {
			t.Errorf("%+v\n%s", got, diff)
		}
	})
}

func TestAHelpFlagAnywhereIsASilentSuccessSince113(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		for _, flag := range []string{"-h", "--help"} {
			r := run(t, n, me, "handshake", "bob", flag, "--json")
			if helped := r.stdout == "" && r.status == 0 && strings.Contains(r.stderr, "usage"); helped == (g == pilottest.V12) {
				t.Errorf("%s: %+v", flag, r)
			}
		}
	})
}

func TestWordsInPlaceOfACommand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args   []string
		status map[pilottest.Generation]int
		stdout map[pilottest.Generation]string // "": nothing
	}{
		{nil, statuses(2, 2, 2), nil},
		{[]string{"--json"}, statuses(2, 2, 2), nil},
		{[]string{"help"}, statuses(2, 2, 0), map[pilottest.Generation]string{pilottest.V116: "usage"}},
		{[]string{"-h"}, statuses(2, 2, 0), map[pilottest.Generation]string{pilottest.V116: "usage"}},
		{[]string{"nonsense"}, statuses(2, 2, 2), nil},
		{[]string{"nonsense", "--json"}, statuses(1, 1, 1), nil},
		{[]string{"version", "--json"}, statuses(1, 0, 0), map[pilottest.Generation]string{pilottest.V113: "v1.13", pilottest.V116: "v1.16"}},
		{[]string{"--version"}, statuses(2, 2, 0), map[pilottest.Generation]string{pilottest.V116: "v1.16"}},
	}
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		for _, test := range tests {
			r := run(t, n, me, test.args...)
			want := test.stdout[g]
			if r.status != test.status[g] || !strings.HasPrefix(r.stdout, want) || want == "" && r.stdout != "" {
				t.Errorf("%q: %+v", test.args, r)
			}
		}
	})
}

func statuses(old, v113, v116 int) map[pilottest.Generation]int {
	return map[pilottest.Generation]int{pilottest.V12: old, pilottest.V113: v113, pilottest.V116: v116}
}

func TestEnvelopesHaveTheKeysOfTheGeneration(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.SetMotd("update <now>")
		good := run(t, n, me, "find", "bob", "--json")
		bad := run(t, n, me, "find", "nobody", "--json")
		modern := g != pilottest.V12
		if strings.Contains(good.stdout, `"important_update":"update \u003cnow\u003e"`) != modern {
			t.Errorf("success: %s", good.stdout)
		}
		want := []string{"code", "hint", "message", "status"}
		if modern {
			want = []string{"code", "error", "hint", "important_update", "message", "status"}
		}
		if diff := cmp.Diff(want, keys(bad.failure(t))); diff != "" || bad.stdout != "" || bad.status != 1 {
			t.Errorf("error: %+v\n%s", bad, diff)
		}
	})
}

func TestASendHasTheFieldsOfTheGeneration(t *testing.T) {
	t.Parallel()
	common := []string{"ack", "bytes", "target", "type"}
	want := map[pilottest.Generation][]string{
		pilottest.V12:  common,
		pilottest.V113: {"ack", "bytes", "reused", "seq", "target", "to", "type"},
		pilottest.V116: {"ack", "bytes", "first_contact", "message_id", "reused", "seq", "tagged", "target", "to", "type"},
	}
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		data := run(t, n, me, "send-message", "bob", "--data=--dash", "--json").data(t)
		if diff := cmp.Diff(want[g], keys(data)); diff != "" || data["ack"] != "ACK TEXT 6 bytes" {
			t.Errorf("%v\n%s", data, diff)
		}
		mail := n.Inbox("bob")
		if len(mail) != 1 || mail[0].Text != "--dash" || mail[0].From != me.Address {
			t.Errorf("bob has %+v", mail)
		}
	})
}

func TestASendThatFailsLooksLikeSuccessBefore116(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		b      pilottest.Behaviour
		code   string // of 1.16
		data   string // a key that 1.13 shows, with a value that begins so
		expect string
	}{
		{"the receiver cannot store it", pilottest.Behaviour{ErrAck: "disk full"}, "internal", "ack", "ERR TEXT save failed: disk full"},
		{"it is never acknowledged", pilottest.Behaviour{NoAck: true}, "connection_failed", "ack", ""},
		{"it cannot be written", pilottest.Behaviour{SendError: "connection reset"}, "connection_failed", "error", "connection reset"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
				n.Behave("bob", test.b)
				r := run(t, n, me, "send-message", "bob", "--data=x", "--json")
				if g == pilottest.V116 {
					if got := r.failure(t)["code"]; got != test.code || r.status != 1 {
						t.Errorf("%+v", r)
					}
					return
				}
				got, _ := r.data(t)[test.data].(string)
				if g == pilottest.V113 && got != test.expect || r.status != 0 {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

func TestWaitingForAReply(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.Answer("bob", pilottest.Script{Default: "pong"})
		r := run(t, n, me, "send-message", "bob", "--data=ping", "--wait=30s", "--json")
		reply, _ := r.data(t)["reply"].(map[string]any)
		if g == pilottest.V12 {
			if reply != nil || len(n.Inbox("me")) != 1 {
				t.Errorf("1.2 cannot wait, yet has its mail: %v, %v", reply, n.Inbox("me"))
			}
			return
		}
		if reply["data"] != "pong" || reply["id"] != nil {
			t.Errorf("the reply is %v", reply)
		}
		run(t, n, me, "inbox", "--clear", "--json").data(t)
		n.Answer("bob", pilottest.Script{Default: "late", Delay: time.Hour})
		late := run(t, n, me, "send-message", "bob", "--data=ping2", "--wait=30s", "--no-resend", "--json")
		f := late.failure(t)
		if f["code"] != "timeout" || (f["hint"] != nil) != (g == pilottest.V116) {
			t.Errorf("%v", f)
		}
		n.Settle()
		if mail := n.Inbox("me"); mail[len(mail)-1].Text != "late" {
			t.Errorf("the late reply is not in the inbox: %+v", mail)
		}
	})
}

func TestAFailedSendWithWaitEndsAsATimeoutIn113(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V113)
	n.Behave("bob", pilottest.Behaviour{ErrAck: "disk full"})
	r := run(t, n, me, "send-message", "bob", "--data=x", "--wait=2s", "--json")
	if r.failure(t)["code"] != "timeout" {
		t.Errorf("%+v", r)
	}
}

func Test113TakesAnyRecentMailOfThePeerAndHasNoIDs(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V113)
	n.Deliver("me", pilottest.Message{From: "bob", Text: "unrelated"})
	r := run(t, n, me, "send-message", "bob", "--data=x", "--wait=2s", "--json")
	if reply := r.data(t)["reply"].(map[string]any); reply["data"] != "unrelated" {
		t.Errorf("%v", reply)
	}
}

func Test116MatchesRepliesByID(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Deliver("me", pilottest.Message{From: "bob", Text: "unrelated"})
	n.Answer("bob", pilottest.Script{Func: func(_, text string) []pilottest.Reply {
		return []pilottest.Reply{{Text: "of another", ReplyTo: "another-id"}, {Text: "untagged", Delay: time.Second}}
	}})
	r := run(t, n, me, "send-message", "bob", "--data=x", "--wait=4s", "--json")
	if r.failure(t)["code"] != "timeout" {
		t.Errorf("a reply that names another message was taken: %+v", r)
	}
	n.Answer("bob", pilottest.Script{Default: "yours", Tag: true})
	data := run(t, n, me, "send-message", "bob", "--data=x", "--wait=4s", "--json").data(t)
	if reply := data["reply"].(map[string]any); reply["reply_to"] != data["message_id"] || reply["data"] != "yours" {
		t.Errorf("%v", data)
	}
}

func Test116SendsAgainOnFirstContactUnlessToldNotTo(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.AddNode(pilottest.Node{Name: "old", Generation: pilottest.V12, Public: true})
	n.AddNode(pilottest.Node{Name: "old2", Generation: pilottest.V12, Public: true})
	run(t, n, me, "send-message", "old", "--data=x", "--wait=10s", "--json").failure(t)
	run(t, n, me, "send-message", "old2", "--data=x", "--wait=10s", "--no-resend", "--json").failure(t)
	if got := []int{len(n.Inbox("old")), len(n.Inbox("old2"))}; !cmp.Equal(got, []int{2, 1}) {
		t.Errorf("stored %v messages", got)
	}
}

func TestSendMessageArgumentsOf116(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Deliver("me", pilottest.Message{From: "bob", Text: "q", MessageID: "abc"})
	inboxID := n.Inbox("me")[0].ID
	file := filepath.Join(t.TempDir(), "payload")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := [][]string{
		{"bob", "--data=x", "--unknown"}, {"bob", "extra", "--data=x"}, {"bob"}, {"bob", "--data="},
		{"bob", "--data=x", "--data-file=" + file}, {"bob", "--data-file=/no/such"}, {"bob", "--data=x", "--type=xml"},
		{"bob", "--data=x", "--wait=30"}, {"bob", "--data=x", "--wait=0s"}, {"bob", "--data=x", "--timeout=5"},
		{"bob", "--data=x", "--count=1.5"}, {"bob", "--data=x", "--reply-to=a b"},
	}
	for _, args := range refused {
		r := run(t, n, me, append([]string{"--json", "send-message"}, args...)...)
		if r.failure(t)["code"] != "invalid_argument" {
			t.Errorf("%q: %+v", args, r)
		}
	}
	for _, args := range [][]string{{"--data-file=" + file}, {"--data=x", "--reply-to=" + inboxID}, {"--data=x", "--reply-to=id-1"}} {
		run(t, n, me, append([]string{"--json", "send-message", "bob"}, args...)...).data(t)
	}
	mail := n.Inbox("bob")
	var got []string
	for _, m := range mail {
		got = append(got, m.Text+" "+m.ReplyTo)
	}
	if diff := cmp.Diff([]string{"from a file ", "x abc", "x id-1"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSeveralMessagesInOneRun(t *testing.T) {
	t.Parallel()
	for _, g := range []pilottest.Generation{pilottest.V113, pilottest.V116} {
		n, me := smallNetwork(t, g)
		data := run(t, n, me, "send-message", "bob", "--data=x", "--count=3", "--json").data(t)
		if results := data["results"].([]any); len(results) != 3 || len(n.Inbox("bob")) != 3 {
			t.Errorf("%s: %v", g, data)
		}
		n.Behave("bob", pilottest.Behaviour{ErrAck: "full"})
		r := run(t, n, me, "send-message", "bob", "--data=x", "--count=2", "--json")
		if g == pilottest.V113 {
			r.data(t)
			continue
		}
		if f := r.failure(t); f["code"] != "internal" || len(f["results"].([]any)) != 2 {
			t.Errorf("%v", f)
		}
	}
}

func TestTheInboxByGeneration(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 60)
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		empty := run(t, n, me, "inbox", "--json").data(t)
		if _, ok := empty["messages"].([]any); !ok || empty["dir"] != nil {
			t.Errorf("never used: %v", empty)
		}
		n.Deliver("me", pilottest.Message{From: "bob", Text: long})
		n.Deliver("me", pilottest.Message{From: "carol", Text: "\xff\x00", Type: "binary"})
		data := run(t, n, me, "inbox", "--limit=1", "--json").data(t)
		messages := data["messages"].([]any)
		if g == pilottest.V12 {
			if len(messages) != 2 || messages[1].(map[string]any)["data"] != long {
				t.Errorf("1.2 shows everything: %v", messages)
			}
			return
		}
		first := messages[0].(map[string]any)
		if len(messages) != 1 || data["total"] != 2.0 || data["shown"] != 1.0 || first["type"] != "BINARY" || first["preview"] != "" {
			t.Errorf("%v", data)
		}
		from := run(t, n, me, "inbox", "--from", "bob", "--json").data(t)["messages"].([]any)[0].(map[string]any)
		preview, _ := from["preview"].(string)
		if len([]rune(preview)) != 121 || from["data"] != nil {
			t.Errorf("preview %q", preview)
		}
		whole := run(t, n, me, "inbox", "read", from["id"].(string), "--json").data(t)
		if whole["data"] != long || whole["id"] != from["id"] {
			t.Errorf("%v", whole)
		}
		for id, code := range map[string]string{"../x": "invalid_argument", "none": "not_found"} {
			if f := run(t, n, me, "inbox", "read", id, "--json").failure(t); f["code"] != code {
				t.Errorf("inbox read %s: %v", id, f)
			}
		}
		cleared := run(t, n, me, "inbox", "--clear", "--json").data(t)
		if diff := cmp.Diff(map[string]any{"cleared": 2.0, "remaining": 0.0}, cleared); diff != "" {
			t.Error(diff)
		}
	})
}

func TestReceivedFilesByGeneration(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		file := filepath.Join(t.TempDir(), "report.txt")
		if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
			t.Fatal(err)
		}
		sent := run(t, n, me, "send-file", "bob", file, "--json").data(t)
		if sent["filename"] != "report.txt" || (sent["transport"] == "filestream") != (g != pilottest.V12) {
			t.Errorf("%v", sent)
		}
		files := n.Received("bob")
		if len(files) != 1 || files[0].Bytes != 5 || !strings.HasPrefix(files[0].Name, "report-") || filepath.Ext(files[0].Name) != ".txt" {
			t.Fatalf("%+v", files)
		}
		n.DeliverFile("me", "a.bin", []byte("abc"))
		list := run(t, n, me, "received", "--json").data(t)
		if rows := list["files"].([]any); len(rows) != 1 || (list["shown"] != nil) != (g != pilottest.V12) {
			t.Errorf("%v", list)
		}
		cleared := run(t, n, me, "received", "--clear", "--json").data(t)
		want := map[pilottest.Generation][]string{
			pilottest.V12: {"cleared"}, pilottest.V113: {"cleared", "remaining"}, pilottest.V116: {"cleared", "cleared_partial", "remaining"},
		}
		if diff := cmp.Diff(want[g], keys(cleared)); diff != "" || cleared["cleared"] != 1.0 {
			t.Errorf("%v\n%s", cleared, diff)
		}
		empty := run(t, n, me, "received", "--json").data(t)["files"]
		if _, isList := empty.([]any); isList != (g != pilottest.V12) {
			t.Errorf("an empty list is %v", empty)
		}
	})
}

func TestSendFileRefusals(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
			t.Fatal(err)
		}
		code := func(args ...string) any {
			return run(t, n, me, append([]string{"--json", "send-file"}, args...)...).failure(t)["code"]
		}
		gate := map[bool]string{true: "connection_failed", false: "trust_required"}[g == pilottest.V12]
		dir := map[bool]string{true: "internal", false: "invalid_argument"}[g == pilottest.V12]
		got := []any{code("nobody", file), code("bob", file+"x"), code("bob", filepath.Dir(file)), code("carol", file), code("bob")}
		want := []any{"invalid_argument", "not_found", dir, gate, "invalid_argument"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		n.Behave("bob", pilottest.Behaviour{ErrAck: "quota"})
		r := run(t, n, me, "--json", "send-file", "bob", file)
		if g == pilottest.V12 {
			if r.data(t)["ack"] != "ERR FILE save failed: quota" {
				t.Errorf("%+v", r)
			}
		} else if r.failure(t)["code"] != "connection_failed" {
			t.Errorf("%+v", r)
		}
	})
}

func TestAFileToAnOlderPeerGoesInOneFrameWithANotice(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.AddNode(pilottest.Node{Name: "old", Generation: pilottest.V12})
	n.Trust("me", "old")
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, n, me, "--json", "send-file", "old", file)
	if data := r.data(t); data["ack"] != "ACK FILE 5 bytes" || data["transport"] != nil || r.stderr == "" {
		t.Errorf("%+v", r)
	}
}
