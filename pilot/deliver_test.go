package pilot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/internal/run"
	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// eachGeneration runs a test on three networks side by side.
func eachGeneration(t *testing.T, test func(t *testing.T, s *sim, g pilottest.Generation)) {
	t.Parallel()
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			test(t, newSim(t, g), g)
		})
	}
}

func TestASendIsDeliveredOnlyIfTheAckSaysSo(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		for name, fault := range map[string]pilottest.Fault{
			"no ack":               {Drop: []string{"ack"}},
			"an empty ack":         {Set: map[string]any{"ack": ""}},
			"an ack of something":  {Set: map[string]any{"ack": "ACKNOWLEDGED"}},
			"a refusal":            {Set: map[string]any{"ack": "ERR TEXT save failed: disk full"}},
			"an error beside it":   {Set: map[string]any{"error": "write: broken pipe"}},
			"an error and no ack":  {Drop: []string{"ack"}, Set: map[string]any{"error": "write: broken pipe"}},
			"an ack that is null":  {Set: map[string]any{"ack": nil}},
			"an ack without a gap": {Set: map[string]any{"ack": "ACK"}},
		} {
			fault.Verb, fault.Times = "send-message", 1
			s.Fault(fault)
			r := s.run("pilot_send", `{"peer":"bob","message":"m","wait_seconds":0}`)
			if !r.IsError || strings.Contains(strings.ToLower(r.Content), "delivered:") {
				t.Errorf("%s: %s", name, r.Content)
			}
			wantCode, wantText := "not_acknowledged", "not acknowledged"
			switch {
			case strings.Contains(name, "error"):
				wantText = "broken pipe"
			case name == "a refusal":
				wantCode, wantText = "refused", "disk full"
			}
			if m := metadata(t, r); m.Code != wantCode || !strings.Contains(r.Content, wantText) {
				t.Errorf("%s: code %s, %s", name, m.Code, r.Content)
			}
		}
		r := s.run("pilot_send", `{"peer":"bob","message":"m","wait_seconds":0}`)
		if m := metadata(t, r); r.IsError || m.Outcome != Delivered || !strings.HasPrefix(m.Ack, "ACK ") {
			t.Errorf("%+v", r)
		}
	})
}

func TestPeersThatRefuseBreakOffOrStayMuteAreNotDelivered(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		for name, behaviour := range map[string]pilottest.Behaviour{
			"refuses": {ErrAck: "quota exceeded"}, "breaks off": {SendError: "connection reset"}, "stays mute": {NoAck: true},
		} {
			s.Behave("bob", behaviour)
			before := len(s.CallsOf("send-message"))
			_, err := s.client.Send(t.Context(), SendInput{Peer: "bob", Message: "m"})
			if err == nil || name != "breaks off" && !errors.Is(err, ErrNotDelivered) {
				t.Errorf("%s: %v", name, err)
			}
			if n := len(s.CallsOf("send-message")) - before; n != 1 {
				t.Errorf("%s: sent %d times", name, n)
			}
		}
	})
}

func TestAMissingReplyIsNoErrorAndTheMessageIsSentOnce(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		s.Answer("bob", pilottest.Script{})
		s.client.hurry = 20
		r := s.run("pilot_send", `{"peer":"bob","message":"m","wait_seconds":10}`)
		want := Unanswered
		if g == pilottest.V113 { // it reports a failed send in the same way
			want = Unknown
		}
		if m := metadata(t, r); r.IsError || m.Outcome != want || m.Code != "" {
			t.Errorf("%+v", r)
		}
		for _, part := range []string{"pilot_inbox", "Do not send it again", "within 10s"} {
			if !strings.Contains(r.Content, part) {
				t.Errorf("%q is missing in %q", part, r.Content)
			}
		}
		if n := len(s.Inbox("bob")); n != 1 {
			t.Errorf("bob has %d messages", n)
		}
		if n := len(s.CallsOf("send-message")); n != 1 {
			t.Errorf("pilotctl sent %d times", n)
		}
	})
}

