//go:build unix

package pilottest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// recorded is a call of pilotctl 1.2.2 on a private network.
type recorded struct {
	Argv   []string
	Note   string
	Exit   *string // nil: it never ended; "-15": ended by signal 15
	Stdout string
	Stderr string
	As     string // node under whose home it ran
}

func readRecording(t *testing.T) (calls []recorded) {
	t.Helper()
	f, err := os.Open("testdata/pilotctl-1.2.2-recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c recorded
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return calls
}

// notReplayed are the recorded calls, by number from 0, that are not replayed,
// with the reason.
var notReplayed = map[int]string{}

// replay is a simulated network in the state in which the recorded one was.
type replay struct {
	t     *testing.T
	net   *pilottest.Network
	nodes map[string]pilottest.Node
	files string // stands for /data of the recording
}

func TestRecordedCallsOf122AreAnsweredAlike(t *testing.T) {
	t.Parallel()
	calls := readRecording(t)
	r := newReplay(t)
	setups := r.setups()
	replayed := 0
	for i, c := range calls {
		if setup := setups[i]; setup != nil {
			setup()
		}
		if reason, skip := notReplayed[i]; skip {
			t.Logf("call %d %q is not replayed: %s", i, c.Argv, reason)
			continue
		}
		got := r.call(i, c)
		want := outcome{c.exit(), shapeOf(c.Stdout), r.errorOf(c.Stderr)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("call %d %q of %s (%s) (-recorded +fake):\n%s", i, c.Argv, c.As, c.Note, diff)
		}
		replayed++
	}
	if replayed < 200 || replayed+len(notReplayed) != len(calls) {
		t.Errorf("%d of %d recorded calls are replayed, %d are listed as not", replayed, len(calls), len(notReplayed))
	}
}

// outcome is what is compared: the exit status, and of both streams the keys
// and types, of an error also code, message and hint.
type outcome struct {
	Exit   string
	Stdout []string
	Stderr []string
}

func (c recorded) exit() string {
	if c.Exit == nil {
		return "never"
	}
	return *c.Exit
}

// shapeOf describes each line: keys and types of JSON, labels of text.
func shapeOf(text string) (shapes []string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSuffix(line, "\n")
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			label, _, _ := strings.Cut(line, ":")
			shapes = append(shapes, "text "+label)
			continue
		}
		shapes = append(shapes, shape(v))
	}
	return shapes
}

func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var fields []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, key+":"+shape(v[key]))
		}
		return "{" + strings.Join(fields, " ") + "}"
	case []any:
		elements := map[string]bool{}
		for _, e := range v {
			elements[shape(e)] = true
		}
		return "[" + strings.Join(slices.Sorted(maps.Keys(elements)), "|") + "]"
	case nil:
		return "null"
	}
	return fmt.Sprintf("%T", v)
}

// errorOf is an error envelope as it is, save paths.
func (r *replay) errorOf(stderr string) (lines []string) {
	stderr = strings.NewReplacer(r.files, "/data", r.net.Dir+"/homes", "/home").Replace(stderr)
	for line := range strings.Lines(strings.TrimSpace(stderr)) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	for i, line := range lines {
		var env map[string]string
		if json.Unmarshal([]byte(line), &env) == nil {
			lines[i] = fmt.Sprint(env)
			if unstable(env["message"]) {
				lines[i] = fmt.Sprintf("%s %s…", slices.Sorted(maps.Keys(env)), env["message"][:20])
			}
		}
	}
	return lines
}

// unstable are messages with ports and sockets of the day of the recording.
func unstable(message string) bool {
	return strings.Contains(message, "broken pipe") || strings.Contains(message, "reconnect failed") || strings.Contains(message, "relay")
}

