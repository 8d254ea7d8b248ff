package typed

import (
	"fmt"
	"maps"
	"strings"

	"github.com/invopop/jsonschema"
)

// schemaOf returns the JSON schema of p, which describes a struct, reduced to
// what every provider accepts.
func schemaOf(p *param) (map[string]any, error) {
	r := jsonschema.Reflector{DoNotReference: true, Anonymous: true}
	return reduce(r.ReflectFromType(p.typ), p)
}

// reduce keeps of s the keywords type, properties, required and items, and
// additionalProperties of a map. What the tags say comes from p, because
// jsonschema ends a description at its first comma.
func reduce(s *jsonschema.Schema, p *param) (map[string]any, error) {
	if s == nil || s.Type != p.schemaType() {
		return nil, fmt.Errorf("the type %s describes itself as something else", p.typ)
	}
	out := map[string]any{}
	if s.Type != "" {
		out["type"] = s.Type
	}
	if p.description != "" {
		out["description"] = p.describe()
	}
	if len(p.enum) > 0 {
		out["enum"] = p.enum
	}
	var err error
	switch p.kind {
	case listKind:
		out["items"], err = reduce(s.Items, p.elem)
	case mapKind:
		out["additionalProperties"], err = reduceMap(s, p)
	case objectKind:
		out["required"] = names(required(p.fields))
		out["properties"], err = reduceFields(s, p)
	}
	return out, err
}

func reduceMap(s *jsonschema.Schema, p *param) (any, error) {
	if p.elem.kind == anyKind {
		return true, nil
	}
	return reduce(s.AdditionalProperties, p.elem)
}

func reduceFields(s *jsonschema.Schema, p *param) (map[string]any, error) {
	out := make(map[string]any, len(p.fields))
	for _, field := range p.fields {
		property, _ := s.Properties.Get(field.name)
		schema, err := reduce(property, field)
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", field.name, err)
		}
		out[field.name] = schema
	}
	return out, nil
}

func (p *param) schemaType() string {
	switch p.kind {
	case mapKind:
		return string(objectKind)
	case anyKind:
		return ""
	}
	return string(p.kind)
}

// describe returns the description and, in words, what keywords would say
// that not every provider accepts or passes on: limits, default and choices.
func (p *param) describe() string {
	var notes []string
	if len(p.enum) > 0 {
		notes = append(notes, "one of "+quoteAll(p.enum))
	}
	if p.minimum != "" || p.maximum != "" {
		notes = append(notes, strings.TrimPrefix(span(p.minimum, p.maximum), "of "))
	}
	if p.fallback.IsValid() {
		notes = append(notes, "default "+p.defaultJSON)
	}
	if len(notes) == 0 {
		return p.description
	}
	description := strings.TrimSpace(p.description)
	if !strings.ContainsAny(description[len(description)-1:], ".!?") {
		description += "."
	}
	words := strings.Join(notes, "; ")
	return description + " " + strings.ToUpper(words[:1]) + words[1:] + "."
}

func names(params []*param) []string {
	out := make([]string, len(params))
	for i, p := range params {
		out[i] = p.name
	}
	return out
}

// clone returns a schema that its receiver may write into.
func clone(schema map[string]any) map[string]any {
	out := maps.Clone(schema)
	for key, value := range out {
		switch value := value.(type) {
		case map[string]any:
			out[key] = clone(value)
		case []string:
			out[key] = append([]string{}, value...)
		}
	}
	return out
}