func TestAnAnswerAfterTheWaitIsInTheInbox(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		s.Answer("bob", pilottest.Script{Default: "sorry for the delay", Delay: 2 * time.Minute})
		s.client.hurry = 20
		if r := s.run("pilot_send", `{"peer":"bob","message":"m"}`); r.IsError || strings.Contains(r.Content, "sorry") {
			t.Errorf("before: %+v", r)
		}
		s.until("the answer is there", func() bool {
			return strings.Contains(s.run("pilot_inbox", "").Content, "> sorry for the delay")
		})
		s.Answer("bob", pilottest.Script{Default: "sorry for the delay", Delay: 35 * time.Second})
		s.client.hurry = 1
		if r := s.run("pilot_send", `{"peer":"bob","message":"m","wait_seconds":120}`); !strings.Contains(r.Content, "sorry for the delay") {
			t.Errorf("with a longer wait: %s", r.Content)
		}
	})
}

func TestAReplyThatNamesAnotherMessageOrSenderIsNotTheAnswer(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	for name, reply := range map[string]map[string]any{
		"another message": {"from": "0:0000.0000.0002", "type": "TEXT", "data": "wrong", "reply_to": strings.Repeat("0", 32)},
		"another sender":  {"from": "0:0000.0000.0005", "type": "TEXT", "data": "wrong"},
	} {
		s.Fault(pilottest.Fault{Verb: "send-message", Times: 1, Set: map[string]any{"reply": reply}})
		r := s.run("pilot_send", `{"peer":"bob","message":"m"}`)
		if m := metadata(t, r); r.IsError || strings.Contains(r.Content, "wrong") || m.Outcome != Unanswered || !strings.Contains(r.Content, "pilot_inbox") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	// The daemon's clock may go wrong; 1.16 looks at what is new in the inbox.
	s.Fault(pilottest.Fault{Verb: "send-message", Times: 1, Set: map[string]any{"reply": map[string]any{"from": "0:0000.0000.0002", "type": "TEXT", "data": "right", "received_at": "2001-01-01T00:00:00Z"}}})
	if r := s.run("pilot_send", `{"peer":"bob","message":"m"}`); !strings.Contains(r.Content, "right") {
		t.Error(r.Content)
	}
	// The same node has another address on each of its networks.
	s.Fault(pilottest.Fault{Verb: "send-message", Times: 1, Set: map[string]any{"reply": map[string]any{"from": "9:0009.0000.0002", "type": "TEXT", "data": "right"}}})
	if r := s.run("pilot_send", `{"peer":"bob","message":"m"}`); !strings.Contains(r.Content, "right") {
		t.Error(r.Content)
	}
}

// TestAnEarlierMessageIsNotTheAnswer: version 1.13 takes any message of the
// last second for the reply, version 1.2 leaves it to us.
func TestAnEarlierMessageIsNotTheAnswer(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		count := 0
		s.Answer("bob", pilottest.Script{Func: func(_, text string) []pilottest.Reply {
			count++
			return []pilottest.Reply{{Text: "answer to " + text}}
		}})
		for i := range 6 {
			question := fmt.Sprintf("question %d", i)
			got, err := s.client.Send(t.Context(), SendInput{Peer: "bob", Message: question, WaitSeconds: 30})
			if err != nil || got.Reply == nil || got.Reply.Text != "answer to "+question {
				t.Fatalf("%s: %+v, %v", question, got, err)
			}
		}
	})
}

func TestAnInboxThatCannotBeReadDoesNotUndoASend(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V12)
	s.client.hurry = 20
	for range 2 { // the second time it is known that this pilotctl does not wait
		s.Fault(pilottest.Fault{Verb: "inbox", Code: "internal", Message: "permission denied"})
		r := s.run("pilot_send", `{"peer":"bob","message":"m","wait_seconds":5}`)
		s.ClearFaults()
		if m := metadata(t, r); r.IsError || m.Outcome != Unanswered || m.Code != "" {
			t.Errorf("%+v", r)
		}
	}
	if n := len(s.Inbox("bob")); n != 2 {
		t.Errorf("bob has %d messages", n)
	}
	s.client.hurry = 1
	s.Fault(pilottest.Fault{Verb: "inbox", Times: 2, Code: "internal", Message: "permission denied"})
	if r := s.run("pilot_send", `{"peer":"bob","message":"m"}`); !strings.Contains(r.Content, "hello to you") {
		t.Errorf("a passing fault: %+v", r)
	}
}

func TestQuestionsToOnePeerAtATimeGetTheirOwnAnswers(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		s.Answer("bob", pilottest.Script{Func: func(_, text string) []pilottest.Reply {
			return []pilottest.Reply{{Text: "answer to " + text}}
		}})
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				question := fmt.Sprintf("question %d", i)
				got, err := s.client.Send(t.Context(), SendInput{Peer: "bob", Message: question, WaitSeconds: 60})
				if err != nil || got.Reply == nil || got.Reply.Text != "answer to "+question {
					t.Errorf("%s: %+v, %v", question, got, err)
				}
			})
		}
		all.Wait()
	})
}

