package pilot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/run"
	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// trapped are texts that a command line's own parsing likes to eat.
var trapped = []string{
	"--help me", "--json", "--help", "-h", "-v", "--verbose", "--", "--data", "--data=x", "--wait=1s", "-5", "-x y",
	"true", "false", "a=b", "=", "line1\nline2", "\r\n", " ", "  blanks around  ", "tab\there", "'\"`$(id)$HOME\\", "{\"a\":1}", "<b>&</b>", "ünïcödé ✓ 𝄞", "/data {}",
}

func TestEveryTextArrivesByteForByte(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, g)
			for _, text := range trapped {
				if _, err := s.client.Send(t.Context(), SendInput{Peer: "bob", Message: text}); err != nil {
					t.Errorf("send %q: %v", text, err)
					continue
				}
				mails := s.Inbox("bob")
				if got := mails[len(mails)-1].Text; len(mails) == 0 || !anyMail(mails, text) {
					t.Errorf("sent %q, bob's last message is %q", text, got)
				}
				if call := s.LastCall(); len(call.Stdin) != 0 || call.StdinOpen {
					t.Errorf("send %q: stdin %q, open %t", text, call.Stdin, call.StdinOpen)
				}
				if _, err := s.client.Publish(t.Context(), PublishInput{Peer: "bob", Topic: "t", Message: text}); err != nil {
					t.Errorf("publish %q: %v", text, err)
				} else if got := string(s.LastCall().Data); got != text {
					t.Errorf("published %q as %q", text, got)
				}
			}
		})
	}
}

func anyMail(mails []pilottest.Mail, text string) bool {
	for _, m := range mails {
		if m.Text == text {
			return true
		}
	}
	return false
}

func TestAReasonMayBeginWithADash(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, g)
			for _, reason := range []string{"-x", "--please", "--reason=y", "-", "two\nlines"} {
				s.run("pilot_handshake", fmt.Sprintf(`{"target":"mallory","reason":%q}`, reason))
				calls := s.CallsOf("handshake")
				if args := calls[len(calls)-1].Args; len(args) != 2 || args[1] != reason {
					t.Errorf("reason %q arrived as %q", reason, args)
				}
			}
		})
	}
}

