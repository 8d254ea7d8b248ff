package typed

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxEcho is how many bytes of a model's own text an error repeats.
const maxEcho = 48

// maxPath is how many bytes of a path an error shows, its end.
const maxPath = 200

// refusal says why an input is not what the schema asks for.
type refusal struct {
	path    string // filters.limit, args[2]; "": the whole input
	problem string // completes a sentence that begins with the path
	example string // a right value, as JSON; "": none
}

func refuse(format string, args ...any) *refusal {
	return &refusal{problem: fmt.Sprintf(format, args...)}
}

func refuseTwice(key string) *refusal {
	return refuse("has the key %s twice; send it once", quote(key))
}

// inKey says that the refused value is that of a key.
func (r *refusal) inKey(key string) *refusal {
	if !ValidName(key) {
		key = "[" + quote(key) + "]"
	}
	return r.within(key)
}

// inElement says that the refused value is the i-th of a list, from 0.
func (r *refusal) inElement(i int) *refusal {
	return r.within("[" + strconv.Itoa(i) + "]")
}

func (r *refusal) within(step string) *refusal {
	if r.path != "" && r.path[0] != '[' {
		step += "."
	}
	r.path = step + r.path
	return r
}

// String is what the model reads.
func (r *refusal) String() string {
	subject := r.path
	switch {
	case subject == "":
		subject = "the input"
	case len(subject) > maxPath:
		subject = "…" + strings.ToValidUTF8(subject[len(subject)-maxPath:], "")
	}
	s := "Nothing was run: " + subject + " " + r.problem + "."
	if r.example != "" {
		s += " For example: " + r.example
	}
	return s
}

// quote repeats text of the model, shortened.
func quote(s string) string {
	if len(s) <= maxEcho {
		return strconv.Quote(s)
	}
	end := maxEcho
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strconv.Quote(s[:end]) + "…"
}

// got names the value that comes next.
func (c *cursor) got() string {
	switch c.peek() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		s := c.str()
		if strings.TrimSpace(s) == "" {
			return "an empty text"
		}
		return "the text " + quote(s)
	}
	s := c.literal()
	if len(s) > maxEcho {
		s = s[:maxEcho] + "…"
	}
	return s
}

// want names what a parameter takes.
func (p *param) want() string {
	switch p.kind {
	case stringKind:
		if len(p.enum) > 0 {
			return "one of " + quoteAll(p.enum)
		}
		return "a string"
	case integerKind:
		return strings.TrimSpace("an integer " + span(p.minimum, p.maximum))
	case numberKind:
		return strings.TrimSpace("a number " + span(p.minimum, p.maximum))
	case booleanKind:
		return "true or false"
	case listKind:
		return "a list of " + p.elem.plural()
	case mapKind:
		if p.elem.kind == anyKind {
			return "an object"
		}
		return "an object whose values are " + p.elem.plural()
	case objectKind:
		return "an object"
	}
	return "a value"
}

func (p *param) plural() string {
	switch p.kind {
	case booleanKind:
		return "booleans"
	case listKind:
		return "lists"
	case mapKind, objectKind:
		return "objects"
	}
	return string(p.kind) + "s"
}

func span(low, high string) string {
	switch {
	case low != "" && high != "":
		return "from " + low + " to " + high
	case low != "":
		return "of at least " + low
	case high != "":
		return "of at most " + high
	}
	return ""
}

// wantInRange names an integer's limits, also those that only its size sets.
func (p *param) wantInRange() string {
	low, high := p.minimum, p.maximum
	if low == "" {
		low = strconv.FormatInt(math.MinInt64>>(64-p.typ.Bits()), 10)
	}
	if high == "" && isUnsigned(p.typ) {
		high = strconv.FormatUint(math.MaxUint64>>(64-p.typ.Bits()), 10)
	}
	if high == "" {
		high = strconv.FormatInt(math.MaxInt64>>(64-p.typ.Bits()), 10)
	}
	return "an integer " + span(low, high)
}

// example returns a value that p takes, as JSON.
func (p *param) example() string {
	switch {
	case p.fallback.IsValid():
		return p.defaultJSON
	case len(p.enum) > 0:
		return strconv.Quote(p.enum[0])
	case p.minimum != "":
		return p.minimum
	case p.maximum != "":
		return p.maximum
	}
	switch p.kind {
	case integerKind, numberKind:
		return "1"
	case booleanKind:
		return "true"
	case listKind:
		return "[" + p.elem.example() + "]"
	case mapKind:
		return `{"key": ` + p.elem.example() + "}"
	case objectKind:
		return exampleOf(p.likely())
	}
	return `"text"`
}

// likely returns the fields that a call has: the required ones, or, if there
// are none, the first.
func (p *param) likely() []*param {
	if fields := required(p.fields); len(fields) > 0 {
		return fields
	}
	return p.fields[:min(1, len(p.fields))]
}

// exampleOf returns an object with those keys, as JSON.
func exampleOf(params []*param) string {
	pairs := make([]string, len(params))
	for i, p := range params {
		pairs[i] = strconv.Quote(p.name) + ": " + p.example()
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

func required(params []*param) []*param {
	var out []*param
	for _, p := range params {
		if p.required {
			out = append(out, p)
		}
	}
	return out
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return strings.Join(quoted, ", ")
}
