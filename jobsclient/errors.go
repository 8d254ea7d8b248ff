package jobsclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a caller may branch on with errors.Is. The texts of the errors that wrap
// them are sentences for a user or a model and hold no secret. Where the daemon
// answered, status.FromError finds its gRPC status.
var (
	// ErrNotFound: the daemon does not know the job for this agent.
	ErrNotFound = errors.New("not found")
	// ErrUnauthenticated: there is no token, or the daemon refused it.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrPermissionDenied: the agent lacks the capability for the call.
	ErrPermissionDenied = errors.New("permission denied")
	// ErrUnavailable: the daemon is down, cannot be reached, or does not answer.
	ErrUnavailable = errors.New("unavailable")
	// ErrNotRunning: the job to cancel is not running, or the agent to submit for is not.
	ErrNotRunning = errors.New("not running")
	// ErrInvalidArgument: the request, or the Config, cannot be right.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrTooLarge: a message is above a limit, the client's or the daemon's.
	ErrTooLarge = errors.New("too large")
	// ErrUnreadable: the daemon cannot send the job since its output is not text.
	ErrUnreadable = errors.New("unreadable")
	// ErrAnswerLost: a submission may have been accepted, but its answer did not arrive.
	ErrAnswerLost = errors.New("answer lost")
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("client closed")
)

// callError is every error of this package's calls.
type callError struct {
	text   string
	kinds  []error // sentinels and, if it ended the call, the context's error
	status *status.Status
	sent   bool // the request may have reached the daemon
	final  bool // trying again does not help
}

func (e *callError) Error() string              { return e.text }
func (e *callError) Unwrap() []error            { return e.kinds }
func (e *callError) GRPCStatus() *status.Status { return e.status }

// unsent notes that the daemon cannot have heard of the call.
func (e *callError) unsent() *callError {
	e.sent = false
	return e
}

// failed is an error found on this side, before anything was sent.
func failed(kind error, code codes.Code, text string) *callError {
	return &callError{text: text, kinds: []error{kind}, status: status.New(code, text), final: true}
}

func invalid(format string, args ...any) *callError {
	return failed(ErrInvalidArgument, codes.InvalidArgument, fmt.Sprintf(format, args...))
}

func closedError(doing string) *callError {
	return failed(ErrClosed, codes.Canceled, doing+": the jobs client was closed")
}

// call is what the mapping of errors knows of a call.
type call struct {
	doing    string // "reading job job_1"
	job      string // its id, or ""
	method   string
	where    string // the daemon's address
	limit    time.Duration
	redactor redactor
	received int // the limit of answers in bytes
}

// fromContext is the error of a call whose caller's context has ended.
func (k call) fromContext(cause error, last error) *callError {
	text := k.doing + ": cancelled"
	code := codes.Canceled
	if errors.Is(cause, context.DeadlineExceeded) {
		text, code = k.doing+": the time for it ran out", codes.DeadlineExceeded
	}
	if last != nil {
		text += " (" + last.Error() + ")"
	}
	return &callError{text: text, kinds: []error{cause}, status: status.New(code, text), sent: true, final: true}
}

// fromDial is the error of a call for which no connection came about.
func (k call) fromDial(err error) *callError {
	var dial *dialError
	if !errors.As(err, &dial) {
		return &callError{text: k.doing + ": " + k.clean(err.Error()), kinds: []error{ErrUnavailable}, status: status.New(codes.Unavailable, "")}
	}
	text := k.doing + ": " + dial.text
	if !dial.permanent {
		text += "; try again once it is back"
	}
	return &callError{text: text, kinds: []error{ErrUnavailable, err}, status: status.New(codes.Unavailable, text), final: dial.permanent}
}

// fromStatus maps what the daemon, or gRPC in its name, answered.
func (k call) fromStatus(err error) *callError {
	st := status.Convert(err)
	message := k.clean(st.Message())
	text, kind := k.explain(st.Code(), message)
	e := &callError{text: k.doing + ": " + text, status: status.New(st.Code(), k.redactor.text(st.Message())), sent: true}
	if kind != nil {
		e.kinds = []error{kind}
	}
	switch st.Code() {
	case codes.Unauthenticated, codes.PermissionDenied, codes.NotFound, codes.InvalidArgument,
		codes.FailedPrecondition, codes.ResourceExhausted, codes.Unimplemented:
		e.final = true
	}
	return e
}