// TestWhatCannotBePassedIsRefusedByNameBeforeAnythingRuns calls with a
// pilotctl that would be noticed.
func TestWhatCannotBePassedIsRefusedByNameBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	long := strings.Repeat("x", 200<<10)
	names := []string{"", "   ", "-x", "--json", "-h", "a b", "a\nb", "a\x00b", strings.Repeat("h", 300)}
	type refusal struct {
		field string
		err   error
	}
	var refusals []refusal
	check := func(field string, err error) { refusals = append(refusals, refusal{field, err}) }
	ctx := t.Context()
	for _, n := range names {
		_, err := s.client.Help(ctx, HelpInput{Agent: n})
		check("agent", err)
		_, err = s.client.Query(ctx, QueryInput{Agent: n})
		check("agent", err)
		_, err = s.client.Summary(ctx, SummaryInput{Agent: n})
		check("agent", err)
		_, err = s.client.Send(ctx, SendInput{Peer: n, Message: "m"})
		check("peer", err)
		_, err = s.client.SendFile(ctx, SendFileInput{Peer: n, Path: "note.txt"})
		check("peer", err)
		_, err = s.client.TrustCheck(ctx, TrustCheckInput{Target: n})
		check("target", err)
		_, err = s.client.Handshake(ctx, HandshakeInput{Target: n})
		check("target", err)
		_, err = s.client.Approve(ctx, ApproveInput{Target: n})
		check("target", err)
		_, err = s.client.Reject(ctx, RejectInput{Target: n})
		check("target", err)
		_, err = s.client.Untrust(ctx, UntrustInput{Target: n})
		check("target", err)
		_, err = s.client.Find(ctx, FindInput{Hostname: n})
		check("hostname", err)
		_, err = s.client.Lookup(ctx, LookupInput{Target: n})
		check("target", err)
		_, err = s.client.Ping(ctx, PingInput{Target: n})
		check("target", err)
		_, err = s.client.Publish(ctx, PublishInput{Peer: n, Topic: "t", Message: "m"})
		check("peer", err)
		_, err = s.client.Subscribe(ctx, SubscribeInput{Peer: n, Topic: "t"})
		check("peer", err)
	}
	for _, message := range []string{"", "-", "a\x00b", "\xff"} {
		_, err := s.client.Send(ctx, SendInput{Peer: "bob", Message: message})
		check("message", err)
		_, err = s.client.Publish(ctx, PublishInput{Peer: "bob", Topic: "t", Message: message})
		check("message", err)
	}
	for _, topic := range []string{"", "-t", "a\x00b", "\xff", strings.Repeat("t", 1025)} {
		_, err := s.client.Publish(ctx, PublishInput{Peer: "bob", Topic: topic, Message: "m"})
		check("topic", err)
		_, err = s.client.Subscribe(ctx, SubscribeInput{Peer: "bob", Topic: topic})
		check("topic", err)
	}
	for _, message := range []string{"", "-", "-5", "--json", "-h", "a\x00b", "\xff", long} {
		_, err := s.client.Broadcast(ctx, BroadcastInput{NetworkID: "9", Message: message})
		check("message", err)
	}
	for _, id := range []string{"", "-1", "65536", "nine", "9.5", "NaN", "1e99"} {
		_, err := s.client.Broadcast(ctx, BroadcastInput{NetworkID: id, Message: "m"})
		check("network_id", err)
	}
	for _, reason := range []string{"-h", "--help", "--json", "--verbose", "-v", "a\x00b", "\xff", strings.Repeat("r", 1025)} {
		_, err := s.client.Handshake(ctx, HandshakeInput{Target: "mallory", Reason: reason})
		check("reason", err)
		_, err = s.client.Reject(ctx, RejectInput{Target: "4", Reason: reason})
		check("reason", err)
	}
	_, err := s.client.Publish(ctx, PublishInput{Peer: "bob", Topic: "t", Message: long})
	check("message", err)
	_, err = s.client.Search(ctx, SearchInput{Keyword: " "})
	check("keyword", err)
	for _, keyword := range []string{long, "a\x00b", "\xff"} {
		_, err = s.client.Search(ctx, SearchInput{Keyword: keyword})
		check("keyword", err)
	}
	_, err = s.client.Summary(ctx, SummaryInput{Agent: "bitstamp", Question: "a\x00b"})
	check("question", err)
	_, err = s.client.Query(ctx, QueryInput{Agent: "bitstamp", Filters: map[string]any{"f": func() {}}})
	check("filters", err)
	_, err = s.client.Find(ctx, FindInput{Hostname: "0:0000.0000.0002"})
	check("hostname", err)
	_, err = s.client.Find(ctx, FindInput{Hostname: "2"})
	check("hostname", err)
	for i, r := range refusals {
		var e *Error
		if !errors.Is(r.err, ErrInvalidArgument) || !errors.As(r.err, &e) || !strings.HasPrefix(e.Message, r.field) || e.Hint == "" {
			t.Errorf("%d: %s: %v", i, r.field, r.err)
		}
	}
	if calls := s.Calls(); len(calls) > 0 {
		t.Errorf("pilotctl was run: %q", calls[0].Argv)
	}
}