func TestABinaryReplyIsAnnouncedAndABinaryMessageToo(t *testing.T) {
	t.Parallel()
	for _, g := range []pilottest.Generation{pilottest.V113, pilottest.V116} {
		s := newSim(t, g)
		s.Answer("bob", pilottest.Script{Func: func(string, string) []pilottest.Reply {
			return []pilottest.Reply{{Text: "\x89PNG\x00\xff\xfe", Type: "binary"}}
		}})
		r := s.run("pilot_send", `{"peer":"bob","message":"m"}`)
		if r.IsError || r.Content != "bob answered with 7 bytes that are no text." {
			t.Errorf("%s: %+v", g, r)
		}
		if r := s.run("pilot_inbox", ""); !strings.Contains(r.Content, "7 bytes, no text") {
			t.Errorf("%s: %s", g, r.Content)
		}
	}
}

func TestTheModelReadsTheDecodedAnswer(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		s.Answer("bitstamp", pilottest.Script{Data: "{\n  \"html\": \"\\u003cb\\u003e \\\\u003c\",\n  \"big\": 12345678901234567890.10\n}"})
		r := s.run("pilot_query", `{"agent":"bitstamp"}`)
		if want := `{"html":"<b> \\u003c","big":12345678901234567890.10}`; !strings.HasSuffix(r.Content, "\n"+want) || strings.Contains(r.Content, "message_id") {
			t.Errorf("%s", r.Content)
		}
		got, err := s.client.Query(t.Context(), QueryInput{Agent: "bitstamp"})
		if err != nil || string(got.JSON) != `{"html":"<b> \\u003c","big":12345678901234567890.10}` {
			t.Errorf("%+v %v", got, err)
		}
		s.Answer("bitstamp", pilottest.Script{Data: "no JSON\x1b[31m at all\x07"})
		if r := s.run("pilot_query", `{"agent":"bitstamp"}`); !strings.HasSuffix(r.Content, "\nno JSON at all") {
			t.Errorf("%q", r.Content)
		}
	})
}

func TestATruncatedReplyGetsAHintInFrontOfIt(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		s.Answer("bitstamp", pilottest.Script{Data: `{"list":["` + strings.Repeat("0123456789", 2000) + `"]}`})
		r := s.run("pilot_query", `{"agent":"bitstamp"}`)
		if m := metadata(t, r); r.IsError || !m.Truncated || !strings.HasPrefix(r.Content, "The responder cut this reply (20013 bytes in all)") || !strings.Contains(r.Content, "pilot_summary") {
			t.Errorf("%.300s", r.Content)
		}
	})
}

func TestBigRepliesThatGetLostLeaveTheSmallOnesUsable(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V113)
	s.Answer("bitstamp", pilottest.Script{Help: "small"})
	if r := s.run("pilot_help", `{"agent":"bitstamp"}`); !strings.Contains(r.Content, "small") {
		t.Error(r.Content)
	}
	s.client.hurry = 20
	if r := s.run("pilot_query", `{"agent":"bitstamp"}`); r.IsError || !strings.Contains(r.Content, "pilot_inbox") {
		t.Errorf("%+v", r)
	}
}

func TestASearchWithoutAMatchGetsAHintAndNoError(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		r := s.run("pilot_search", `{"keyword":"zeppelin"}`)
		if r.IsError || !strings.Contains(r.Content, `No agent matches "zeppelin"`) || !strings.Contains(r.Content, "synonym") {
			t.Errorf("%+v", r)
		}
		if r := s.run("pilot_search", `{"keyword":"bitcoin","limit":1}`); strings.Count(r.Content, "\n") != 1 {
			t.Errorf("%s", r.Content)
		}
	})
}