func (k call) explain(code codes.Code, message string) (string, error) {
	if text := k.httpAnswer(code, message); text != "" {
		return text, ErrUnavailable
	}
	switch code {
	case codes.Unauthenticated:
		return "the jobs daemon refused the agent's token: it is wrong, expired or revoked. " +
			"An agent gets a new one when its capabilities or links change; make a new client with the current value of " + EnvAgentToken + ", or set Config.TokenSource", ErrUnauthenticated
	case codes.PermissionDenied:
		return "the jobs daemon does not allow it: " + message, ErrPermissionDenied
	case codes.NotFound:
		return k.notFound(message), ErrNotFound
	case codes.InvalidArgument:
		return "the jobs daemon refused the request: " + message, ErrInvalidArgument
	case codes.FailedPrecondition:
		return k.notRunning(message), ErrNotRunning
	case codes.ResourceExhausted:
		return k.exhausted(message)
	case codes.Unimplemented:
		return fmt.Sprintf("the server at %s does not know this call: check that a jobs daemon listens there", k.where), ErrUnavailable
	case codes.DeadlineExceeded:
		return fmt.Sprintf("the jobs daemon at %s did not answer within %v: it hangs or is overloaded; try again later", k.where, k.limit), ErrUnavailable
	case codes.Unavailable, codes.Canceled, codes.Aborted:
		return fmt.Sprintf("the connection to the jobs daemon at %s was lost; try again once it is back", k.where), ErrUnavailable
	}
	if strings.Contains(message, "invalid UTF-8") {
		return "the output cannot be sent, because it is not valid UTF-8 text: " +
			"let the binary write text, or encode its output (for example with base64)", ErrUnreadable
	}
	if strings.Contains(message, "RST_STREAM") || strings.Contains(message, "stream terminated") {
		return fmt.Sprintf("the jobs daemon at %s broke off the answer; try again", k.where), ErrUnavailable
	}
	if strings.Contains(message, "unmarshal") {
		return fmt.Sprintf("the answer of the server at %s cannot be read: check that a jobs daemon of a fitting version listens there", k.where), nil
	}
	return "the jobs daemon reports a fault of its own: " + message, nil
}

// withoutJob is the error of an answer that has no job in it.
func (k call) withoutJob() *callError {
	text := k.doing + ": the jobs daemon reports a fault of its own: its answer holds no job"
	return &callError{text: text, status: status.New(codes.Internal, text), sent: true}
}

var (
	httpStatus = regexp.MustCompile(`unexpected HTTP status code received from server: (\d{3})`)
	sizes      = regexp.MustCompile(`\((\d+) vs\. (\d+)\)`)
	jargon     = regexp.MustCompile(`^(?:(?:rpc error: code = \S+ desc =|(?:grpc|transport|connection error|proto):)\s*)+|rpc error: code = \S+ desc =\s*`)
)

// httpAnswer explains an answer that did not come from a gRPC layer. The
// daemon's own refusal of a token is one too (401), and has its own text.
func (k call) httpAnswer(code codes.Code, message string) string {
	if code == codes.Unauthenticated {
		return ""
	}
	if found := httpStatus.FindStringSubmatch(message); found != nil {
		var n int
		_, _ = fmt.Sscan(found[1], &n)
		return fmt.Sprintf("the server at %s answered with HTTP status %d (%s), as no jobs daemon does: check the address", k.where, n, http.StatusText(n))
	}
	if strings.Contains(message, "unexpected content-type") || strings.Contains(message, "malformed header") {
		return fmt.Sprintf("the server at %s does not answer as a gRPC server: check the address of the jobs daemon", k.where)
	}
	return ""
}

func (k call) notFound(message string) string {
	if k.job == "" {
		return "the jobs daemon reports: " + message
	}
	if strings.Contains(message, "vanished") {
		return "the job is gone; most likely its agent was removed"
	}
	return "there is no such job for this agent: check the id"
}

func (k call) notRunning(message string) string {
	if k.job == "" {
		return "the jobs daemon reports: " + message
	}
	return "the job is not running: it has ended, or it is still queued, and a queued job cannot be cancelled"
}

func (k call) exhausted(message string) (string, error) {
	if !strings.Contains(message, "larger than max") {
		return "the jobs daemon is overloaded: " + message, ErrUnavailable
	}
	found := sizes.FindStringSubmatch(message)
	switch {
	case k.method == submitMethod && found != nil:
		return fmt.Sprintf("the request of %s bytes is too large, the limit is %s: pass less stdin, or hand the data over in a file", found[1], found[2]), ErrTooLarge
	case k.method == submitMethod:
		return "the request is too large for the jobs daemon: pass less stdin, or hand the data over in a file", ErrTooLarge
	case k.method == listMethod:
		return fmt.Sprintf("the jobs together have more output than the %d bytes that are read at once: list fewer (by status or label), or raise Config.MaxReceive", k.received), ErrTooLarge
	}
	return fmt.Sprintf("the job has more output than the %d bytes that are read at once: raise Config.MaxReceive, or let the binary write its output to a file", k.received), ErrTooLarge
}

const maxDaemonText = 1000

// clean makes a text from outside fit to be quoted: without secrets, control
// characters and gRPC's own prefixes, and not too long.
func (k call) clean(s string) string {
	s = strings.ToValidUTF8(k.redactor.text(s), "\uFFFD")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	s = jargon.ReplaceAllString(s, "")
	if len(s) > maxDaemonText {
		cut := maxDaemonText
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = fmt.Sprintf("%s… (%d bytes more)", s[:cut], len(s)-cut)
	}
	if s == "" {
		return "no reason given"
	}
	return s
}
