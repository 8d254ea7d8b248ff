package typed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/internal/typed"
)

type fuzzed struct {
	Name   string            `json:"name" jsonschema:"description=A name"`
	Status string            `json:"status,omitempty" jsonschema:"description=A state,enum=running,enum=done,default=done"`
	Limit  int               `json:"limit,omitempty" jsonschema:"description=A limit,minimum=-5,maximum=100,default=10"`
	Ratio  *float64          `json:"ratio,omitempty" jsonschema:"description=A ratio,minimum=0,maximum=1"`
	Size   uint16            `json:"size,omitempty" jsonschema:"description=A size"`
	Follow bool              `json:"follow,omitempty" jsonschema:"description=Follow"`
	Args   []string          `json:"args,omitempty" jsonschema:"description=Arguments"`
	Steps  []filters         `json:"steps,omitempty" jsonschema:"description=Steps"`
	Labels map[string]string `json:"labels,omitempty" jsonschema:"description=Labels"`
	Extra  map[string]any    `json:"extra,omitempty" jsonschema:"description=Extra"`
	Raw    json.RawMessage   `json:"raw,omitempty" jsonschema:"description=Raw"`
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", " ", "null", "{}", "[]", `"x"`, `{"name":"a"}`, `{"name":1,"limit":"10","ratio":0.5,"size":10.0,"follow":"true"}`,
		`{"name":"a","args":["-l",1,true],"steps":[{"limit":1,"tags":["x"]}],"labels":{"a":"b"}}`,
		`{"name":"a","args":"[\"-l\"]","steps":"[{\"limit\":\"1e1\"}]","labels":"{\"a\":1}"}`,
		`{"name":"\ud83d\ude00\u0000","extra":{"n":12345678901234567890.1e400,"l":[null,{}]},"raw": {"a" : 1} }`,
		`{"name":"a","name":"b"}`, `{"Name":"a"}`, `{"name":null}`, `{"name":"a","limit":1.5,"status":"DONE"}`,
		`{"name":"\ud83d"}`, "{\"name\":\"\xff\"}", `{"name":"a"} x`, `{"name":"a","limit":1e-1,"size":-0}`,
	} {
		f.Add([]byte(seed))
	}
	var got *fuzzed
	tool := typed.New("fuzzed", "Keeps its input.", typed.Options{}, func(_ context.Context, in fuzzed, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		got = &in
		return fantasy.NewTextResponse("ran"), nil
	})
	info := tool.Info()
	f.Fuzz(func(t *testing.T, input []byte) {
		got = nil
		resp, err := tool.Run(context.Background(), fantasy.ToolCall{Input: string(input)})
		if err != nil {
			t.Fatalf("a Go error: %v", err)
		}
		if got == nil {
			checkRefusal(t, resp)
			return
		}
		if resp.IsError {
			t.Fatalf("the function ran and the answer is the error %q", resp.Content)
		}
		checkValue(t, info, *got)
		checkAgainstStandard(t, input, *got)
	})
}

func checkRefusal(t *testing.T, resp fantasy.ToolResponse) {
	t.Helper()
	if !resp.IsError || resp.Metadata != "" || !strings.HasPrefix(resp.Content, "Nothing was run: ") {
		t.Fatalf("the function did not run and the answer is %+v", resp)
	}
	if !utf8.ValidString(resp.Content) || strings.Contains(resp.Content, "\x00") || len(resp.Content) > 1024 {
		t.Fatalf("not fit for a model: %d bytes, %q", len(resp.Content), resp.Content)
	}
}

// checkValue checks what the function received against the schema that the
// model was shown, and against the tags, whose limits the schema has in words.
func checkValue(t *testing.T, info fantasy.ToolInfo, in fuzzed) {
	t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatalf("the function received what is no JSON: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	s := map[string]any{"type": "object", "properties": info.Parameters, "required": info.Required}
	if err := validate(s, value); err != nil {
		t.Fatalf("the function received %s: %v", b, err)
	}
	ok := in.Limit >= -5 && in.Limit <= 100 && (in.Ratio == nil || *in.Ratio >= 0 && *in.Ratio <= 1)
	for _, step := range in.Steps {
		ok = ok && step.Limit >= 1 && step.Limit <= 100
	}
	if !ok || !utf8.Valid(b) {
		t.Fatalf("the function received %s, out of its limits", b)
	}
}

// validate is a validator for the subset of JSON schema that tools use.
func validate(s map[string]any, value any) error {
	switch s["type"] {
	case nil:
		return nil
	case "string":
		v, ok := value.(string)
		if enum, has := s["enum"].([]string); !ok || has && !slices.Contains(enum, v) {
			return fmt.Errorf("%v is no string of %v", value, s["enum"])
		}
	case "integer", "number":
		n, ok := value.(json.Number)
		f, _ := n.Float64()
		if !ok || s["type"] == "integer" && f != math.Trunc(f) {
			return fmt.Errorf("%v is no %s", value, s["type"])
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			return fmt.Errorf("%v is no boolean", value)
		}
	case "array":
		return validateList(s, value)
	case "object":
		return validateObject(s, value)
	default:
		return fmt.Errorf("unknown type %v", s["type"])
	}
	return nil
}

func validateList(s map[string]any, value any) error {
	list, ok := value.([]any)
	if !ok {
		return fmt.Errorf("%v is no list", value)
	}
	for _, v := range list {
		if err := validate(s["items"].(map[string]any), v); err != nil {
			return err
		}
	}
	return nil
}

func validateObject(s map[string]any, value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is no object", value)
	}
	required, _ := s["required"].([]string)
	for _, key := range required {
		if _, has := object[key]; !has {
			return fmt.Errorf("%q is missing", key)
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for key, v := range object {
		child, known := properties[key].(map[string]any)
		if !known {
			child, known = s["additionalProperties"].(map[string]any)
		}
		if s["additionalProperties"] == true {
			continue
		}
		if !known {
			return fmt.Errorf("%q is unknown", key)
		}
		if err := validate(child, v); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// checkAgainstStandard compares with encoding/json wherever that needs none of
// the coercions: what it decodes must be the same here, defaults aside.
func checkAgainstStandard(t *testing.T, input []byte, got fuzzed) {
	t.Helper()
	want := fuzzed{Status: "done", Limit: 10}
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		return
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("%q has trailing data and was accepted", input)
	}
	if string(want.Raw) == "null" {
		want.Raw = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q differs from encoding/json (-want +got):\n%s", input, diff)
	}
}

func TestTheValidatorOfTheFuzzTestRefuses(t *testing.T) {
	s := map[string]any{"type": "object", "properties": newTool[fuzzed]("f").Info().Parameters, "required": []string{"name"}}
	for _, input := range []string{`{}`, `{"name":1}`, `{"name":"a","x":1}`, `{"name":"a","limit":1.5}`, `{"name":"a","status":"x"}`, `{"name":"a","args":[1]}`, `{"name":"a","labels":{"a":1}}`, `{"name":"a","follow":"true"}`, `[]`} {
		d := json.NewDecoder(strings.NewReader(input))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if validate(s, v) == nil {
			t.Errorf("%s is accepted", input)
		}
	}
}