func newReplay(t *testing.T) *replay {
	t.Helper()
	r := &replay{t: t, net: pilottest.New(t, pilottest.V12), nodes: map[string]pilottest.Node{}, files: t.TempDir()}
	r.net.SetSpeed(200)
	for _, name := range []string{"alice", "bob", "carol"} {
		r.nodes[name] = r.net.AddNode(pilottest.Node{Name: name})
	}
	for name, size := range map[string]int64{
		"small.txt": 20, "small.bin": 100, `a b ünï "q".txt`: 50, "empty.bin": 0, "k900.bin": 921600,
		"m1-edge-ok.bin": 1048555, "m1-edge-over.bin": 1048554, "m1.bin": 1 << 20, "m2.bin": 2 << 20, "m17.bin": 17 << 20, "m20.bin": 20 << 20,
	} {
		r.must(os.WriteFile(filepath.Join(r.files, name), nil, 0o600))
		r.must(os.Truncate(filepath.Join(r.files, name), size))
	}
	r.must(os.Mkdir(filepath.Join(r.files, "pilot"), 0o700))
	return r
}

func (r *replay) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// env is the environment that the notes of the recording tell of.
func (r *replay) env(i int, as string) []string {
	node := r.nodes[as]
	switch i {
	case 19:
		return append(node.Env(), "PILOT_REGISTRY=127.0.0.1:1")
	case 20, 222:
		return append(node.Env(), "PILOT_SOCKET="+filepath.Join(r.files, "no.sock"))
	case 167:
		return []string{"HOME=" + r.t.TempDir(), "PILOT_SOCKET=" + node.Socket}
	case 168:
		return []string{"PILOT_SOCKET=" + node.Socket}
	}
	return node.Env()
}

// printed may be looked at while a process writes.
type printed struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}

func (r *replay) call(i int, c recorded) outcome {
	args := slices.Clone(c.Argv[1:])
	for k, a := range args {
		if strings.HasPrefix(a, "/data/") && !slices.Contains(args, "send-message") {
			args[k] = r.files + strings.TrimPrefix(a, "/data")
		}
	}
	cmd := exec.CommandContext(r.t.Context(), r.net.Binary, args...)
	cmd.Env, cmd.Dir = r.env(i, c.As), r.t.TempDir()
	var out, errs printed
	cmd.Stdout, cmd.Stderr = &out, &errs
	r.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	exit := r.end(cmd, &out, ended, c)
	return outcome{exit, shapeOf(out.String()), r.errorOf(errs.String())}
}

// end waits for the process, and sends it the signal that it got then. One that
// never ended is watched for longer than any answer takes.
func (r *replay) end(cmd *exec.Cmd, out *printed, ended chan error, c recorded) string {
	if signal := c.signal(); signal != 0 {
		r.waitFor(func() bool { return r.net.Subscribers("bob", "news") > 0 })
		if c.Stdout != "" {
			r.net.Publish("bob", "alice", "news", "before kill")
			r.waitFor(func() bool { return out.String() != "" })
		}
		r.must(cmd.Process.Signal(signal))
	}
	if c.Exit == nil {
		select {
		case <-ended: //nolint:errcheck // the process state has the exit code
			return strconv.Itoa(cmd.ProcessState.ExitCode())
		case <-time.After(500 * time.Millisecond):
		}
		r.must(cmd.Process.Kill())
		<-ended //nolint:errcheck // it was killed
		return "never"
	}
	err := <-ended
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.must(err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return strconv.Itoa(-int(status.Signal()))
	}
	return strconv.Itoa(cmd.ProcessState.ExitCode())
}

func (c recorded) signal() syscall.Signal {
	if n, err := strconv.Atoi(c.exit()); err == nil && n < 0 {
		return syscall.Signal(-n)
	}
	return 0
}

// waitFor asks until it is so.
func (r *replay) waitFor(so func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatal("what the replay waits for does not come")
		}
	}
}