func TestSearchReadsFlatListsAndOddDirectories(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	for reply, want := range map[string]string{
		`{"items":[{"hostname":"a","blurb":"one"},{"hostname":""},{"description":"no name"}],"count":5}`: "1 of 5 agents matching \"x\" (their own words). Next: pilot_help with a hostname.\na: one",
		`{"tiers":{"b":{"items":[{"hostname":"h2"}]},"a":{"items":[{"hostname":"h1"}]}},"total":435}`:    "\nh1\nh2",
		`{"tiers":{}}`:    "No agent matches",
		`{"error":"dns"}`: `{"error":"dns"}`,
		`not a list`:      "not a list",
		`[1,2]`:           "[1,2]",
	} {
		s.Answer("list-agents", pilottest.Script{Data: reply})
		if r := s.run("pilot_search", `{"keyword":"x"}`); r.IsError || !strings.Contains(r.Content, want) {
			t.Errorf("%s: %s", reply, r.Content)
		}
	}
}

func TestTheWholeOutputIsReadHoweverSlowlyItComes(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	big := strings.Repeat("0123456789", 6000)
	s.Answer("bob", pilottest.Script{Default: big, Limit: -1})
	s.Fault(pilottest.Fault{Verb: "send-message", Times: 1, Split: 300 * time.Millisecond})
	got, err := s.client.Send(t.Context(), SendInput{Peer: "bob", Message: "m", WaitSeconds: 30})
	if err != nil || got.Reply.Text != big {
		t.Errorf("%v", err)
	}
	s.client.stops = 15
	s.Fault(pilottest.Fault{Verb: "send-message", Times: 1, Split: time.Millisecond, Hang: true})
	r := s.run("pilot_send", `{"peer":"bob","message":"m"}`)
	if !r.IsError || !strings.Contains(r.Content, "partial") || !strings.Contains(r.Content, `> {"data":{`) || !strings.Contains(r.Content, "pilot_inbox") {
		t.Errorf("%.300s", r.Content)
	}
}

func TestAnAnswerLargerThanWhatIsReadIsAnnounced(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	s.client.child = func(_ context.Context, c run.Command) (*run.Result, error) {
		head := []byte(`{"status":"ok","data":{"total":0,"x":"` + strings.Repeat("x", c.Head))[:c.Head]
		return &run.Result{Stdout: run.Output{Head: head, Tail: []byte(`x"}}`), Missing: 1}}, nil
	}
	r := s.run("pilot_peers", "")
	if !r.IsError || metadata(t, r).Code != "answer_too_large" || !strings.Contains(r.Content, "16 MiB") {
		t.Errorf("%.300s", r.Content)
	}
}

func TestALongReplyIsCutForTheModelAndWholeForTheProgram(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	s.Answer("bob", pilottest.Script{Default: strings.Repeat("0123456789", 10_000), Limit: -1})
	r := s.run("pilot_send", `{"peer":"bob","message":"m"}`)
	if len(r.Content) > 33<<10 || !strings.Contains(r.Content, "bytes omitted") && !strings.Contains(r.Content, "missing") {
		t.Errorf("%d bytes: %.200s", len(r.Content), r.Content)
	}
}

func TestFirstContactWithAStrangerNamesTheHandshake(t *testing.T) {
	t.Parallel()
	for _, g := range []pilottest.Generation{pilottest.V113, pilottest.V116} {
		s := newSim(t, g)
		r := s.run("pilot_send", `{"peer":"5","message":"m"}`)
		if m := metadata(t, r); !r.IsError || m.Code != "trust_required" || !strings.Contains(r.Content, "pilot_handshake") {
			t.Errorf("%s: %s", g, r.Content)
		}
		s.StopRegistry()
		r = s.run("pilot_send", `{"peer":"5","message":"m"}`)
		if !r.IsError || metadata(t, r).Code != "trust_required" || !strings.Contains(r.Content, "the registry cannot be reached from here") {
			t.Errorf("%s: %s", g, r.Content)
		}
	}
}

func TestPublishAndBroadcastNeverClaimDelivery(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		calls := []string{"pilot_publish", `{"peer":"bob","topic":"nobody-listens","message":"m"}`}
		if g != pilottest.V12 {
			calls = append(calls, "pilot_broadcast", `{"network_id":"9","message":"m"}`)
		}
		for i := 0; i < len(calls); i += 2 {
			r := s.run(calls[i], calls[i+1])
			if r.IsError || strings.Contains(strings.ToLower(r.Content), "delivered") || !strings.Contains(r.Content, "Handed to the daemon") || !strings.Contains(r.Content, "not known") {
				t.Errorf("%s: %+v", calls[i], r)
			}
		}
	})
}

func TestABroadcastThatVersion12CannotSendIsNotASuccess(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V12)
	_, err := s.client.Broadcast(t.Context(), BroadcastInput{NetworkID: "9", Message: "m"})
	if !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}
