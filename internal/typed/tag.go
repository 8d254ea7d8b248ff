package typed

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// tag is what the struct tags of a field say about a parameter.
type tag struct {
	description        string
	required           bool
	enum               []string
	minimum, maximum   string // "": none
	fallback           string
	hasFallback        bool
	name               string
	optional, excluded bool
}

var (
	knownKeys = []string{"description", "enum", "minimum", "maximum", "default"}

	// otherKeys are keywords of invopop/jsonschema that not every provider
	// accepts. They are told from prose so that New can refuse them.
	otherKeys = []string{
		"title", "type", "pattern", "format", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
		"multipleOf", "exclusiveMinimum", "exclusiveMaximum", "example", "readOnly", "writeOnly", "anchor",
		"oneof_required", "anyof_required", "oneof_ref", "anyof_ref", "oneof_type", "anyof_type",
	}
)

func parseTag(f reflect.StructField) (tag, error) {
	var t tag
	if err := t.parseJSON(f.Tag.Get("json")); err != nil {
		return t, err
	}
	if t.excluded {
		return t, nil
	}
	for _, item := range splitTag(f.Tag.Get("jsonschema")) {
		if err := t.parseItem(item); err != nil {
			return t, err
		}
	}
	if d, ok := f.Tag.Lookup("jsonschema_description"); ok {
		if t.description != "" {
			return t, fmt.Errorf("it has two descriptions")
		}
		t.description = d
	}
	switch {
	case t.excluded:
	case strings.TrimSpace(t.description) == "":
		return t, fmt.Errorf(`it has no description; add the tag jsonschema:"description=..."`)
	case !utf8.ValidString(t.description) || strings.Contains(t.description, "\x00"):
		return t, fmt.Errorf("the description is not UTF-8 without NUL")
	}
	return t, nil
}

func (t *tag) parseJSON(s string) error {
	if s == "-" {
		t.excluded = true
		return nil
	}
	name, options, _ := strings.Cut(s, ",")
	if name == "" {
		return fmt.Errorf(`it has no json name; add the tag json:"name"`)
	}
	if !ValidName(name) {
		return fmt.Errorf("the name %q does not match %s", name, namePattern)
	}
	t.name = name
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "omitempty", "omitzero":
			t.optional = true
		default:
			return fmt.Errorf("the json option %q is not supported", option)
		}
	}
	return nil
}

func (t *tag) parseItem(item string) error {
	key, value, _ := strings.Cut(item, "=")
	set := func(dst *string) error {
		if *dst != "" || value == "" {
			return fmt.Errorf("%s must be given once, with a value", key)
		}
		*dst = value
		return nil
	}
	switch key {
	case "-":
		t.excluded = true
	case "required":
		t.required = true
	case "description":
		return set(&t.description)
	case "minimum":
		return set(&t.minimum)
	case "maximum":
		return set(&t.maximum)
	case "enum":
		if slices.Contains(t.enum, value) {
			return fmt.Errorf("enum has %q twice", value)
		}
		t.enum = append(t.enum, value)
	case "default":
		if t.hasFallback {
			return fmt.Errorf("default is given twice")
		}
		t.fallback, t.hasFallback = value, true
	default:
		return fmt.Errorf("the jsonschema tag holds %q; the keys are required, %s", item, strings.Join(knownKeys, ", "))
	}
	return nil
}

// splitTag splits a jsonschema tag at the commas that begin a key, so that a
// description may hold commas of its own. A comma after a backslash, as
// invopop/jsonschema wants it, never begins a key; the backslash is dropped.
func splitTag(s string) []string {
	if s == "" {
		return nil
	}
	parts := strings.Split(s, ",")
	items := parts[:1:1]
	for _, part := range parts[1:] {
		last := &items[len(items)-1]
		before, escaped := strings.CutSuffix(*last, `\`)
		switch {
		case escaped:
			*last = before + "," + part
		case beginsKey(part):
			items = append(items, part)
		default:
			*last += "," + part
		}
	}
	return items
}

func beginsKey(s string) bool {
	if s == "required" {
		return true
	}
	key, _, found := strings.Cut(s, "=")
	return found && (slices.Contains(knownKeys, key) || slices.Contains(otherKeys, key))
}
