package pilottest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// DefaultReplyLimit is the size in bytes at which a scripted specialist cuts a
// reply and says so.
const DefaultReplyLimit = 8192

// Script says how a node answers messages. The zero value never answers.
//
// A message is looked for in this order: Func when it is set; Replies by the whole
// text, then by its first word; /help, /data and /summary by the fields of that
// name; the Directory for /data; Default.
type Script struct {
	Help    string            // answer to /help
	Data    string            // answer to /data, any filters
	Summary string            // answer to /summary, with a question or without
	Replies map[string]string // answers by the whole message, or by its first word
	Default string            // answer to everything else

	Directory []Agent // makes the node a directory: /data {"search":…,"limit":…}

	// Func computes the answers in the process that owns the network, one call
	// at a time. Nil or no replies: silence.
	Func func(from, text string) []Reply `json:"-"`

	Delay time.Duration // simulated time until an answer arrives
	Limit int           // bytes at which an answer is cut; 0: DefaultReplyLimit, negative: never
	Type  string        // text (default), json or binary
	Tag   bool          // answers name the message they answer, when it had an id
}

// Reply is one answer of a Script's Func.
type Reply struct {
	Text    string
	Type    string        // text (default), json or binary
	Delay   time.Duration // simulated time until it arrives
	From    string        // another sender than the node that was asked
	ReplyTo string        // names the message it answers; "": as Script.Tag says
}

// Agent is an entry of a directory.
type Agent struct {
	Hostname    string `json:"hostname"`
	Description string `json:"description"`
	Category    string `json:"category,omitempty"`
}

// answer picks the reply of the fields; ok is false for silence.
func (s *Script) answer(text string) (reply string, ok bool) {
	if r, found := s.Replies[text]; found {
		return r, true
	}
	command, rest, _ := strings.Cut(text, " ")
	if r, found := s.Replies[command]; found {
		return r, true
	}
	switch {
	case command == "/help" && s.Help != "":
		return s.Help, true
	case command == "/summary" && s.Summary != "":
		return s.Summary, true
	case command == "/data" && s.Directory != nil:
		return s.search(rest), true
	case command == "/data" && s.Data != "":
		return s.Data, true
	}
	return s.Default, s.Default != ""
}

// search answers as the network's directory does: literal tokens, one tier.
func (s *Script) search(filters string) string {
	var q struct {
		Search string `json:"search"`
		Limit  int    `json:"limit"`
	}
	if strings.TrimSpace(filters) != "" {
		if err := json.Unmarshal([]byte(filters), &q); err != nil {
			return mustJSON(map[string]any{"error": "the filters are not JSON: " + err.Error()})
		}
	}
	hits := []Agent{}
	for _, a := range s.Directory {
		if q.Limit > 0 && len(hits) == q.Limit {
			break
		}
		if a.matches(q.Search) {
			hits = append(hits, a)
		}
	}
	applied := map[string]any{}
	if q.Search != "" {
		applied["search"] = q.Search
	}
	if q.Limit > 0 {
		applied["limit"] = q.Limit
	}
	return mustJSON(map[string]any{
		"source": "list-agents",
		"count":  len(hits), "total": len(s.Directory), "total_free": len(s.Directory),
		"filters_applied": applied,
		"tiers": map[string]any{"free": map[string]any{
			"description": "agents that answer everybody", "count": len(hits), "items": hits,
		}},
	})
}

func (a Agent) matches(search string) bool {
	want := strings.Fields(strings.ToLower(search))
	have := strings.FieldsFunc(strings.ToLower(a.Hostname+" "+a.Description+" "+a.Category), func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && r < 0x80
	})
	for _, w := range want {
		if !slices.Contains(have, w) && w != a.Hostname {
			return false
		}
	}
	return true
}

// cut shortens a reply as specialists do, in the middle of whatever it is.
func (s *Script) cut(text string) string {
	limit := s.Limit
	if limit == 0 {
		limit = DefaultReplyLimit
	}
	if limit < 0 || len(text) <= limit {
		return text
	}
	end := limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s... (truncated, %d bytes total)", text[:end], len(text))
}

func mustJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("pilottest: %v", err)) // only our own maps and structs come here
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// queueAnswers lets a node answer a message that it has stored. The answers of
// Func come from the network's process and are handed in.
func (s *state) queueAnswers(node, asker *node, m Message, computed []Reply) {
	sc := node.Script
	if sc == nil {
		return
	}
	replies := computed
	if !node.Computed {
		text, ok := sc.answer(m.Text)
		if !ok {
			return
		}
		replies = []Reply{{Text: sc.cut(text)}}
	}
	for _, r := range replies {
		s.queueAnswer(node, asker, m, r)
	}
	s.settle()
}

func (s *state) queueAnswer(node, asker *node, m Message, r Reply) {
	out := Message{From: node.Name, Text: r.Text, Type: r.Type, ReplyTo: r.ReplyTo}
	if r.From != "" {
		out.From = r.From
	}
	if out.Type == "" {
		out.Type = node.Script.Type
	}
	if out.ReplyTo == "" && node.Script.Tag {
		out.ReplyTo = m.MessageID
	}
	if out.ReplyTo != "" {
		out.MessageID = newMessageID()
	}
	s.later(node.Script.Delay+r.Delay, delayed{Kind: "mail", From: node.ID, To: asker.ID, Message: &out})
}
