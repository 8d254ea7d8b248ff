package pilottest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

func TestFaultsOfWhatIsPrinted(t *testing.T) {
	t.Parallel()
	seven := 7
	tests := []struct {
		name  string
		fault pilottest.Fault
		check func(r result) bool
	}{
		{"an error code with its message and hint", pilottest.Fault{Code: "trust_required", Message: "no", Hint: "shake"}, func(r result) bool {
			return r.status == 1 && r.stdout == "" && strings.Contains(r.stderr, `"code":"trust_required"`) && strings.Contains(r.stderr, `"hint":"shake"`)
		}},
		{"garbage on both streams", pilottest.Fault{Raw: true, Stdout: "\xff{", Stderr: "panic", Status: &seven}, func(r result) bool {
			return r.status == 7 && r.stdout == "\xff{" && r.stderr == "panic"
		}},
		{"nothing at all", pilottest.Fault{Raw: true}, func(r result) bool { return r == result{} }},
		{"keys that are added, changed and left out", pilottest.Fault{Set: map[string]any{"extra": 1, "public": "maybe"}, Drop: []string{"node_id"}}, func(r result) bool {
			return r.stdout == `{"data":{"address":"0:0000.0000.0002","extra":1,"hostname":"bob","public":"maybe"},"status":"ok"}`+"\n"
		}},
		{"a banner before the answer", pilottest.Fault{Banner: "Message of the day"}, func(r result) bool {
			return strings.HasPrefix(r.stdout, "Message of the day\n{")
		}},
		{"noise on stderr beside an answer", pilottest.Fault{Noise: "WARN config"}, func(r result) bool {
			return r.stderr == "WARN config\n" && strings.HasPrefix(r.stdout, "{")
		}},
		{"text although JSON was asked for", pilottest.Fault{Plain: true}, func(r result) bool { return strings.HasPrefix(r.stdout, "Hostname:") }},
		{"two writes with a pause", pilottest.Fault{Split: time.Millisecond}, func(r result) bool { return json.Valid([]byte(r.stdout)) }},
		{"a flood", pilottest.Fault{Flood: 1 << 20}, func(r result) bool { return len(r.stdout) > 1<<20 }},
		{"another exit status", pilottest.Fault{Status: &seven}, func(r result) bool { return r.status == 7 && strings.HasPrefix(r.stdout, "{") }},
		{"killed after printing", pilottest.Fault{Kill: true}, func(r result) bool { return r.status == -1 && json.Valid([]byte(r.stdout)) }},
		{"killed half way", pilottest.Fault{Kill: true, Split: time.Millisecond}, func(r result) bool {
			return r.status == -1 && r.stdout != "" && !json.Valid([]byte(r.stdout))
		}},
		{"a delay", pilottest.Fault{Delay: time.Millisecond}, func(r result) bool { return r.status == 0 }},
	}
	n, me := smallNetwork(t, pilottest.V116)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.fault.Verb, test.fault.Times = "find", 1
			n.Fault(test.fault)
			if r := run(t, n, me, "find", "bob", "--json"); !test.check(r) {
				t.Errorf("%+v", r)
			}
			if r := run(t, n, me, "find", "bob", "--json"); r.status != 0 || r.stderr != "" {
				t.Errorf("the next run is spoilt too: %+v", r)
			}
		})
	}
}

func TestAFaultIsForItsVerbItsNodeAndItsNumberOfRuns(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Fault(pilottest.Fault{Verb: "find", Node: "bob", Code: "internal", Message: "bob's"})
	n.Fault(pilottest.Fault{Verb: "find", Times: 2, Code: "internal", Message: "first two"})
	n.Fault(pilottest.Fault{Code: "internal", Message: "every"})
	var got []string
	for _, c := range []struct {
		node pilottest.Node
		verb string
	}{{me, "find"}, {nodeOf(n, "bob"), "find"}, {me, "trust"}, {me, "find"}, {me, "find"}} {
		got = append(got, run(t, n, c.node, c.verb, "bob", "--json").failure(t)["message"].(string))
	}
	if diff := cmp.Diff([]string{"first two", "bob's", "every", "first two", "every"}, got); diff != "" {
		t.Error(diff)
	}
	n.ClearFaults()
	run(t, n, me, "find", "bob", "--json").data(t)
}

