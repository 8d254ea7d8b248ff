package pilot

import (
	"errors"
	"strings"

	"github.com/fantasytools/fantasytools/internal/text"
)

// What a caller may branch on, with errors.Is.
var (
	// ErrNotInstalled: there is no pilotctl; see [Client] for where it is looked for.
	ErrNotInstalled = errors.New("pilotctl is not installed")
	// ErrNotRunning: pilotctl could not connect to its daemon's socket.
	ErrNotRunning = errors.New("the Pilot daemon is not running")
	// ErrInvalidArgument: an input was refused, by this package before anything
	// ran or by pilotctl.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrNotFound: a peer, hostname or file does not exist or was not resolved.
	ErrNotFound = errors.New("no such peer, node, hostname or file")
	// ErrTrustRequired: the peer is private and not trusted, or the registry, which
	// would tell, cannot be reached.
	ErrTrustRequired = errors.New("the peer and this node do not trust each other")
	// ErrConnectionFailed: a connection to the peer, the registry or the daemon
	// failed.
	ErrConnectionFailed = errors.New("the peer, the registry or the daemon could not be reached")
	// ErrTimeout: pilotctl, or this package's timer, gave up; what was sent may
	// have arrived.
	ErrTimeout = errors.New("no answer in time")
	// ErrPermissionDenied: a policy of the daemon forbids it.
	ErrPermissionDenied = errors.New("not permitted")
	// ErrAuthRequired: a broadcast needs PILOT_ADMIN_TOKEN.
	ErrAuthRequired = errors.New("an admin token is required")
	// ErrBroadcastFailed: the daemon refused a broadcast.
	ErrBroadcastFailed = errors.New("the daemon refused to broadcast")
	// ErrUnavailable: the installed version of pilotctl lacks the verb.
	ErrUnavailable = errors.New("this version of pilotctl cannot do that")
	// ErrInternal: pilotctl or the receiver could not store or read something.
	ErrInternal = errors.New("pilotctl or the receiver could not store or read something")

	// ErrNotDelivered: nothing shows that the peer has stored what was sent.
	ErrNotDelivered = errors.New("not acknowledged by the peer")
	// ErrNotPending: nobody waits for the approval or rejection.
	ErrNotPending = errors.New("no such pending handshake")
	// ErrNotTrusted: there is no trust to revoke.
	ErrNotTrusted = errors.New("the node was not trusted")
	// ErrUnexpectedAnswer: pilotctl ended, and what it printed is no answer.
	ErrUnexpectedAnswer = errors.New("pilotctl gave no answer that can be read")
)

// Error is why a verb did not work. Code, Message and Hint are pilotctl's own,
// without control characters and bounded, or, where nothing ran or nothing
// could be read, ours. Code is one of pilotctl's (not_running, not_found,
// trust_required, …) or not_installed, not_acknowledged, refused, not_pending,
// not_confirmed, plain_text, partial_answer, no_answer, answer_too_large,
// ended_by_signal or exit_status.
type Error struct {
	Verb    string // the verb, as in "send" or "trust_check"
	Code    string
	Message string // one sentence
	Hint    string // what to do next; may be empty

	printed string // what pilotctl printed instead of an answer, bounded
	stdout  []byte // all of it that was read
	stopped bool   // by our timer
	ours    bool   // Hint speaks to the model already
}

const (
	codeInvalidArgument = "invalid_argument"
	codeNotInstalled    = "not_installed"
	codeNotRunning      = "not_running"
	codeNotFound        = "not_found"
	codeTrustRequired   = "trust_required"
	codeConnection      = "connection_failed"
	codeTimeout         = "timeout"
	codeInternal        = "internal"

	codeUnacknowledged = "not_acknowledged"
	codeRefused        = "refused"
	codeNotPending     = "not_pending"
	codeNotConfirmed   = "not_confirmed"

	codePlainText = "plain_text"
	codePartial   = "partial_answer"
	codeNoAnswer  = "no_answer"
	codeTooLarge  = "answer_too_large"
	codeSignal    = "ended_by_signal"
	codeExit      = "exit_status"
)

// sentinels maps a code to what errors.Is finds; codes that are not listed
// match nothing.
var sentinels = map[string]error{
	codeInvalidArgument: ErrInvalidArgument, "usage": ErrInvalidArgument,
	codeNotInstalled: ErrNotInstalled, codeNotRunning: ErrNotRunning,
	codeNotFound: ErrNotFound, codeTrustRequired: ErrTrustRequired,
	codeConnection: ErrConnectionFailed, codeTimeout: ErrTimeout,
	"permission_denied": ErrPermissionDenied, "auth_required": ErrAuthRequired,
	"broadcast_failed": ErrBroadcastFailed, codeInternal: ErrInternal,
	"unavailable": ErrUnavailable, "not_implemented": ErrUnavailable, "not_supported": ErrUnavailable,
	codeUnacknowledged: ErrNotDelivered, codeRefused: ErrNotDelivered, codeNotPending: ErrNotPending,
	codePlainText: ErrUnexpectedAnswer, codePartial: ErrUnexpectedAnswer, codeNoAnswer: ErrUnexpectedAnswer,
	codeTooLarge: ErrUnexpectedAnswer, codeSignal: ErrUnexpectedAnswer, codeExit: ErrUnexpectedAnswer,
}

