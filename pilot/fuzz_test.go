package pilot

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/run"
)

// FuzzEnvelope feeds every tool with any bytes on both streams and any end of
// the process: the answer is bounded, clean text, never empty, and no Go error.
func FuzzEnvelope(f *testing.F) {
	const ok, failed = `{"status":"ok","data":{`, `{"status":"error","code":"timeout","message":"no reply from \"x\" within 30s"}`
	for _, seed := range [][2]string{
		{ok + `"target":"0:0000.0000.0002","ack":"ACK TEXT 5 bytes","bytes":5,"reply":{"from":"0:0000.0000.0002","data":"{\"items\":[{\"hostname\":\"a\"}]}"}}}`, ""},
		{ok + `"ack":"ERR TEXT"}}`, ""}, {"", failed}, {"noise\n" + ok + `}}`, "noise\n" + failed},
		{ok + `"messages":[{"from":"x","data":"y\n> z"},null],"total":-1}}`, ""}, {ok + `"files":[{"name":"\u0000"}],"cleared":1}}`, ""},
		{ok + `"trusted":[{"node_id":2,"approved_at":1e300}]}}`, ""}, {ok + `"pending":[{"node_id":2,"justification":"x"}],"node_id":2,"status":"sent"}}`, ""},
		{ok + `"results":[{"seq":-9223372036854775808,"rtt_ms":1e308}],"timeout":true}}`, ""}, {ok + `"events":[{"topic":"t","data":"d"}]}}`, ""},
		{`{"topic":"t","data":"d","bytes":1}` + "\n", ""}, {"A B\n", ""}, {"\xff\x00", "\xfe"}, {ok + `"peers":[{"node_id":4294967296}]}}`, ""},
	} {
		for verb := range verbs {
			f.Add([]byte(seed[0]), []byte(seed[1]), 0, false, uint8(verb))
			f.Add([]byte(seed[0]), []byte(seed[1]), verb%3-1, true, uint8(verb))
		}
	}
	self, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	root := f.TempDir()
	if err := os.WriteFile(filepath.Join(root, "note.txt"), []byte("x"), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, exit int, timedOut bool, verb uint8) {
		result := run.Result{ExitCode: exit, TimedOut: timedOut, Stdout: run.Output{Head: stdout}, Stderr: run.Output{Head: stderr}}
		c := &Client{Binary: self, FileRoot: root, hurry: int(time.Hour), child: func(context.Context, run.Command) (*run.Result, error) {
			again := result
			return &again, nil
		}}
		v := verbs[int(verb)%len(verbs)]
		r, err := toolNamed(c, v.tool).Run(t.Context(), fantasy.ToolCall{Name: v.tool, Input: v.input})
		if err != nil {
			t.Fatalf("%s: Go error %v", v.tool, err)
		}
		wellFormed(t, r)
		if !json.Valid([]byte(r.Metadata)) || len(r.Metadata) > 64<<10 {
			t.Errorf("%s: metadata %.200s", v.tool, r.Metadata)
		}
	})
}

// FuzzNodeOf checks that what is read as an address is one, and the same one
// when it is written again.
func FuzzNodeOf(f *testing.F) {
	for _, seed := range []string{"11", "0:0000.0000.000B", "9:0009.0001.0002", "65535:FFFF.ffff.FFFF", "1:0000.0000.0001", "4294967296", "-1", "bob", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		id, ok := nodeOf(target)
		if !ok {
			return
		}
		if again, ok := nodeOf(backboneAddress(id)); !ok || again != id {
			t.Errorf("%q is node %d, and %s is %d", target, id, backboneAddress(id), again)
		}
	})
}

// FuzzQuote checks that no line of a peer's text stands without its mark, and
// that the bound holds but for the notice of the cut.
func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"", "a\nb", "\r\n\r", "\x1b[2J\x00", "\xff\n\n\n", "x\u2028y"} {
		f.Add(seed, 10)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = max(limit%MaxBody, 1)
		got := quote(s, limit)
		for i, line := range splitLines(got) {
			if len(line) < 2 || line[:2] != "> " {
				t.Errorf("line %d of %q", i, got)
			}
		}
		if len(got) > 2*limit+400 {
			t.Errorf("%d bytes for %d", len(got), limit)
		}
	})
}

func splitLines(s string) (lines []string) {
	start := 0
	for i := range len(s) {
		if s[i] == '\n' {
			lines = append(lines, s[start:i])
			start = i + 1
		}
	}
	return append(lines, s[start:])
}