func TestAnErrorCanComeAfterTheWorkWasDone(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Fault(pilottest.Fault{Verb: "send-message", Code: "timeout", Message: "no reply", Worked: true})
	run(t, n, me, "send-message", "bob", "--data=x", "--json").failure(t)
	n.ClearFaults()
	n.Fault(pilottest.Fault{Verb: "send-message", Code: "timeout", Message: "no reply"})
	run(t, n, me, "send-message", "bob", "--data=y", "--json").failure(t)
	if mail := n.Inbox("bob"); len(mail) != 1 || mail[0].Text != "x" {
		t.Errorf("bob has %+v", mail)
	}
}

func TestARunThatHangsIsSeenUntilItIsKilled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		order func(n *pilottest.Network)
		half  bool
	}{
		{"by order", func(n *pilottest.Network) { n.Fault(pilottest.Fault{Hang: true}) }, false},
		{"half way through its answer", func(n *pilottest.Network) { n.Fault(pilottest.Fault{Hang: true, Split: 1}) }, true},
		{"because its daemon is frozen", func(n *pilottest.Network) { n.Freeze("me") }, false},
		{"because the registry is frozen", func(n *pilottest.Network) { n.FreezeRegistry() }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n, me := smallNetwork(t, pilottest.V116)
			test.order(n)
			cmd := exec.CommandContext(t.Context(), n.Binary, "find", "bob", "--json")
			cmd.Env = me.Env()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if test.half {
				if _, err := io.ReadFull(out, make([]byte, 10)); err != nil {
					t.Fatal(err)
				}
			}
			waitUntil(t, func() bool { r := n.Running(); return len(r) == 1 && len(r[0].Args) == 1 })
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			call := n.LastCall()
			if len(n.Running()) != 0 || call.Done || call.Status != -1 || call.Verb != "find" {
				t.Errorf("%+v", call)
			}
		})
	}
}

func TestAStubbornRunIgnoresTheFirstSignals(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.Fault(pilottest.Fault{Banner: "up", Stubborn: true, Hang: true, Split: 1, Verb: "find"})
	cmd := exec.CommandContext(t.Context(), n.Binary, "find", "bob", "--json")
	cmd.Env = me.Env()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if len(n.Running()) != 1 {
		t.Error("an interrupt ended it")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func TestACallRecordsWhatPilotctlWasGiven(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	cmd := exec.CommandContext(t.Context(), n.Binary, "send-message", "bob", "--data", "-", "--wait=1s", "--no-resend", "--json")
	cmd.Env = append(me.Env(), "PILOT_SOCKET="+me.Socket, "OPENAI_API_KEY=secret")
	cmd.Stdin = bytes.NewReader([]byte("from stdin\x00\xff"))
	cmd.Dir = t.TempDir()
	_ = cmd.Run()
	got := n.LastCall()
	want := pilottest.Call{
		Seq: 1, PID: cmd.Process.Pid, Node: "me", Home: me.Home, Socket: me.Socket, Dir: got.Dir,
		Argv: []string{"send-message", "bob", "--data", "-", "--wait=1s", "--no-resend", "--json"},
		JSON: true, Verb: "send-message", Args: []string{"bob"},
		Flags: map[string]string{"data": "-", "wait": "1s", "no-resend": "true"},
		Env:   []string{"HOME", "OPENAI_API_KEY", "PATH", "PILOT_SOCKET"},
		Data:  []byte("from stdin\x00\xff"), Stdin: []byte("from stdin\x00\xff"),
		Started: got.Started, Took: got.Took, Done: true, Status: 1, Stderr: got.Stderr,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if dir, _ := os.Stat(cmd.Dir); !sameFile(dir, got.Dir) || got.Took <= 0 || got.Stderr == "" {
		t.Errorf("%+v", got)
	}
	n.ForgetCalls()
	if calls := n.Calls(); len(calls) != 0 {
		t.Errorf("%+v", calls)
	}
}

func sameFile(info os.FileInfo, path string) bool {
	other, err := os.Stat(path)
	return err == nil && os.SameFile(info, other)
}

func TestACallTellsAnOpenStandardInputFromAnEndedOne(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	run(t, n, me, "trust")
	if n.LastCall().StdinOpen {
		t.Error("the null device counts as open")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close(); _ = w.Close() }()
	cmd := exec.CommandContext(t.Context(), n.Binary, "trust")
	cmd.Env, cmd.Stdin = me.Env(), r
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if !n.LastCall().StdinOpen {
		t.Error("an open pipe counts as ended")
	}
}
