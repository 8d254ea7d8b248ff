package pilot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/internal/run"
	"github.com/fantasytools/fantasytools/internal/text"
)

const (
	// MaxAnswer is how many bytes of pilotctl's answer are read (16 MiB).
	MaxAnswer = 16 << 20

	maxStderrTail = 64 << 10 // the error is the last line of stderr
	maxLines      = 1000     // of a stream that are tried as an envelope
)

// envelope is one answer of pilotctl: {"status":"ok","data":…} on stdout,
// {"status":"error","code":…,"message":…,"hint":…} on stderr.
type envelope struct {
	status string
	data   json.RawMessage
	update string // message of the day
	code   string
	why    string
	hint   string
}

// answer is what a run of pilotctl came to, when it is no error.
type answer struct {
	envelope
	exit int // may be 1: ping says so when every packet was lost
}

// decode reads the data of an answer, which must have the given keys; null is a
// value too. Without them there is no telling an empty list from another answer.
func (a *answer) decode(into any, keys ...string) error {
	if len(a.data) == 0 || string(a.data) == "null" {
		return &Error{Code: codeNoAnswer, Message: "pilotctl reported success without any data"}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(a.data, &fields) != nil || json.Unmarshal(a.data, into) != nil {
		return a.shapeless("its data are not of the known shape")
	}
	for _, key := range keys {
		if fields[key] == nil {
			return a.shapeless("its data have no " + key)
		}
	}
	return nil
}

func (a *answer) shapeless(why string) error {
	return &Error{Code: codePartial, Message: "pilotctl reported success, but " + why, printed: text.Cut(string(a.data), maxPrinted)}
}

// read makes an answer or an error of what a run printed. Noise before and
// after the envelope is passed over: banners on stdout, notices and warnings
// on stderr. Of a stream with a hole only one side is looked at: the two ends
// together could read like something else.
func read(r *run.Result) (*answer, error) {
	stdout, stderr := whole(r.Stdout, r.Stdout.Head), whole(r.Stderr, r.Stderr.Tail)
	ok, found := find(stdout, "ok")
	failure, failed := find(stderr, "error")
	if !failed && !found {
		failure, failed = find(stdout, "error")
	}
	switch {
	case found && (r.ExitCode == 0 || r.TimedOut || !failed):
		return &answer{envelope: ok, exit: r.ExitCode}, nil
	case failed:
		return &answer{envelope: failure, exit: r.ExitCode}, told(failure.code, failure.why, failure.hint)
	}
	return nil, unreadable(r, stdout, stderr)
}

// unreadable says why there is no envelope, with the beginning of what there
// is instead.
func unreadable(r *run.Result, stdout, stderr []byte) *Error {
	printed := text.Cut(string(firstNonBlank(stdout, stderr)), maxPrinted)
	if before, _, found := strings.Cut(printed, "\ngoroutine "); found {
		printed = before // a crash's stack says nothing to a model
	}
	e := &Error{printed: strings.TrimSpace(printed), stdout: stdout}
	switch {
	case r.TimedOut:
		e.Code, e.Message = codeTimeout, fmt.Sprintf("pilotctl did not end within %s and was stopped", r.Duration.Round(time.Millisecond))
		e.stopped = true
		if e.printed != "" {
			e.Message += "; what it printed is partial"
		}
	case r.Stdout.Missing > 0:
		e.Code, e.Message = codeTooLarge, fmt.Sprintf("pilotctl's answer is larger than %d MiB, and only a part of it was read", MaxAnswer>>20)
	case r.Signal != "":
		e.Code, e.Message = codeSignal, "pilotctl was ended by "+r.Signal
	case r.ExitCode != 0:
		e.Code, e.Message = codeExit, fmt.Sprintf("pilotctl ended with exit status %d and no answer", r.ExitCode)
	case e.printed == "" || len(bytes.TrimSpace(stdout)) == 0:
		e.Code, e.Message = codeNoAnswer, "pilotctl ended without printing an answer"
	case strings.HasPrefix(e.printed, "{") && !json.Valid(bytes.TrimSpace(stdout)):
		e.Code, e.Message = codePartial, "pilotctl's answer is partial: it breaks off or is damaged"
	default:
		e.Code, e.Message = codePlainText, "pilotctl answered in plain text"
	}
	return e
}

func firstNonBlank(streams ...[]byte) []byte {
	for _, s := range streams {
		if text.Line(string(s[:min(len(s), maxPrinted)]), maxPrinted) != "" {
			return s
		}
	}
	return nil
}

// whole puts a stream together, or takes the given side of one with a hole.
func whole(o run.Output, side []byte) []byte {
	if o.Missing > 0 {
		return side
	}
	if len(o.Tail) == 0 {
		return o.Head
	}
	return append(o.Head[:len(o.Head):len(o.Head)], o.Tail...)
}

// find looks for the last envelope with a status: the stream itself, or one of
// its lines, or what begins at its first line with a brace.
func find(stream []byte, status string) (envelope, bool) {
	stream = bytes.TrimSpace(stream)
	if e, ok := parse(stream); ok && e.status == status {
		return e, true
	}
	rest := stream
	for tries := 0; tries < maxLines && len(rest) > 0; {
		start := bytes.LastIndexByte(rest, '\n') + 1
		line := bytes.TrimSpace(rest[start:])
		rest = rest[:max(start-1, 0)]
		if len(line) == 0 || line[0] != '{' || len(line) == len(stream) { // the whole stream was tried
			continue
		}
		tries++
		if e, ok := parse(line); ok && e.status == status {
			return e, true
		}
	}
	if i := bytes.Index(stream, []byte("\n{")); i >= 0 {
		if e, ok := parse(stream[i+1:]); ok && e.status == status {
			return e, true
		}
	}
	return envelope{}, false
}

// parse reads one JSON object with a status. Keys that are not known are
// passed over, and so are known ones of another type.
func parse(raw []byte) (envelope, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return envelope{}, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return envelope{}, false
	}
	word := func(key string) string {
		var s string
		_ = json.Unmarshal(fields[key], &s) // another type is no word
		return s
	}
	e := envelope{status: word("status"), data: fields["data"], update: word("important_update"), code: word("code"), why: word("message"), hint: word("hint")}
	if e.why == "" {
		e.why = word("error")
	}
	return e, e.status != ""
}
