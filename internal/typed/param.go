package typed

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is what JSON a parameter holds.
type kind string

const (
	stringKind  kind = "string"
	integerKind kind = "integer"
	numberKind  kind = "number"
	booleanKind kind = "boolean"
	listKind    kind = "array"
	objectKind  kind = "object" // a struct: the keys are known
	mapKind     kind = "map"    // a map: the keys are the model's
	anyKind     kind = "any"    // any JSON value
)

// param is what is known of a parameter, of an element of a list or a map, or
// of the whole input: enough to describe it to a model and to decode it.
type param struct {
	kind kind
	typ  reflect.Type // never a pointer

	// Of a parameter that has a name.
	name        string
	index       []int // of its field, for reflect.Value.FieldByIndex
	description string
	required    bool
	fallback    reflect.Value // the default; the zero Value: none
	defaultJSON string        // the default as JSON

	enum             []string
	minimum, maximum string // as the tag has them; "": none
	low, high        float64

	elem   *param   // of a list or a map
	fields []*param // of an object
}

var (
	rawMessage      = reflect.TypeFor[json.RawMessage]()
	anyType         = reflect.TypeFor[any]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// newParam describes t. Outer are the structs that t lies in.
func newParam(t reflect.Type, outer []reflect.Type) (*param, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := &param{typ: t, low: math.Inf(-1), high: math.Inf(1)}
	var err error
	switch {
	case t == rawMessage, t == anyType:
		p.kind = anyKind
	case t == reflect.TypeFor[time.Duration]():
		return nil, errors.New("a duration is a number of nanoseconds in JSON; use an integer and name the unit")
	case t == reflect.TypeFor[json.Number](), decodesItself(t):
		return nil, fmt.Errorf("the type %s is not supported: it decodes itself", t)
	case t.Kind() == reflect.String:
		p.kind = stringKind
	case t.Kind() == reflect.Bool:
		p.kind = booleanKind
	case isSigned(t), isUnsigned(t):
		p.kind = integerKind
	case isFloat(t):
		p.kind = numberKind
	case t.Kind() == reflect.Slice:
		p.kind = listKind
		p.elem, err = newElem(t.Elem(), outer)
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		p.kind = mapKind
		p.elem, err = newParam(t.Elem(), outer)
	case t.Kind() == reflect.Struct:
		p.kind = objectKind
		p.fields, err = newFields(t, outer)
	default:
		return nil, fmt.Errorf("the type %s is not supported", t)
	}
	return p, err
}

func newElem(t reflect.Type, outer []reflect.Type) (*param, error) {
	if t.Kind() == reflect.Uint8 {
		return nil, errors.New("a list of bytes is not supported; use a string")
	}
	p, err := newParam(t, outer)
	if err == nil && p.kind == anyKind {
		return nil, errors.New("a list of anything is not supported: some providers want a type for the elements")
	}
	return p, err
}

// newFields describes the fields of a struct, those of embedded structs among
// them.
func newFields(t reflect.Type, outer []reflect.Type) ([]*param, error) {
	if slices.Contains(outer, t) {
		return nil, fmt.Errorf("the type %s holds itself", t)
	}
	outer = append(slices.Clip(outer), t)
	var params []*param
	for f := range t.Fields() {
		_, tagged := f.Tag.Lookup("json")
		switch {
		case f.Anonymous && !tagged:
			inner, err := newEmbedded(f, outer)
			if err != nil {
				return nil, err
			}
			params = append(params, inner...)
		case f.IsExported() || tagged:
			p, err := newField(f, outer)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Name, err)
			}
			if p != nil {
				params = append(params, p)
			}
		}
	}
	for i, p := range params {
		if slices.ContainsFunc(params[:i], func(q *param) bool { return q.name == p.name }) {
			return nil, fmt.Errorf("two fields have the name %q", p.name)
		}
	}
	return params, nil
}

func newEmbedded(f reflect.StructField, outer []reflect.Type) ([]*param, error) {
	if f.Type.Kind() != reflect.Struct {
		return nil, fmt.Errorf("field %s: only a struct, not a pointer to one, can be embedded", f.Name)
	}
	params, err := newFields(f.Type, outer)
	for _, p := range params {
		p.index = append(slices.Clone(f.Index), p.index...)
	}
	return params, err
}

