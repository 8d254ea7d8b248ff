package pilot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/fantasytools/fantasytools/internal/text"
)

// Answer is what a specialist or peer answered to a question.
type Answer struct {
	SendResult

	// JSON is the reply where it is one JSON value, as compact as it gets and
	// with every digit; else nil, and Reply.Text is what there is.
	JSON json.RawMessage

	// Truncated says that the responder cut its reply, at about 8 KB, and
	// CutFrom how many bytes it had.
	Truncated bool
	CutFrom   string
}

// truncation is what a responder writes at the place of its cut.
var truncation = regexp.MustCompile(`\.\.\. \(truncated, (\d+) bytes total\)`)

// ask sends a question and reads the answer.
func (o *op) ask(ctx context.Context, m letter) (*Answer, error) {
	sent, err := o.deliver(ctx, m)
	if err != nil {
		return nil, err
	}
	answer := &Answer{SendResult: *sent}
	if sent.Reply == nil {
		return answer, nil
	}
	answer.JSON, _ = compact(sent.Reply.Text)
	if cut := truncation.FindStringSubmatch(sent.Reply.Text); cut != nil {
		answer.Truncated, answer.CutFrom = true, cut[1]
		o.meta.Truncated = true
	}
	return answer, nil
}

// compact writes a JSON value without blanks and with <, > and & as they are.
func compact(s string) (json.RawMessage, bool) {
	s = strings.TrimSpace(s)
	if s == "" || !json.Valid([]byte(s)) {
		return nil, false
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(s)); err != nil {
		return nil, false
	}
	return unescape(b.Bytes()), true
}

// unescape puts back the characters that encoders escape for web pages.
// Escapes come in pairs of backslash and character, so that an escaped
// backslash in front of a "u003c" is left alone.
func unescape(raw []byte) []byte {
	out := raw[:0:0]
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			continue
		}
		if i+6 <= len(raw) {
			if c, ok := webEscapes[strings.ToLower(string(raw[i:i+6]))]; ok {
				out = append(out, c)
				i += 5
				continue
			}
		}
		out = append(out, raw[i], raw[i+1])
		i++
	}
	return out
}

var webEscapes = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&', `\u0027`: '\''}

// forModel is the reply itself. What there is to say about it stands in front
// of it, where no peer can have written it.
func (a *Answer) forModel() string {
	if a.Reply == nil {
		return a.state()
	}
	reply := *a.Reply
	if a.JSON != nil {
		reply.Text = string(a.JSON)
	}
	note := ""
	if a.Truncated {
		note = fmt.Sprintf("The responder cut this reply (%s bytes in all): narrow the filters, pass a smaller limit, or use pilot_summary.\n", text.Line(a.CutFrom, 20))
	}
	return note + reply.forModel(a.Peer+" answered")
}

// encode writes filters as JSON on one line.
func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
