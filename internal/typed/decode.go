package typed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decodeInput decodes the input of a call into v, a struct that p describes.
func (p *param) decodeInput(input string, v reflect.Value) *refusal {
	if strings.TrimSpace(input) == "" {
		input = "{}"
	}
	if r := check(input); r != nil {
		r.example = p.example()
		return r
	}
	c := &cursor{json: input}
	if c.null() {
		c = &cursor{json: "{}"}
	}
	if c.peek() != '{' {
		r := refuse("must be a JSON object, not %s", c.got())
		r.example = p.example()
		return r
	}
	return p.decodeObject(c, v)
}

// decode decodes the next value, which is not null, into v.
func (p *param) decode(c *cursor, v reflect.Value) *refusal {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch p.kind {
	case listKind:
		return p.decodeWithin(c, v, '[', p.decodeList)
	case mapKind:
		return p.decodeWithin(c, v, '{', p.decodeMap)
	case objectKind:
		return p.decodeWithin(c, v, '{', p.decodeObject)
	case anyKind:
		return p.decodeAny(c, v)
	}
	return p.decodeScalar(c, v)
}

// decodeWithin decodes a list or an object, also one that comes as JSON
// inside a string.
func (p *param) decodeWithin(c *cursor, v reflect.Value, bracket byte, decode func(*cursor, reflect.Value) *refusal) *refusal {
	start := *c
	switch c.peek() {
	case bracket:
		return decode(c, v)
	case '"':
		inner := &cursor{json: strings.TrimSpace(c.str())}
		if strings.HasPrefix(inner.json, string(bracket)) && check(inner.json) == nil {
			return decode(inner, v)
		}
	}
	return refuse("must be %s, not %s", p.want(), start.got())
}

func (p *param) decodeList(c *cursor, v reflect.Value) *refusal {
	v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	n := 0
	for c.in(); c.more(); n++ {
		if c.null() {
			return refuse("must be %s, not null", p.elem.want()).inElement(n)
		}
		v.Grow(1)
		v.SetLen(n + 1)
		if r := p.elem.decode(c, v.Index(n)); r != nil {
			return r.inElement(n)
		}
	}
	return nil
}

func (p *param) decodeMap(c *cursor, v reflect.Value) *refusal {
	v.Set(reflect.MakeMap(v.Type()))
	for c.in(); c.more(); {
		name := c.str()
		key := reflect.ValueOf(name).Convert(v.Type().Key())
		if v.MapIndex(key).IsValid() {
			return refuseTwice(name)
		}
		value := reflect.New(v.Type().Elem()).Elem()
		if p.elem.kind != anyKind && c.null() {
			return refuse("must be %s, not null; leave the key out", p.elem.want()).inKey(name)
		}
		if r := p.elem.decode(c, value); r != nil {
			return r.inKey(name)
		}
		v.SetMapIndex(key, value)
	}
	return nil
}

func (p *param) decodeObject(c *cursor, v reflect.Value) *refusal {
	seen := make([]bool, len(p.fields)) // also of a key whose value is null
	sent := make([]bool, len(p.fields))
	for c.in(); c.more(); {
		name := c.str()
		i, field := p.field(name)
		if field == nil {
			return p.refuseUnknown(name)
		}
		if seen[i] {
			return refuseTwice(name)
		}
		seen[i] = true
		if c.null() {
			continue
		}
		sent[i] = true
		if r := field.decode(c, v.FieldByIndex(field.index)); r != nil {
			if r.example == "" {
				r.example = exampleOf([]*param{field})
			}
			return r.inKey(name)
		}
	}
	return p.decodeAbsent(sent, v)
}

// decodeAbsent sets the defaults of what was not sent.
func (p *param) decodeAbsent(sent []bool, v reflect.Value) *refusal {
	var missing []*param
	for i, field := range p.fields {
		switch {
		case sent[i]:
		case field.required:
			missing = append(missing, field)
		case field.fallback.IsValid():
			field.setDefault(v.FieldByIndex(field.index))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	wants := make([]string, len(missing))
	for i, field := range missing {
		wants[i] = fmt.Sprintf("%q (%s)", field.name, field.want())
	}
	r := refuse("lacks %s", strings.Join(wants, " and "))
	r.example = exampleOf(p.likely())
	return r
}

func (p *param) setDefault(v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(p.typ))
		v = v.Elem()
	}
	v.Set(p.fallback)
}

