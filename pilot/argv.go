package pilot

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// argv is what pilotctl is given. Texts of people and models are kept apart,
// so that a log shows their size only.
type argv struct {
	args  []string
	shown []string
}

// verb begins an argv: the switch for JSON stands first, where no flag can
// take it for its value.
func verb(words ...string) argv {
	return argv{}.add("--json").add(words...)
}

func (a argv) add(words ...string) argv {
	a.args = append(a.args[:len(a.args):len(a.args)], words...)
	a.shown = append(a.shown[:len(a.shown):len(a.shown)], words...)
	return a
}

// text adds free text as a word of its own.
func (a argv) text(s string) argv { return a.private("", s) }

// data adds free text in the one form that pilotctl takes literally whatever
// the text is: a word of its own that begins with a dash becomes a flag.
func (a argv) data(s string) argv { return a.private("--data=", s) }

func (a argv) private(prefix, s string) argv {
	a.args = append(a.args[:len(a.args):len(a.args)], prefix+s)
	a.shown = append(a.shown[:len(a.shown):len(a.shown)], fmt.Sprintf("%s<%d bytes>", prefix, len(s)))
	return a
}

// number adds a flag with a whole number.
func (a argv) number(flag string, n int) argv { return a.add("--" + flag + "=" + strconv.Itoa(n)) }

// seconds adds a flag with a duration; it has its unit, without which one
// generation refuses it.
func (a argv) seconds(flag string, d time.Duration) argv {
	return a.add(fmt.Sprintf("--%s=%ds", flag, int(d/time.Second)))
}

// maxArgument is the longest word that a program can be given: 128 KiB with
// the closing NUL on Linux, less than the 32,767 characters of a whole command
// line on Windows. What is longer travels by file where pilotctl can.
func maxArgument() int {
	if runtime.GOOS == "windows" {
		return 30_000
	}
	return 128<<10 - 1
}

const (
	maxName   = 253  // bytes of a peer, target, hostname: more than any has
	maxTopic  = 1024 // bytes, the broker's limit
	maxReason = 1024 // bytes that the receiving daemon keeps
)

// name checks what names a node or network: it travels as a word of its own.
func name(field, value string) (string, error) {
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return "", refuse(field+" is empty", "give a hostname, an address such as 0:0000.0000.000B, or a node id")
	case strings.HasPrefix(value, "-"):
		return "", refuse(field+" begins with a dash, which pilotctl would take for a flag", "give a hostname, an address or a node id")
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "", refuse(field+" holds a blank or a control character", "give one hostname, address or node id")
	case len(value) > maxName:
		return "", refuse(fmt.Sprintf("%s is %d bytes long; no name has more than %d", field, len(value), maxName), "give a hostname, an address or a node id")
	}
	return value, nil
}

// topic checks the topic of an event: it travels as a word of its own.
func topic(value string) error {
	switch {
	case value == "":
		return refuse("topic is empty", "name a topic, or * for all of them when subscribing")
	case len(value) > maxTopic:
		return refuse(fmt.Sprintf("topic is %d bytes long; brokers take %d", len(value), maxTopic), "use a shorter topic")
	case strings.HasPrefix(value, "-"):
		return refuse("topic begins with a dash, which pilotctl would take for a flag", "use a topic that begins otherwise")
	}
	return plain("topic", value)
}

// message checks a text that travels as --data=….
func message(field, value string) error {
	switch value {
	case "":
		return refuse(field+" is empty, and pilotctl cannot send an empty one", "say something")
	case "-":
		return refuse(field+" is a single dash, which stands for the standard input", "send other words")
	}
	return plain(field, value)
}

// plain checks that a text is one that an argument and a peer can carry.
func plain(field, value string) error {
	switch {
	case strings.ContainsRune(value, 0):
		return refuse(field+" holds a NUL byte, which no argument can carry", "remove it, or send the bytes as a file with pilot_send_file")
	case !utf8.ValidString(value):
		return refuse(field+" is not valid UTF-8", "send the bytes as a file with pilot_send_file")
	}
	return nil
}

// fits checks that a text can be an argument behind a prefix.
func fits(field, prefix, value string) error {
	if limit := maxArgument() - len(prefix); len(value) > limit {
		return refuse(fmt.Sprintf("%s is %d bytes long; an argument holds %d", field, len(value), limit), "shorten it, or send it as a file with pilot_send_file")
	}
	return nil
}

// taken are the words that pilotctl takes for itself wherever they stand.
var taken = map[string]bool{"-h": true, "--help": true, "--json": true, "--verbose": true, "-v": true}

// reason checks the words that go with a handshake or a rejection. They are
// read as they stand, so that they may begin with a dash.
func reason(value string) error {
	switch {
	case taken[value]:
		return refuse("reason is \""+value+"\", a word that pilotctl takes for itself", "give the reason in other words, or none")
	case len(value) > maxReason:
		return refuse(fmt.Sprintf("reason is %d bytes long; peers keep %d", len(value), maxReason), "shorten it")
	}
	return plain("reason", value)
}

// within checks a number and puts the default in the place of 0. Where 0 means
// something, low is 0 and there is no default.
func within(field string, value *int, low, high, fallback int) error {
	if *value == 0 && low > 0 {
		*value = fallback
	}
	if *value < low || *value > high {
		return refuse(fmt.Sprintf("%s is %d; it must be from %d to %d", field, *value, low, high), "give a number in that range")
	}
	return nil
}

// refuse is the error of input that is turned down before anything runs.
func refuse(why, what string) error {
	return &Error{Code: codeInvalidArgument, Message: why, Hint: what}
}