func TestATextTooLongForAnArgumentTravelsByFileWherePilotctlCan(t *testing.T) {
	long := "--data=" + strings.Repeat("ä\n", 60<<10)
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			s := newSim(t, g)
			s.Answer("bob", pilottest.Script{})
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			for range 2 {
				_, err := s.client.Send(t.Context(), SendInput{Peer: "bob", Message: long})
				if g == pilottest.V116 {
					if err != nil {
						t.Fatal(err)
					}
					continue
				}
				if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "message is 184327 bytes") {
					t.Fatalf("%v", err)
				}
			}
			if calls := s.Calls(); len(s.CallsOf("version")) != 1 || len(s.CallsOf("send-message")) != len(calls)-1 {
				t.Errorf("the version was asked %d times", len(s.CallsOf("version")))
			}
			if g != pilottest.V116 {
				if n := len(s.CallsOf("send-message")); n > 0 {
					t.Errorf("sent %d times", n)
				}
				return
			}
			if mails := s.Inbox("bob"); len(mails) != 2 || mails[0].Text != long || mails[1].Text != long {
				t.Errorf("%d messages arrived, or not as sent", len(mails))
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestTheLongestArgumentIsTakenAndOneByteMoreIsNot(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V113)
	longest := strings.Repeat("x", maxArgument()-len("--data="))
	if _, err := s.client.Publish(t.Context(), PublishInput{Peer: "bob", Topic: "t", Message: longest}); err != nil {
		t.Error(err)
	}
	if _, err := s.client.Publish(t.Context(), PublishInput{Peer: "bob", Topic: "t", Message: longest + "x"}); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestNumbersOfOtherShapesBecomeWholeNumbers(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V113)
	s.run("pilot_inbox", `{"limit":"7"}`)
	s.run("pilot_inbox", `{"limit":7.0}`)
	s.run("pilot_ping", `{"target":2,"count":"1","timeout_seconds":5.0}`)
	s.run("pilot_broadcast", `{"network_id":9.0,"message":"x"}`)
	got := s.given()
	want := "inbox [] full=\"true\" limit=\"7\" data=\"\" stdin=\"\" json=true\n"
	for _, part := range []string{want + want, `ping ["2"] count="1" timeout="5s"`, `broadcast ["9" "x"]`} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}

func TestDurationsHaveTheirUnitAndNoFlagIsBare(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	for _, v := range verbs {
		s.run(v.tool, v.input)
	}
	for _, c := range s.Calls() {
		if len(c.Argv) > 0 && c.Argv[0] != "--json" {
			t.Errorf("%q does not begin with --json", c.Argv)
		}
		for _, word := range c.Argv[1:] {
			if strings.HasPrefix(word, "--enterprise-control") || strings.HasPrefix(word, "--governed-resource") {
				t.Errorf("%q", c.Argv)
			}
			bare := strings.HasPrefix(word, "--") && !strings.Contains(word, "=")
			if bare && word != "--full" && word != "--clear" {
				t.Errorf("%s is bare in %q", word, c.Argv)
			}
			for _, flag := range []string{"--wait=", "--timeout="} {
				if strings.HasPrefix(word, flag) && !strings.HasSuffix(word, "s") {
					t.Errorf("%q has no unit", word)
				}
			}
		}
	}
}

func TestPilotctlIsGivenHomeAndSocketAndNoSecrets(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "NOT_PILOT_THING", "PILOTX", "LD_PRELOAD_X"} {
		t.Setenv(name, "secret")
	}
	for _, name := range []string{"PILOT_REGISTRY", "PILOTCTL_TRACE_TIME", "LC_ALL", "HTTPS_PROXY", "no_proxy", "SSL_CERT_FILE", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, "")
	}
	s := newSim(t, pilottest.V116)
	s.client.Home, s.client.Socket = "", ""
	t.Setenv("HOME", s.me.Home)
	t.Setenv("PILOT_SOCKET", s.me.Socket)
	s.run("pilot_pending", "")
	call := s.LastCall()
	if call.Home != s.me.Home || call.Socket != s.me.Socket || call.Node != "me" {
		t.Errorf("home %s, socket %s, node %s", call.Home, call.Socket, call.Node)
	}
	env := strings.Join(call.Env, " ")
	for _, name := range []string{"HOME", "PATH", "PILOT_SOCKET", "PILOT_REGISTRY", "PILOTCTL_TRACE_TIME", "PILOT_ADMIN_TOKEN", "LC_ALL", "HTTPS_PROXY", "no_proxy", "SSL_CERT_FILE", "XDG_RUNTIME_DIR"} {
		if !strings.Contains(" "+env+" ", " "+name+" ") {
			t.Errorf("%s is missing in %s", name, env)
		}
	}
	for _, name := range []string{"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "NOT_PILOT_THING", "PILOTX", "LD_PRELOAD_X", "GOFLAGS"} {
		if strings.Contains(" "+env+" ", " "+name+" ") {
			t.Errorf("%s reached pilotctl", name)
		}
	}
	t.Setenv("HOME", "/nowhere")
	t.Setenv("PILOT_SOCKET", "/nowhere/pilot.sock")
	s.client.Home, s.client.Socket = s.me.Home, s.me.Socket
	s.run("pilot_pending", "")
	if call := s.LastCall(); call.Home != s.me.Home || call.Socket != s.me.Socket {
		t.Errorf("the fields do not win: home %s, socket %s", call.Home, call.Socket)
	}
}