// newField describes one field; nil if it is none of the model's.
func newField(f reflect.StructField, outer []reflect.Type) (*param, error) {
	t, err := parseTag(f)
	if err != nil {
		return nil, err
	}
	if t.excluded {
		return nil, nil
	}
	if !f.IsExported() {
		return nil, errors.New("it has a json name but is not exported")
	}
	p, err := newParam(f.Type, outer)
	if err != nil {
		return nil, err
	}
	p.name, p.index, p.description = t.name, f.Index, t.description
	p.required = t.required || !t.optional && !t.hasFallback && f.Type.Kind() != reflect.Pointer
	if err := p.setEnum(t); err != nil {
		return nil, err
	}
	if err := p.setLimits(t); err != nil {
		return nil, err
	}
	return p, p.setFallback(t)
}

func (p *param) setEnum(t tag) error {
	if len(t.enum) > 0 && p.kind != stringKind {
		return errors.New("enum is for strings only")
	}
	p.enum = t.enum
	return nil
}

func (p *param) setLimits(t tag) error {
	p.minimum, p.maximum = t.minimum, t.maximum
	if isUnsigned(p.typ) && p.minimum == "" {
		p.minimum = "0"
	}
	if err := p.setLimit(&p.low, p.minimum); err != nil {
		return fmt.Errorf("minimum %s: %w", p.minimum, err)
	}
	if err := p.setLimit(&p.high, p.maximum); err != nil {
		return fmt.Errorf("maximum %s: %w", p.maximum, err)
	}
	if p.low > p.high {
		return fmt.Errorf("minimum %s is above maximum %s", p.minimum, p.maximum)
	}
	return nil
}

func (p *param) setLimit(dst *float64, limit string) error {
	if limit == "" {
		return nil
	}
	if p.kind != integerKind && p.kind != numberKind {
		return errors.New("a limit is for numbers only")
	}
	n, err := strconv.ParseFloat(limit, 64)
	if err != nil || !isNumber(limit) {
		return errors.New("it is not a number")
	}
	// An integer below 2^53 can be compared as a float without rounding.
	if p.kind == integerKind && (n != math.Trunc(n) || math.Abs(n) >= 1<<53) {
		return errors.New("it is not an integer below 2^53")
	}
	if p.kind == integerKind && !p.holds(int64(n)) {
		return fmt.Errorf("the type %s does not hold it", p.typ)
	}
	*dst = n
	return nil
}

// holds reports whether the type of an integer holds n.
func (p *param) holds(n int64) bool {
	v := reflect.Zero(p.typ)
	if v.CanUint() {
		return n >= 0 && !v.OverflowUint(uint64(n))
	}
	return !v.OverflowInt(n)
}

// setFallback decodes the default as if a model had sent it.
func (p *param) setFallback(t tag) error {
	if !t.hasFallback {
		return nil
	}
	if t.required {
		return errors.New("it is required and has a default")
	}
	switch p.kind {
	case stringKind, integerKind, numberKind, booleanKind:
	default:
		return errors.New("a default is for strings, numbers and booleans only")
	}
	v := reflect.New(p.typ).Elem()
	if want := p.set(v, t.fallback); want != "" {
		return fmt.Errorf("the default %q is not %s", t.fallback, want)
	}
	p.fallback, p.defaultJSON = v, strings.ToLower(strings.TrimSpace(t.fallback))
	if p.kind == stringKind {
		p.defaultJSON = strconv.Quote(t.fallback)
	}
	return nil
}

// field returns the field of that name, in exactly this spelling.
func (p *param) field(name string) (int, *param) {
	for i, f := range p.fields {
		if f.name == name {
			return i, f
		}
	}
	return -1, nil
}

func decodesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(jsonUnmarshaler) || pointer.Implements(textUnmarshaler)
}

func isSigned(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64
}

func isUnsigned(t reflect.Type) bool {
	return t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64
}

func isFloat(t reflect.Type) bool {
	return t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64
}
