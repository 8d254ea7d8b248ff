package typed

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// maxInput is how many bytes of JSON a call may have.
	maxInput = 64 << 20
	// maxDepth is how deep lists and objects may lie in each other.
	maxDepth = 200
)

// check tells what is wrong with s as JSON, in words that complete "the input …".
// After it a cursor needs no care about syntax.
func check(s string) *refusal {
	switch {
	case len(s) > maxInput:
		return refuse("is larger than %d MiB; send less", maxInput>>20)
	case !utf8.ValidString(s):
		return refuse("is not valid UTF-8")
	case deeperThan(s, maxDepth):
		return refuse("is nested more than %d levels deep", maxDepth)
	}
	if !json.Valid([]byte(s)) {
		return refuse("is not valid JSON: %s", syntaxError(s))
	}
	if at := loneSurrogate(s); at >= 0 {
		return refuse("holds half a character, %s; send both halves, or the character itself", s[at:at+6])
	}
	return nil
}

func syntaxError(s string) string {
	d := json.NewDecoder(strings.NewReader(s))
	var value json.RawMessage
	err := d.Decode(&value)
	if err == nil {
		return fmt.Sprintf("more text, %s, comes after the first value", quote(strings.TrimSpace(s[d.InputOffset():])))
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && syntax.Offset > 0 && syntax.Offset <= int64(len(s)) {
		return fmt.Sprintf("it is broken at byte %d, at %s", syntax.Offset, quote(s[runeStart(s, int(syntax.Offset)-1):]))
	}
	return "it breaks off before its end"
}

// runeStart returns where the character at i begins.
func runeStart(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// deeperThan reports whether brackets lie in each other more than limit deep.
func deeperThan(s string, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case '[', '{':
			if !quoted {
				depth++
			}
		case ']', '}':
			if !quoted {
				depth--
			}
		}
		if depth > limit {
			return true
		}
	}
	return false
}

// loneSurrogate returns where valid JSON escapes one half of a surrogate pair
// without the other; -1: nowhere.
func loneSurrogate(s string) int {
	for i := strings.IndexByte(s, '\\'); i >= 0; {
		next := i + 2
		if s[i+1] == 'u' {
			next = i + 6
			switch half := s[i+2 : next]; {
			case isHighHalf(half):
				if len(s) < next+6 || s[next:next+2] != `\u` || !isLowHalf(s[next+2:next+6]) {
					return i
				}
				next += 6
			case isLowHalf(half):
				return i
			}
		}
		skip := strings.IndexByte(s[next:], '\\')
		if skip < 0 {
			return -1
		}
		i = next + skip
	}
	return -1
}

// isHighHalf reports whether the four hexadecimal digits are D800 to DBFF.
func isHighHalf(hex string) bool {
	return hex[0]|0x20 == 'd' && strings.IndexByte("89abAB", hex[1]) >= 0
}

// isLowHalf reports whether the four hexadecimal digits are DC00 to DFFF.
func isLowHalf(hex string) bool {
	return hex[0]|0x20 == 'd' && strings.IndexByte("cdefCDEF", hex[1]) >= 0
}

// cursor walks over JSON that check found right.
type cursor struct {
	json string
	pos  int
}

// peek returns the first byte of the next value, or the bracket that ends the
// list or object.
func (c *cursor) peek() byte {
	for {
		switch b := c.json[c.pos]; b {
		case ' ', '\t', '\r', '\n', ',', ':':
			c.pos++
		default:
			return b
		}
	}
}

// in enters a list or an object.
func (c *cursor) in() {
	c.peek()
	c.pos++
}

// more reports whether the list or object has another value, and leaves it if
// it has none.
func (c *cursor) more() bool {
	b := c.peek()
	if b == ']' || b == '}' {
		c.pos++
		return false
	}
	return true
}

// str reads a string.
func (c *cursor) str() string {
	c.peek()
	start := c.pos
	end := start + 1
	escaped := false
	for c.json[end] != '"' {
		if c.json[end] == '\\' {
			escaped = true
			end++
		}
		end++
	}
	end++
	c.pos = end
	if !escaped {
		return c.json[start+1 : end-1]
	}
	var s string
	if err := json.Unmarshal([]byte(c.json[start:end]), &s); err != nil {
		panic("a string that was checked is broken: " + err.Error())
	}
	return s
}

// literal reads a number, true, false or null.
func (c *cursor) literal() string {
	c.peek()
	start := c.pos
	end := strings.IndexAny(c.json[start:], " \t\r\n,:]}")
	if end < 0 {
		end = len(c.json) - start
	}
	c.pos += end
	return c.json[start:c.pos]
}

// null passes a null.
func (c *cursor) null() bool {
	if c.peek() != 'n' {
		return false
	}
	c.literal()
	return true
}

// raw reads any value as it stands.
func (c *cursor) raw() (string, *refusal) {
	c.peek()
	start := c.pos
	_, r := c.any()
	return c.json[start:c.pos], r
}

// any reads any value; a number keeps all its digits, as json.Number.
func (c *cursor) any() (any, *refusal) {
	switch c.peek() {
	case '"':
		return c.str(), nil
	case '[':
		return c.anyList()
	case '{':
		return c.anyObject()
	}
	switch s := c.literal(); s {
	case "null":
		return nil, nil
	case "true", "false":
		return s == "true", nil
	default:
		return json.Number(s), nil
	}
}

func (c *cursor) anyList() (any, *refusal) {
	list := []any{}
	for c.in(); c.more(); {
		v, r := c.any()
		if r != nil {
			return nil, r.inElement(len(list))
		}
		list = append(list, v)
	}
	return list, nil
}

func (c *cursor) anyObject() (any, *refusal) {
	object := map[string]any{}
	for c.in(); c.more(); {
		key := c.str()
		if _, twice := object[key]; twice {
			return nil, refuseTwice(key)
		}
		v, r := c.any()
		if r != nil {
			return nil, r.inKey(key)
		}
		object[key] = v
	}
	return object, nil
}