// TestSecretsOfTheEnvironmentDoNotComeBack has secrets with characters that
// JSON escapes.
func TestSecretsOfTheEnvironmentDoNotComeBack(t *testing.T) {
	for _, tt := range []struct{ variable, value, secret, kept string }{
		{"PILOT_ADMIN_TOKEN", token, token, ""},
		{"PILOT_ADMIN_TOKEN", `se<sa>me&"open"\now`, `se<sa>me&"open"\now`, ""},
		{"PILOT_REGISTRY_PASSWORD", "näh-öffne-dich", "näh-öffne-dich", ""},
		{"PILOTCTL_API_KEY", "0123456789abcdef", "0123456789abcdef", ""},
		{"HTTPS_PROXY", "http://ann:pw@127.0.0.1:3128", "ann:pw", "127.0.0.1:3128"},
		{"all_proxy", "ann:p%40w@127.0.0.1:3128", "p%40w", "127.0.0.1:3128"},
		{"HTTP_PROXY", "http://127.0.0.1:3128", "[secret]", "http://127.0.0.1:3128"},
		{"PILOT_SOCKET_TOKENS", "short", "[secret]", "short"},
		{"PILOT_TOKEN_FILE", "/etc/pilot/token", "[secret]", "/etc/pilot/token"},
	} {
		t.Run(tt.variable+" "+tt.value, func(t *testing.T) {
			t.Setenv(tt.variable, tt.value)
			s := newSim(t, pilottest.V116)
			s.Fault(pilottest.Fault{Verb: "find", Code: "not_found", Message: "tried with " + tt.value, Hint: "not " + tt.value + " but another"})
			r := s.run("pilot_find", `{"hostname":"bob"}`)
			if strings.Contains(r.Content+r.Metadata, tt.secret) || !strings.Contains(r.Content, tt.kept) || !strings.Contains(r.Content, "but another") {
				t.Errorf("%s\n%s", r.Content, r.Metadata)
			}
			s.ClearFaults()
			s.Fault(pilottest.Fault{Verb: "find", Raw: true, Stdout: "a table with " + tt.value})
			if r := s.run("pilot_find", `{"hostname":"bob"}`); strings.Contains(r.Content, tt.secret) {
				t.Error(r.Content)
			}
		})
	}
}

func TestASecretAcrossTheTwoEndsOfAStreamIsStruckOut(t *testing.T) {
	t.Parallel()
	r := &run.Result{Stderr: run.Output{Head: []byte("it is sesame-"), Tail: []byte("sesame.")}}
	strike(r, []string{token})
	if got := string(r.Stderr.Head) + string(r.Stderr.Tail); got != "it is [secret]." {
		t.Error(got)
	}
}

func TestHalfASecretAtAHoleInAStreamIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ head, tail, wantHead, wantTail string }{
		{"it is sesame-", "me. Bye", "it is ", ". Bye"},
		{"it is ses", "Bye", "it is ", "Bye"},
		{"it is ses and more", "a sesame. Bye", "it is ses and more", "a sesame. Bye"},
		{"sesame-sesame", "sesame-sesame", "[secret]", "[secret]"},
		{"s", "e", "", ""},
	} {
		r := &run.Result{Stdout: run.Output{Head: []byte(tt.head), Tail: []byte(tt.tail), Missing: 1000}}
		size := r.Stdout.Size()
		strike(r, []string{"sesame-sesame"})
		if got := r.Stdout; string(got.Head) != tt.wantHead || string(got.Tail) != tt.wantTail {
			t.Errorf("%q, %q became %q, %q", tt.head, tt.tail, got.Head, got.Tail)
		}
		if struckOut := strings.Contains(tt.wantHead, struck); !struckOut && r.Stdout.Size() != size {
			t.Errorf("%q, %q: %d bytes became %d", tt.head, tt.tail, size, r.Stdout.Size())
		}
	}
}

