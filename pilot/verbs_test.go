package pilot

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// verbs is every tool with a call that works, the command of pilotctl that does
// its work, its timer, and the error codes that this command can give.
var verbs = []struct {
	tool, input, command string
	limit                time.Duration
	codes                []string
}{
	{"pilot_search", `{"keyword":"bitcoin"}`, "send-message", 90 * time.Second, sendCodes},
	{"pilot_help", `{"agent":"bitstamp"}`, "send-message", 90 * time.Second, sendCodes},
	{"pilot_query", `{"agent":"bitstamp","filters":{"pair":"btcusd","max":1e3}}`, "send-message", 90 * time.Second, sendCodes},
	{"pilot_summary", `{"agent":"bitstamp","question":"--how is it?"}`, "send-message", 120 * time.Second, sendCodes},
	{"pilot_send", `{"peer":"bob","message":"--json"}`, "send-message", 90 * time.Second, sendCodes},
	{"pilot_send_file", `{"peer":"bob","path":"note.txt"}`, "send-file", 15 * time.Minute,
		[]string{"invalid_argument", "not_found", "internal", "trust_required", "not_running", "connection_failed", "timeout"}},
	{"pilot_inbox", `{}`, "inbox", time.Minute, []string{"internal", "invalid_argument", "not_found", "not_running"}},
	{"pilot_received", `{}`, "received", time.Minute, []string{"internal", "invalid_argument", "not_found"}},
	{"pilot_trust_check", `{"target":"bob"}`, "trust", time.Minute, []string{"not_running", "connection_failed"}},
	{"pilot_handshake", `{"target":"mallory","reason":"-x, please"}`, "handshake", 2 * time.Minute, trustCodes},
	{"pilot_approve", `{"target":"3"}`, "approve", time.Minute, trustCodes},
	{"pilot_reject", `{"target":"0:0000.0000.0004","reason":"no, thanks"}`, "reject", time.Minute, trustCodes},
	{"pilot_untrust", `{"target":"3"}`, "untrust", time.Minute, trustCodes},
	{"pilot_pending", ``, "pending", time.Minute, []string{"connection_failed", "not_running"}},
	{"pilot_find", `{"hostname":"bob"}`, "find", time.Minute, []string{"invalid_argument", "not_found", "not_running"}},
	{"pilot_lookup", `{"target":"bob"}`, "lookup", time.Minute, trustCodes},
	{"pilot_peers", `null`, "peers", time.Minute, []string{"not_running", "connection_failed"}},
	{"pilot_ping", `{"target":"bob","count":2}`, "ping", 65 * time.Second, []string{"invalid_argument", "not_found", "not_running", "trust_required"}},
	{"pilot_broadcast", `{"network_id":9,"message":"all hands"}`, "broadcast", time.Minute,
		[]string{"usage", "auth_required", "not_running", "broadcast_failed", "unavailable"}},
	{"pilot_publish", `{"peer":"bob","topic":"news","message":"--json"}`, "publish", time.Minute, eventCodes},
	{"pilot_subscribe", `{"peer":"bob","topic":"news","count":2}`, "subscribe", 2 * time.Minute, eventCodes},
}

var (
	sendCodes  = []string{"invalid_argument", "not_running", "not_found", "trust_required", "connection_failed", "internal", "timeout", "permission_denied"}
	trustCodes = []string{"invalid_argument", "not_found", "connection_failed", "not_running"}
	eventCodes = []string{"invalid_argument", "not_found", "not_running", "trust_required", "connection_failed"}
)

// TestEveryVerbWorksWithEveryGeneration keeps, for each verb, what pilotctl
// understood, what the model reads and what the metadata hold.
func TestEveryVerbWorksWithEveryGeneration(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, g)
			s.Deliver("me", pilottest.Message{From: "bob", Text: "first\r\nsecond line"})
			s.DeliverFile("me", "report.txt", []byte("a report"))
			s.Feed("bob", "news", 500*time.Millisecond, "one", "two\n> not a line of ours", "three", "four", "five", "six", "seven", "eight")
			var b strings.Builder
			for _, v := range verbs {
				s.ForgetCalls()
				r := s.run(v.tool, v.input)
				b.WriteString("== " + v.tool + " " + v.input + "\n" + withoutPolls(v.tool, s.given()) + "-- the model reads")
				if r.IsError {
					b.WriteString(" (error)")
				}
				b.WriteString("\n" + r.Content + "\n-- the host reads\n" + r.Metadata + "\n\n")
			}
			golden(t, "verbs-"+string(g)+".txt", s.mask(b.String()))
		})
	}
}

// withoutPolls drops the looks into the inbox while waiting for a reply: how
// many there are depends on the machine's load.
func withoutPolls(tool, given string) string {
	if tool == "pilot_inbox" {
		return given
	}
	lines := strings.SplitAfter(given, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "inbox ") }), "")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", path, diff)
	}
}

func TestEveryErrorCodeReachesTheModelWithMessageAndHint(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, g)
			for _, v := range verbs {
				for _, code := range v.codes {
					s.Fault(pilottest.Fault{Verb: v.command, Times: 1, Code: code, Message: "it <failed> here", Hint: "try \"this\""})
					r := s.run(v.tool, v.input)
					if !r.IsError {
						t.Errorf("%s, %s: no error result: %s", v.tool, code, r.Content)
					}
					for _, part := range []string{"it <failed> here", "code: " + code, `try "this"`} {
						if !strings.Contains(r.Content, part) {
							t.Errorf("%s, %s: %q is missing in %q", v.tool, code, part, r.Content)
						}
					}
					if m := metadata(t, r); m.Code != code || m.ExitCode != 1 || m.Runs == 0 {
						t.Errorf("%s, %s: metadata %+v", v.tool, code, m)
					}
				}
			}
		})
	}
}