func (p *param) refuseUnknown(name string) *refusal {
	if len(p.fields) == 0 {
		r := refuse("has the unknown key %s; there are no parameters", quote(name))
		r.example = "{}"
		return r
	}
	return refuse("has the unknown key %s%s; the keys are %s", quote(name), p.meant(name), quoteAll(names(p.fields)))
}

// meant asks for the parameter whose name is spelt differently.
func (p *param) meant(name string) string {
	folded := fold(name)
	for _, field := range p.fields {
		if fold(field.name) == folded {
			return fmt.Sprintf(" (did you mean %q?)", field.name)
		}
	}
	return ""
}

// fold returns a name without what models vary in it.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

func (p *param) decodeAny(c *cursor, v reflect.Value) *refusal {
	if p.typ == rawMessage {
		s, r := c.raw()
		v.SetBytes([]byte(s))
		return r
	}
	value, r := c.any()
	if value != nil {
		v.Set(reflect.ValueOf(value))
	}
	return r
}

func (p *param) decodeScalar(c *cursor, v reflect.Value) *refusal {
	start := *c
	var s string
	switch c.peek() {
	case '[', '{':
		return refuse("must be %s, not %s", p.want(), start.got())
	case '"':
		s = c.str()
	default:
		s = c.literal()
	}
	if want := p.set(v, s); want != "" {
		return refuse("must be %s, not %s", want, start.got())
	}
	return nil
}

// set sets v from the text of a string, number or boolean. If that is not what
// p takes, it returns what p wants instead.
func (p *param) set(v reflect.Value, s string) (want string) {
	switch p.kind {
	case stringKind:
		if len(p.enum) > 0 && !slices.Contains(p.enum, s) {
			return p.want()
		}
		v.SetString(s)
		return ""
	case booleanKind:
		return p.setBoolean(v, strings.TrimSpace(s))
	case integerKind:
		return p.setInteger(v, strings.TrimSpace(s))
	}
	return p.setNumber(v, strings.TrimSpace(s))
}

func (p *param) setBoolean(v reflect.Value, s string) (want string) {
	isTrue := strings.EqualFold(s, "true")
	if !isTrue && !strings.EqualFold(s, "false") {
		return p.want()
	}
	v.SetBool(isTrue)
	return ""
}

func (p *param) setInteger(v reflect.Value, s string) (want string) {
	digits, ok := wholeNumber(s)
	if !ok {
		return p.want()
	}
	if v.CanUint() {
		return p.setUnsigned(v, digits)
	}
	n, err := strconv.ParseInt(digits, 10, v.Type().Bits())
	if err != nil {
		return p.wantInRange()
	}
	v.SetInt(n)
	return p.wantWithin(float64(n))
}

func (p *param) setUnsigned(v reflect.Value, digits string) (want string) {
	if digits[0] == '-' {
		return p.want()
	}
	n, err := strconv.ParseUint(digits, 10, v.Type().Bits())
	if err != nil {
		return p.wantInRange()
	}
	v.SetUint(n)
	return p.wantWithin(float64(n))
}

func (p *param) setNumber(v reflect.Value, s string) (want string) {
	if !isNumber(s) {
		return p.want()
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || v.OverflowFloat(n) {
		return fmt.Sprintf("a number that %d bits can hold", v.Type().Bits())
	}
	v.SetFloat(n)
	return p.wantWithin(n)
}

func (p *param) wantWithin(n float64) (want string) {
	if n < p.low || n > p.high {
		return p.want()
	}
	return ""
}

func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s))
}

// maxDigits is more than a 64-bit integer has.
const maxDigits = 20

// wholeNumber returns a JSON number without its fraction and exponent, which
// are accepted if its value is whole: 10, 10.0 and 1e1 are all "10". A number
// far too large for 64 bits stays too large.
func wholeNumber(s string) (digits string, ok bool) {
	if !isNumber(s) {
		return "", false
	}
	if !strings.ContainsAny(s, ".eE") && s != "-0" {
		return s, true
	}
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	mantissa, exponent := s, 0
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		mantissa = s[:at]
		exponent, _ = strconv.Atoi(s[at+1:]) // beyond the range: the nearest int
		exponent = min(max(exponent, -2*maxInput), 2*maxInput)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0", true
	}
	zeros := exponent - len(fraction)
	if zeros < 0 {
		kept := strings.TrimRight(digits, "0")
		if len(digits)-len(kept) < -zeros {
			return "", false
		}
		return sign + digits[:len(digits)+zeros], true
	}
	return sign + digits + strings.Repeat("0", min(zeros, maxDigits)), true
}