func TestPilotctlIsFoundInItsPlaces(t *testing.T) {
	real := fakePilotctl(t)
	place := func(dir string) string {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "pilotctl"+exeSuffix())
		if err := os.Symlink(real, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	withoutPilotctl(t)
	home := t.TempDir()
	c := &Client{Home: home}
	if _, err := c.binary(); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("found nowhere: %v", err)
	}
	inHome := place(filepath.Join(home, ".pilot", "bin"))
	dir := t.TempDir()
	inPath := place(dir)
	inEnv := place(t.TempDir())
	inField := place(t.TempDir())
	want := func(path string) {
		t.Helper()
		if got, err := c.binary(); err != nil || got != path {
			t.Errorf("found %q, %v, want %s", got, err, path)
		}
	}
	want(inHome)
	t.Setenv("PATH", dir)
	want(inPath)
	t.Setenv(EnvBinary, inEnv)
	want(inEnv)
	c.Binary = inField
	want(inField)
	c.Binary = "pilotctl"
	want(inPath)
	for _, missing := range []string{filepath.Join(dir, "other"), dir, "no-such-pilotctl", filepath.Join("testdata", "schemas.json")} {
		c.Binary = missing
		if got, err := c.binary(); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("%s: %q, %v", missing, got, err)
		}
	}
}

func TestNotInstalledAndNotRunningAreDifferentAnswers(t *testing.T) {
	for _, g := range generations {
		s := newSim(t, g)
		s.Stop("me")
		r := s.run("pilot_find", `{"hostname":"bob"}`)
		if m := metadata(t, r); !r.IsError || m.Code != "not_running" || !strings.Contains(r.Content, "daemon") || !strings.Contains(r.Content, "5 seconds") {
			t.Errorf("%s: %+v", g, r)
		}
		if n := len(s.Calls()); n != 1 {
			t.Errorf("%s: run %d times", g, n)
		}
	}
	withoutPilotctl(t)
	for _, tool := range NewTools(&Client{FileRoot: "testdata"}) {
		name := tool.Info().Name
		r, err := tool.Run(t.Context(), fantasy.ToolCall{Name: name, Input: strings.Replace(inputOf(name), "note.txt", "schemas.json", 1)})
		if err != nil || !r.IsError || !strings.Contains(r.Content, "pilotctl is not installed") || !strings.Contains(r.Content, "install the Pilot Protocol") {
			t.Errorf("%s: %v %s", name, err, r.Content)
		}
	}
}

// TestASocketThatMayNotBeUsedReadsAsNotRunning: pilotctl gives the same code
// for a daemon that is down and for a socket that only its owner may open, so
// that the advice has to name both.
func TestASocketThatMayNotBeUsedReadsAsNotRunning(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		socket := filepath.Join(t.TempDir(), "pilot.sock")
		if err := os.WriteFile(socket, nil, 0); err != nil {
			t.Fatal(err)
		}
		s.client.Socket = socket
		for _, tool := range []string{"pilot_find", "pilot_pending", "pilot_send", "pilot_trust_check", "pilot_ping"} {
			r := s.run(tool, inputOf(tool))
			if !r.IsError || metadata(t, r).Code != "not_running" || !strings.Contains(r.Content, "must be started") || !strings.Contains(r.Content, "belongs to another user") {
				t.Errorf("%s: %+v", tool, r)
			}
		}
		if _, err := s.client.Pending(t.Context(), PendingInput{}); !errors.Is(err, ErrNotRunning) || errors.Is(err, ErrNotInstalled) {
			t.Error(err)
		}
	})
}

func inputOf(tool string) string {
	for _, v := range verbs {
		if v.tool == tool {
			return v.input
		}
	}
	return ""
}