func TestAHangingPilotctlIsStoppedByTheVerbsTimer(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, g)
			for _, v := range verbs {
				const patience = 400 * time.Millisecond
				s.client.stops = int(v.limit / patience)
				s.ClearFaults() // a run that ends in its first moment leaves its fault behind
				s.Fault(pilottest.Fault{Verb: v.command, Times: 1, Hang: true})
				start := time.Now()
				r := s.run(v.tool, v.input)
				if took := time.Since(start); took < patience/2 {
					t.Errorf("%s: gave up after %s", v.tool, took)
				}
				if v.tool == "pilot_subscribe" {
					if r.IsError || !strings.Contains(r.Content, "The time was over") {
						t.Errorf("%s: %+v", v.tool, r)
					}
				} else if !r.IsError || metadata(t, r).Code != "timeout" || !strings.Contains(r.Content, "did not end within") {
					t.Errorf("%s: %+v", v.tool, r)
				}
				if m := metadata(t, r); m.ExitCode != -1 {
					t.Errorf("%s: metadata %+v", v.tool, m)
				}
				s.gone()
			}
		})
	}
}

func TestACancelledCallEndsPilotctlAndIsTheContextsError(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, g)
			for _, v := range verbs {
				s.ForgetCalls()
				s.ClearFaults() // a run that ends in its first moment leaves its fault behind
				s.Fault(pilottest.Fault{Verb: v.command, Times: 1, Hang: true})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := s.runIn(ctx, v.tool, v.input)
					ended <- err
				}()
				s.until(v.command+" runs", func() bool { return len(s.CallsOf(v.command)) > 0 })
				cancel()
				start := time.Now()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", v.tool, err)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("%s: ended %s after the cancel", v.tool, took)
				}
				s.gone()
			}
		})
	}
}

var goWords = regexp.MustCompile(`invalid character|unexpected end of JSON|cannot unmarshal|json:|goroutine|\*pilot\.|exec:`)

func TestGarbageIsNeverASuccessOfWhatChangesSomething(t *testing.T) {
	t.Parallel()
	status := func(n int) *int { return &n }
	faults := map[string]pilottest.Fault{
		"nothing at all":              {Raw: true},
		"nothing, exit status 1":      {Raw: true, Status: status(1)},
		"a table":                     {Raw: true, Stdout: "NAME   STATE\nx      y\n"},
		"bytes":                       {Raw: true, Stdout: "\xff\xfe\x00\x01\x02", Stderr: "\xff\x00"},
		"half an envelope":            {Raw: true, Stdout: `{"status":"ok","data":{"ack":"ACK `},
		"an empty object":             {Raw: true, Stdout: "{}"},
		"an envelope without data":    {Raw: true, Stdout: `{"status":"ok"}`},
		"data of another shape":       {Raw: true, Stdout: `{"status":"ok","data":[1,2]}`},
		"data that are empty":         {Raw: true, Stdout: `{"status":"ok","data":{}}`},
		"data that are null":          {Raw: true, Stdout: `{"status":"ok","data":null}`},
		"a crash":                     {Raw: true, Stderr: "panic: runtime error: integer divide by zero\n\ngoroutine 1 [running]:\nmain.main()\n", Status: status(2)},
		"text on stderr, status 0":    {Raw: true, Stderr: "Usage: pilotctl …\n"},
		"text on stderr, status 3":    {Raw: true, Stderr: "level=WARN msg=\"config\"\n", Status: status(3)},
		"success with exit status 1":  {Raw: true, Stdout: `{"status":"ok","data":{}}`, Status: status(1)},
		"killed":                      {Raw: true, Kill: true},
		"an error that is only noise": {Raw: true, Stderr: "{\"status\":\"erro\"\n{}\n[]\n", Status: status(1)},
	}
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, g)
			for i, v := range verbs {
				for j, name := range slices.Sorted(maps.Keys(faults)) {
					if g != pilottest.V116 && (i+j)%3 != 0 {
						continue // garbage is the same of every version: a third has each verb and each kind
					}
					fault := faults[name]
					fault.Verb, fault.Times = v.command, 1
					s.Fault(fault)
					r := s.run(v.tool, v.input)
					reads := effects[v.tool] == EffectRead
					if !r.IsError && !reads {
						t.Errorf("%s, %s: success: %s", v.tool, name, r.Content)
					}
					if reads && name == "a table" && (r.IsError || !strings.Contains(r.Content, "> x      y")) {
						t.Errorf("%s, %s: the text is not passed on: %s", v.tool, name, r.Content)
					}
					if name == "data that are empty" && !r.IsError {
						t.Errorf("%s takes no data for an answer: %s", v.tool, r.Content)
					}
					if goWords.MatchString(r.Content) {
						t.Errorf("%s, %s: %s", v.tool, name, r.Content)
					}
				}
			}
			if trusted := s.Trusts("me", "dave"); trusted {
				t.Error("something was done after all")
			}
		})
	}
}
