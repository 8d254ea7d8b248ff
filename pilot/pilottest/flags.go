package pilottest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// flagSet is what pilotctl made of its arguments.
type flagSet struct {
	pos  []string
	vals map[string]string
}

// parseFlags follows the rules of the generation, traps included: there is no
// end-of-flags marker, and a value that looks like a flag is lost.
func parseFlags(g Generation, args []string) flagSet {
	f := flagSet{vals: map[string]string{}}
	for i := 0; i < len(args); i++ {
		key, isFlag := flagKey(g, args[i])
		if !isFlag {
			f.pos = append(f.pos, args[i])
			continue
		}
		if k, v, ok := strings.Cut(key, "="); ok {
			f.vals[k] = v
			continue
		}
		if i+1 < len(args) && takenAsValue(g, args[i+1]) {
			i++
			f.vals[key] = args[i]
			continue
		}
		f.vals[key] = "true"
	}
	return f
}

func flagKey(g Generation, tok string) (string, bool) {
	if rest, ok := strings.CutPrefix(tok, "--"); ok {
		return rest, rest != "" || !g.modern()
	}
	rest, ok := strings.CutPrefix(tok, "-")
	if !ok || !g.modern() || rest == "" || onlyDigitsAndDots(rest) {
		return "", false
	}
	return rest, true
}

func takenAsValue(g Generation, tok string) bool {
	if !g.modern() {
		return !strings.HasPrefix(tok, "--")
	}
	rest, dash := strings.CutPrefix(tok, "-")
	switch {
	case !dash, rest == "", onlyDigitsAndDots(rest):
		return true
	}
	return rest[0] >= '0' && rest[0] <= '9'
}

func onlyDigitsAndDots(s string) bool {
	return strings.Trim(s, "0123456789.") == ""
}

func (f flagSet) has(key string) bool { _, ok := f.vals[key]; return ok }

func (f flagSet) arg(i int) string {
	if i < len(f.pos) {
		return f.pos[i]
	}
	return ""
}

// bool is true for `--key`, `--key=`, `--key=true` and `--key=1`; any other
// value, also one swallowed by accident, is false.
func (f flagSet) bool(key string) bool {
	v, ok := f.vals[key]
	return ok && (v == "true" || v == "1" || v == "")
}

func (f flagSet) int(key string, missing int) (int, error) {
	v, ok := f.vals[key]
	if !ok {
		return missing, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0, fail("invalid_argument", "invalid integer for --%s: %v", key, err)
	}
	return n, nil
}

// duration takes Go's form or a plain number of seconds.
func (f flagSet) duration(key string, missing time.Duration) (time.Duration, error) {
	v, ok := f.vals[key]
	if !ok {
		return missing, nil
	}
	if d, err := time.ParseDuration(v); err == nil {
		return d, nil
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return time.Duration(s * float64(time.Second)), nil
	}
	_, err := time.ParseDuration(v)
	return 0, fail("invalid_argument", "invalid duration for --%s: %v", key, err)
}

// goDuration takes Go's form only: a number without a unit is refused.
func (f flagSet) goDuration(key string) (time.Duration, error) {
	d, err := time.ParseDuration(f.vals[key])
	if err != nil {
		return 0, fail("invalid_argument", "invalid duration for --%s: %v", key, err)
	}
	return d, nil
}

// failure is an error envelope.
type failure struct {
	code, message, hint string
	extra               map[string]any
	after               time.Duration // simulated time until it is reported
}

func (e *failure) Error() string { return e.code + ": " + e.message }

func fail(code, format string, args ...any) *failure {
	return &failure{code: code, message: fmt.Sprintf(format, args...)}
}

func (e *failure) withHint(format string, args ...any) *failure {
	e.hint = fmt.Sprintf(format, args...)
	return e
}