// listen subscribes in the background and returns what ends it.
func (r *replay) listen(as, broker, topic string) (stop func()) {
	cmd := exec.CommandContext(r.t.Context(), r.net.Binary, "subscribe", broker, topic)
	cmd.Env = r.nodes[as].Env()
	r.must(cmd.Start())
	r.waitFor(func() bool { return r.net.Subscribers(broker, topic) > 0 })
	return func() {
		r.must(cmd.Process.Kill())
		_ = cmd.Wait()
	}
}

// setups are what happened between the recorded calls, by the number of the call
// that follows.
func (r *replay) setups() map[int]func() {
	n := r.net
	mail := func(to, from string, kind string, texts ...string) {
		for _, text := range texts {
			n.Deliver(to, pilottest.Message{From: from, Type: kind, Text: text})
		}
	}
	slow := pilottest.Delays{Request: 24 * time.Hour}
	stop := func() {}
	feed := func(broker, topic string, data ...string) func() {
		return func() { n.ClearFeeds(); n.Feed(broker, topic, 0, data...) }
	}
	return map[int]func(){
		64:  func() { n.SetDelays(slow) },
		69:  func() { n.Settle(); n.SetDelays(pilottest.Delays{}) },
		114: func() { n.Behave("bob", pilottest.Behaviour{NoAck: true}) },
		115: func() { n.Behave("bob", pilottest.Behaviour{}) },
		137: feed("bob", "news", "nobody listens"),
		138: func() { n.ClearFeeds() },
		139: feed("bob", "news", "one \"quoted\"\nsecond line ✓", "two"),
		140: feed("bob", "news", "one", `{"json":true}`, "three"),
		141: func() { feed("bob", "a.b", "x")(); n.Feed("bob", "*", 0, "to star") },
		142: feed("bob", "a.b", "x"),
		143: feed("bob", "news", "only one"),
		144: func() { n.ClearFeeds() },
		148: feed("alice", "chat", "bob to bob via alice broker"),
		162: func() {
			mail("bob", "alice", "binary", "\x01\x02")
			mail("bob", "alice", "json", `{"k":[1,2]}`)
			mail("bob", "alice", "text", "m1", "m4 ünï \"q\"\nline2")
		},
		163: func() {
			inbox := filepath.Join(r.nodes["bob"].Home, ".pilot", "inbox")
			r.must(os.WriteFile(filepath.Join(inbox, "TEXT-garbage.json"), []byte("{"), 0o600))
			r.must(os.Mkdir(filepath.Join(inbox, "sub"), 0o700))
		},
		170: func() { mail("bob", "alice", "text", "placeholder", "\xff\xfeabc") },
		189: func() { n.SetDelays(slow) },
		191: func() { n.Settle(); n.SetDelays(pilottest.Delays{}); n.Crash("carol"); n.Start("carol") },
		194: func() { n.Stop("bob") },
		203: func() { n.Start("bob") },
		204: func() { n.Crash("alice"); mail("alice", "bob", "text", "after restart too", "i am back") },
		225: func() { n.Start("alice"); n.Tunnel("alice", "bob", false); n.Freeze("alice") },
		229: func() { n.Start("alice") },
		230: func() { n.Freeze("bob") },
		231: func() { n.Start("bob"); mail("bob", "alice", "text", "still friends", "thawed") },
		232: func() { n.FreezeRegistry() },
		233: func() { n.StartRegistry(); stop = r.listen("alice", "bob", "t") },
		234: func() { stop(); n.StopRegistry() },
		238: func() { n.StartRegistry() },
		239: func() { n.TrustOneWay("alice", "carol") },
		245: func() { n.SetPublic("carol", true) },
		247: func() { mail("carol", "alice", "text", "ok", "no trust at all, but carol is public") },
		248: func() { n.Tunnel("alice", "carol", false) },
		249: func() { n.Untrust("alice", "carol"); n.Request("alice", "carol", "to a public node") },
		252: func() {
			inbox := filepath.Join(r.nodes["bob"].Home, ".pilot", "inbox")
			r.must(os.RemoveAll(inbox))
			r.must(os.WriteFile(inbox, nil, 0o600))
		},
	}
}