// Error is one line: the verb, the message, the code and the hint.
func (e *Error) Error() string {
	s := e.Message
	if e.Verb != "" {
		s = "pilot " + e.Verb + ": " + s
	}
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Is makes the code's sentinel findable. Some refusals come under
// the code of a wider kind and are known by their text.
func (e *Error) Is(target error) bool {
	switch target {
	case nil:
		return false
	case sentinels[e.Code]:
		return true
	case ErrNotTrusted:
		return e.Code == codeConnection && strings.HasSuffix(e.Message, "was not trusted")
	case ErrNotDelivered:
		return e.Code == codeInternal && strings.HasPrefix(e.Message, "receiver rejected message") ||
			e.Code == codeConnection && strings.Contains(e.Message, "not acknowledged")
	case ErrNotFound: // the registry's answer to lookup
		return e.Code == codeConnection && strings.Contains(e.Message, "node not found") ||
			e.Code == codeInvalidArgument && strings.HasPrefix(e.Message, "cannot resolve ") // send-file's answer
	}
	return false
}

const (
	maxMessage = 2 << 10 // bytes of a message or a hint of pilotctl
	maxPrinted = 4 << 10 // bytes of what it printed instead of an answer
)

// told is an error in pilotctl's words.
func told(code, message, hint string) *Error {
	e := &Error{Code: text.Line(code, 64), Message: text.Line(message, maxMessage), Hint: text.Line(hint, maxMessage)}
	if e.Message == "" {
		e.Message = "pilotctl failed without saying why"
	}
	return e
}

// forModel is the error as the model reads it: what happened, what pilotctl
// advises and what to do next, in terms of the tools.
func (e *Error) forModel() string {
	b := strings.Builder{}
	b.WriteString(sentence(e.Message))
	if e.Code != "" {
		b.WriteString(" (code: " + e.Code + ")")
	}
	if e.Hint != "" {
		b.WriteString("\nHint: " + sentence(e.Hint))
	}
	if next := advice(e); next != "" {
		b.WriteString("\nNext: " + next)
	}
	if e.printed != "" {
		b.WriteString("\npilotctl printed:\n" + quote(e.printed, maxPrinted))
	}
	return b.String()
}

// advice is what a model can do about an error, where the hint does not say it
// in the tools' words.
func advice(e *Error) string {
	if e.ours {
		return ""
	}
	switch {
	case errors.Is(e, ErrNotTrusted):
		return "nothing is left to revoke; pilot_trust_check shows the state."
	case errors.Is(e, ErrNotFound) && e.Verb == "search":
		return "the directory of specialists cannot be found from here; try again in a minute, or tell the user."
	case errors.Is(e, ErrNotFound) && e.Verb != "received" && !strings.HasPrefix(e.Message, "file not found"):
		return "check the spelling; pilot_search finds specialists, and a node id or address works where a hostname does not resolve yet."
	case errors.Is(e, ErrNotDelivered):
		return "the peer has not stored it; tell the user, or try again later."
	case e.Code == codeConnection && dials[e.Verb]:
		return "pilot_ping tells an unreachable peer from a broken message layer; pilot_trust_check shows whether trust is missing."
	case e.Code == codeTimeout, errors.Is(e, ErrUnexpectedAnswer):
		return uncertainty(e)
	}
	return advices[e.Code]
}

// dials are the verbs that connect to a peer.
var dials = map[string]bool{
	"search": true, "help": true, "query": true, "summary": true,
	"send": true, "send_file": true, "publish": true, "subscribe": true,
}

// uncertainty is the advice when it is not known what pilotctl did.
func uncertainty(e *Error) string {
	if effects[prefix+e.Verb] != EffectRead || e.Verb == "received" {
		return "whether it took effect is not known: look before you repeat it."
	}
	if e.Code == codeTooLarge {
		return "ask for less."
	}
	return "nothing was changed; try once more later, or tell the user."
}

var advices = map[string]string{
	codeNotInstalled:   "tell the user; no Pilot tool works until then.",
	codeNotRunning:     "if the daemon is just starting, try once more after 5 seconds; else tell the user that it must be started, or, if it runs, that its socket is another one or belongs to another user.",
	codeTrustRequired:  "pilot_handshake asks for trust. If the peer is trusted already, the registry cannot be reached from here: tell the user.",
	codeConnection:     "the daemon or the registry could not be reached or refused: try once more later, or tell the user.",
	"auth_required":    "tell the user that broadcasts need an admin token; do not ask for the token in the conversation.",
	"broadcast_failed": "nothing was sent; pilot_send reaches single peers.",
	"unavailable":      "this version of pilotctl does not offer it; use pilot_send to single peers.",
	"not_implemented":  "this version of pilotctl or of the daemon does not offer it.",
	"not_supported":    "this version of pilotctl or of the daemon does not offer it.",
	"usage":            "correct the arguments.",
}

// sentence ends a text like one.
func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}
