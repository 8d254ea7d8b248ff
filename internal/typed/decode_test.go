package typed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/internal/typed"
)

type page struct {
	Limit int `json:"limit,omitempty" jsonschema:"description=How many,minimum=1,maximum=100,default=10"`
}

type filters struct {
	Limit int      `json:"limit" jsonschema:"description=How many,minimum=1,maximum=100"`
	Tags  []string `json:"tags,omitempty" jsonschema:"description=Tags, any of them"`
}

type everything struct {
	page
	Path    string                     `json:"path,omitempty" jsonschema:"description=A path"`
	Args    []string                   `json:"args,omitempty" jsonschema:"description=Arguments"`
	Status  string                     `json:"status,omitempty" jsonschema:"description=A state,enum=running,enum=done"`
	Ratio   float64                    `json:"ratio,omitempty" jsonschema:"description=A ratio,minimum=0,maximum=1"`
	Small   float32                    `json:"small,omitempty" jsonschema:"description=A small float"`
	Tenth   float32                    `json:"tenth,omitempty" jsonschema:"description=Another,maximum=0.1"`
	Byte    int8                       `json:"byte,omitempty" jsonschema:"description=A small integer"`
	Big     int64                      `json:"big,omitempty" jsonschema:"description=A big integer"`
	Size    uint64                     `json:"size,omitempty" jsonschema:"description=A size"`
	Follow  bool                       `json:"follow,omitempty" jsonschema:"description=Follow it"`
	Wait    *int                       `json:"wait" jsonschema:"description=Seconds"`
	Retries *int                       `json:"retries" jsonschema:"description=Retries,default=3"`
	Filters *filters                   `json:"filters,omitempty" jsonschema:"description=Filters"`
	Steps   []filters                  `json:"steps,omitempty" jsonschema:"description=Steps"`
	Counts  []int                      `json:"counts,omitempty" jsonschema:"description=Counts"`
	Grid    [][]bool                   `json:"grid,omitempty" jsonschema:"description=Rows"`
	Labels  map[string]string          `json:"labels,omitempty" jsonschema:"description=Labels"`
	Limits  map[string]filters         `json:"limits,omitempty" jsonschema:"description=Limits by name"`
	Extra   map[string]any             `json:"extra,omitempty" jsonschema:"description=Anything by name"`
	Raw     json.RawMessage            `json:"raw,omitempty" jsonschema:"description=Any JSON"`
	Raws    map[string]json.RawMessage `json:"raws,omitempty" jsonschema:"description=Any JSON by name"`
	Any     any                        `json:"any,omitempty" jsonschema:"description=Any value"`
	Host    string                     `json:"-"`
}

// call runs a tool whose input is an In and returns what its function was
// given; nil if it was not run.
func call[In any](t testing.TB, input string) (*In, fantasy.ToolResponse) {
	t.Helper()
	var got *In
	tool := typed.New("probe", "Keeps its input.", typed.Options{}, func(_ context.Context, in In, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		got = &in
		return fantasy.NewTextResponse("ran"), nil
	})
	resp, err := tool.Run(context.Background(), fantasy.ToolCall{ID: "1", Name: "probe", Input: input})
	if err != nil {
		t.Fatalf("Run(%.80q) returned the Go error %v", input, err)
	}
	if ran := !resp.IsError; ran != (got != nil) {
		t.Fatalf("Run(%.80q) ran the function: %t, and answers %q", input, got != nil, resp.Content)
	}
	return got, resp
}

func pointer[T any](v T) *T { return &v }

// with is everything with its defaults, changed by f.
func with(f func(*everything)) everything {
	e := everything{page: page{Limit: 10}, Retries: pointer(3)}
	if f != nil {
		f(&e)
	}
	return e
}

func TestUnambiguousInputIsAccepted(t *testing.T) {
	tests := []struct {
		name, input string
		want        everything
	}{
		{"nothing is an empty object", ``, with(nil)},
		{"blanks are an empty object", " \t\r\n ", with(nil)},
		{"null is an empty object", ` null `, with(nil)},
		{"an empty object", ` {} `, with(nil)},
		{"null for every field is as if it were not sent", `{"args":null,"path":null,"labels":null,"limit":null,"wait":null,"retries":null,"raw":null,"any":null,"filters":null}`, with(nil)},
		{"plain values", `{"path":"a b","args":["-l","/tmp"],"status":"done","ratio":0.5,"follow":true,"limit":7,"counts":[1,2]}`, with(func(e *everything) {
			e.Path, e.Args, e.Status, e.Ratio, e.Follow, e.Limit, e.Counts = "a b", []string{"-l", "/tmp"}, "done", 0.5, true, 7, []int{1, 2}
		})},
		{"escapes in keys and values", `{"p\u0061th":"\u00e9\ud83d\ude00\n\\\"\u0000"}`, with(func(e *everything) { e.Path = "é😀\n\\\"\x00" })},
		{"an escaped backslash before u is no escape", `{"path":"\\ud800 \\\\udc00"}`, with(func(e *everything) { e.Path = `\ud800 \\udc00` })},
		{"a zero that was sent is kept over the default", `{"retries":0,"wait":0}`, with(func(e *everything) { e.Retries, e.Wait = pointer(0), pointer(0) })},
		{"a list as JSON in a string", `{"args":" [\"-l\", \"/tmp\"] "}`, with(func(e *everything) { e.Args = []string{"-l", "/tmp"} })},
		{"a list of objects as JSON in a string", `{"steps":"[{\"limit\":1}]"}`, with(func(e *everything) { e.Steps = []filters{{Limit: 1}} })},
		{"an object as JSON in a string", `{"filters":"{\"limit\":\"2\",\"tags\":\"[1]\"}"}`, with(func(e *everything) { e.Filters = &filters{Limit: 2, Tags: []string{"1"}} })},
		{"a map as JSON in a string", `{"labels":"{\"a\":\"b\"}"}`, with(func(e *everything) { e.Labels = map[string]string{"a": "b"} })},
		{"an object in a list as JSON in a string", `{"steps":["{\"limit\":1}",{"limit":2}]}`, with(func(e *everything) { e.Steps = []filters{{Limit: 1}, {Limit: 2}} })},
		{"empty lists and maps are not nil", `{"args":[],"labels":{},"extra":{}}`, with(func(e *everything) {
			e.Args, e.Labels, e.Extra = []string{}, map[string]string{}, map[string]any{}
		})},
		{"numbers and booleans for strings", `{"path":12345678901234567890.10,"args":[1,true,false,1e3,-0,"x"],"labels":{"n":1,"b":false}}`, with(func(e *everything) {
			e.Path = "12345678901234567890.10"
			e.Args = []string{"1", "true", "false", "1e3", "-0", "x"}
			e.Labels = map[string]string{"n": "1", "b": "false"}
		})},
		{"an integer as text", `{"limit":"10","big":" -5 "}`, with(func(e *everything) { e.Big = -5 })},
		{"an integer with an empty fraction", `{"limit":10.0,"big":-10.000}`, with(func(e *everything) { e.Big = -10 })},
		{"an integer with an exponent", `{"limit":1e1,"big":150E-1,"size":0.5e1}`, with(func(e *everything) { e.Big, e.Size = 15, 5 })},
		{"minus zero", `{"size":-0,"big":-0.0}`, with(nil)},
		{"zero with any exponent", `{"size":0e99999999999999999999,"big":0.0e-99999999999999999999}`, with(nil)},
		{"the ends of 64 bits", `{"big":-9223372036854775808,"size":18446744073709551615}`, with(func(e *everything) {
			e.Big, e.Size = -1<<63, 1<<64-1
		})},
		{"more digits than a float has", `{"big":9007199254740993,"size":9007199254740993.0}`, with(func(e *everything) {
			e.Big, e.Size = 9007199254740993, 9007199254740993
		})},
		{"a limit that a short float cannot hold exactly", `{"tenth":0.1}`, with(func(e *everything) { e.Tenth = 0.1 })},
		{"a number as text", `{"ratio":"0.25"}`, with(func(e *everything) { e.Ratio = 0.25 })},
		{"booleans as text", `{"follow":"True"}`, with(func(e *everything) { e.Follow = true })},
		{"lists of lists", `{"grid":[[true,"false"],[]]}`, with(func(e *everything) { e.Grid = [][]bool{{true, false}, {}} })},
		{"a map of objects", `{"limits":{"a":{"limit":3}}}`, with(func(e *everything) { e.Limits = map[string]filters{"a": {Limit: 3}} })},
		{"free-form values keep all digits", `{"extra":{"n":12345678901234567890.123,"deep":[{"x":1e400}],"nil":null,"s":"t","b":true}}`, with(func(e *everything) {
			e.Extra = map[string]any{
				"n": json.Number("12345678901234567890.123"), "deep": []any{map[string]any{"x": json.Number("1e400")}},
				"nil": nil, "s": "t", "b": true,
			}
		})},
		{"raw JSON is kept byte for byte", `{"raw": {"b":1.0, "a":[ 1e5 ]} ,"raws":{"x":"y","n":null}}`, with(func(e *everything) {
			e.Raw = json.RawMessage(`{"b":1.0, "a":[ 1e5 ]}`)
			e.Raws = map[string]json.RawMessage{"x": json.RawMessage(`"y"`), "n": json.RawMessage("null")}
		})},
		{"any takes a string as it is", `{"any":"[1]"}`, with(func(e *everything) { e.Any = "[1]" })},
		{"any takes a number", `{"any":1.50}`, with(func(e *everything) { e.Any = json.Number("1.50") })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, resp := call[everything](t, tt.input)
			if got == nil {
				t.Fatalf("refused: %s", resp.Content)
			}
			if diff := cmp.Diff(tt.want, *got, cmp.AllowUnexported(everything{})); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOtherInputIsRefusedWithWhatToDo(t *testing.T) {
	tests := []struct{ name, input, want string }{
		{"a list", `[]`, `the input must be a JSON object, not a list. For example: {"limit": 10}`},
		{"a text", `"x"`, `the input must be a JSON object, not the text "x". For example: {"limit": 10}`},
		{"a number", `7`, `the input must be a JSON object, not 7. For example: {"limit": 10}`},
		{"an object that breaks off", `{"path":"x`, `the input is not valid JSON: it breaks off before its end. For example: {"limit": 10}`},
		{"a broken object", `{path:1}`, `the input is not valid JSON: it is broken at byte 2, at "path:1}". For example: {"limit": 10}`},
		{"a raw line break in a string", "{\"path\":\"a\nb\"}", `the input is not valid JSON: it is broken at byte 11, at "\nb\"}". For example: {"limit": 10}`},
		{"trailing data", `{} {"path":"x"}`, `the input is not valid JSON: more text, "{\"path\":\"x\"}", comes after the first value. For example: {"limit": 10}`},
		{"a byte order mark", "\uFEFF{}", `the input is not valid JSON: it is broken at byte 1, at "\ufeff{}". For example: {"limit": 10}`},
		{"invalid UTF-8", "{\"path\":\"\xff\"}", `the input is not valid UTF-8. For example: {"limit": 10}`},
		{"the first half of a surrogate pair", `{"path":"a\ud83d"}`, `the input holds half a character, \ud83d; send both halves, or the character itself. For example: {"limit": 10}`},
		{"the first half and something else", `{"path":"a\uD83D\u0041"}`, `the input holds half a character, \uD83D; send both halves, or the character itself. For example: {"limit": 10}`},
		{"the second half of a surrogate pair", `{"path":"a\\\ude00"}`, `the input holds half a character, \ude00; send both halves, or the character itself. For example: {"limit": 10}`},
		{"a value nested too deep", `{"any":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, `the input is nested more than 200 levels deep. For example: {"limit": 10}`},

		{"an unknown key", `{"arguments":["--dry-run"]}`, `the input has the unknown key "arguments"; the keys are "limit", "path", "args", "status", "ratio", "small", "tenth", "byte", "big", "size", "follow", "wait", "retries", "filters", "steps", "counts", "grid", "labels", "limits", "extra", "raw", "raws", "any".`},
		{"a key in another case", `{"filters":{"Limit":1}}`, `filters has the unknown key "Limit" (did you mean "limit"?); the keys are "limit", "tags". For example: {"filters": {"limit": 1}}`},
		{"an unknown key in a list of objects", `{"steps":[{"limit":1},{"limit":1,"x-y z":2}]}`, `steps[1] has the unknown key "x-y z"; the keys are "limit", "tags". For example: {"steps": [{"limit": 1}]}`},
		{"a field that is not the model's", `{"Host":"x"}`, `the input has the unknown key "Host"; the keys are`},
		{"a key sent twice", `{"path":"a","p\u0061th":"b"}`, `the input has the key "path" twice; send it once.`},
		{"a key sent as null and again", `{"path":null,"path":"b"}`, `the input has the key "path" twice; send it once.`},
		{"a key of a map sent twice", `{"labels":{"a":"1","a":"2"}}`, `labels has the key "a" twice; send it once. For example: {"labels": {"key": "text"}}`},
		{"a free-form key sent twice", `{"extra":{"x":[{"a":1,"a":2}]}}`, `extra.x[0] has the key "a" twice; send it once. For example: {"extra": {"key": "text"}}`},
		{"a raw key sent twice", `{"raw":{"x y":{"a":1,"a":2}}}`, `raw["x y"] has the key "a" twice; send it once. For example: {"raw": "text"}`},
		{"a missing key of an object", `{"filters":{"tags":["a"]}}`, `filters lacks "limit" (an integer from 1 to 100). For example: {"limit": 1}`},
		{"a required key that is null", `{"filters":{"limit":null}}`, `filters lacks "limit" (an integer from 1 to 100). For example: {"limit": 1}`},

		{"a plain text for a list is not split", `{"args":"-l /tmp"}`, `args must be a list of strings, not the text "-l /tmp". For example: {"args": ["text"]}`},
		{"an object for a list", `{"args":{"0":"a"}}`, `args must be a list of strings, not an object. For example: {"args": ["text"]}`},
		{"a number for a list", `{"args":5}`, `args must be a list of strings, not 5. For example: {"args": ["text"]}`},
		{"an empty text for a list", `{"args":" "}`, `args must be a list of strings, not an empty text. For example: {"args": ["text"]}`},
		{"broken JSON in a string for a list", `{"args":"[1,"}`, `args must be a list of strings, not the text "[1,". For example: {"args": ["text"]}`},
		{"two lists in a string", `{"args":"[1] [2]"}`, `args must be a list of strings, not the text "[1] [2]". For example: {"args": ["text"]}`},
		{"a list in a string in a string", `{"args":"\"[1]\""}`, `args must be a list of strings, not the text "\"[1]\"". For example: {"args": ["text"]}`},
		{"an object among strings", `{"args":["a",{"b":"c"}]}`, `args[1] must be a string, not an object. For example: {"args": ["text"]}`},
		{"null among strings", `{"args":["a",null]}`, `args[1] must be a string, not null. For example: {"args": ["text"]}`},
		{"null in a map", `{"labels":{"a":null}}`, `labels.a must be a string, not null; leave the key out. For example: {"labels": {"key": "text"}}`},
		{"a list for a map", `{"labels":["a"]}`, `labels must be an object whose values are strings, not a list. For example: {"labels": {"key": "text"}}`},
		{"a list for a string", `{"path":["a"]}`, `path must be a string, not a list. For example: {"path": "text"}`},
		{"a word for an integer", `{"limit":"ten"}`, `limit must be an integer from 1 to 100, not the text "ten". For example: {"limit": 10}`},
		{"an integer in another notation", `{"big":"0x10"}`, `big must be an integer, not the text "0x10". For example: {"big": 1}`},
		{"an integer with a plus", `{"big":"+1"}`, `big must be an integer, not the text "+1". For example: {"big": 1}`},
		{"a fraction for an integer", `{"limit":1.5}`, `limit must be an integer from 1 to 100, not 1.5. For example: {"limit": 10}`},
		{"a small fraction for an integer", `{"big":1.00000000000000000001}`, `big must be an integer, not 1.00000000000000000001. For example: {"big": 1}`},
		{"a fraction by its exponent", `{"big":15e-1}`, `big must be an integer, not 15e-1. For example: {"big": 1}`},
		{"a fraction by a huge exponent", `{"big":1e-99999999999999999999}`, `big must be an integer, not 1e-99999999999999999999. For example: {"big": 1}`},
		{"a boolean for an integer", `{"limit":true}`, `limit must be an integer from 1 to 100, not true. For example: {"limit": 10}`},
		{"an empty text for an integer", `{"limit":""}`, `limit must be an integer from 1 to 100, not an empty text. For example: {"limit": 10}`},
		{"below the minimum", `{"limit":0}`, `limit must be an integer from 1 to 100, not 0. For example: {"limit": 10}`},
		{"above the maximum", `{"limit":"101"}`, `limit must be an integer from 1 to 100, not the text "101". For example: {"limit": 10}`},
		{"beyond 8 bits", `{"byte":128}`, `byte must be an integer from -128 to 127, not 128. For example: {"byte": 1}`},
		{"beyond 64 bits", `{"big":9223372036854775808}`, `big must be an integer from -9223372036854775808 to 9223372036854775807, not 9223372036854775808. For example: {"big": 1}`},
		{"beyond 64 bits by its exponent", `{"size":1e99999999999999999999}`, `size must be an integer from 0 to 18446744073709551615, not 1e99999999999999999999. For example: {"size": 0}`},
		{"a negative size", `{"size":-1}`, `size must be an integer of at least 0, not -1. For example: {"size": 0}`},
		{"a number above its maximum", `{"ratio":1.01}`, `ratio must be a number from 0 to 1, not 1.01. For example: {"ratio": 0}`},
		{"a size beyond 64 bits", `{"size":18446744073709551616}`, `size must be an integer from 0 to 18446744073709551615, not 18446744073709551616. For example: {"size": 0}`},
		{"a number no float holds", `{"small":1e39}`, `small must be a number that 32 bits can hold, not 1e39. For example: {"small": 1}`},
		{"not a number", `{"ratio":"NaN"}`, `ratio must be a number from 0 to 1, not the text "NaN". For example: {"ratio": 0}`},
		{"a number for a boolean", `{"follow":1}`, `follow must be true or false, not 1. For example: {"follow": true}`},
		{"yes for a boolean", `{"follow":"yes"}`, `follow must be true or false, not the text "yes". For example: {"follow": true}`},
		{"none of the choices", `{"status":"Done"}`, `status must be one of "running", "done", not the text "Done". For example: {"status": "running"}`},
		{"an empty choice", `{"status":""}`, `status must be one of "running", "done", not an empty text. For example: {"status": "running"}`},
		{"a text for an object", `{"filters":"limit=1"}`, `filters must be an object, not the text "limit=1". For example: {"filters": {"limit": 1}}`},
		{"a wrong value deep inside", `{"steps":[{"limit":1},{"limit":2,"tags":["a",[]]}]}`, `steps[1].tags[1] must be a string, not a list. For example: {"tags": ["text"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, resp := call[everything](t, tt.input)
			if !resp.IsError {
				t.Fatal("accepted")
			}
			if want := "Nothing was run: " + tt.want; !strings.HasPrefix(resp.Content, want) {
				t.Errorf("the answer is\n%s\nwant\n%s", resp.Content, want)
			}
			checkForModel(t, resp.Content)
		})
	}
}

// checkForModel checks what holds of every error a model reads.
func checkForModel(t *testing.T, s string) {
	t.Helper()
	if strings.TrimSpace(s) == "" || !utf8.ValidString(s) || strings.Contains(s, "\x00") {
		t.Errorf("not fit for a model: %q", s)
	}
	if len(s) > 1024 {
		t.Errorf("%d bytes long: %.200q", len(s), s)
	}
	for _, jargon := range []string{"json:", "Go ", "struct", "unmarshal", "Unmarshal", "typed.", "int64", "slice", "reflect", "offset"} {
		if strings.Contains(s, jargon) {
			t.Errorf("it speaks of %q: %s", jargon, s)
		}
	}
}

func TestEveryMissingParameterIsNamed(t *testing.T) {
	type in struct {
		Path  string            `json:"path" jsonschema:"description=A path"`
		Count int               `json:"count" jsonschema:"description=A count,minimum=2"`
		Env   map[string]string `json:"env" jsonschema:"description=Variables"`
		Note  string            `json:"note,omitempty" jsonschema:"description=A note"`
	}
	for _, input := range []string{"", "null", "{}", `{"path":null,"note":"x"}`} {
		_, resp := call[in](t, input)
		want := `Nothing was run: the input lacks "path" (a string) and "count" (an integer of at least 2) and "env" (an object whose values are strings). ` +
			`For example: {"path": "text", "count": 2, "env": {"key": "text"}}`
		if resp.Content != want {
			t.Errorf("Run(%q) answers\n%s\nwant\n%s", input, resp.Content, want)
		}
	}
}

func TestAToolWithoutParametersTakesNothingOnly(t *testing.T) {
	for _, input := range []string{"", "  ", "null", "{}"} {
		if got, resp := call[struct{}](t, input); got == nil {
			t.Errorf("Run(%q) is refused: %s", input, resp.Content)
		}
	}
	_, resp := call[struct{}](t, `{"all":true}`)
	if want := `Nothing was run: the input has the unknown key "all"; there are no parameters. For example: {}`; resp.Content != want {
		t.Errorf("an unknown key is answered with %q, want %q", resp.Content, want)
	}
}

func TestLargeAndHostileInputEndsSoonWithAShortAnswer(t *testing.T) {
	const size = 1 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	fill8 := func(s string) string { return strings.Repeat(fill(s), 8) }
	tests := []struct {
		name, input string
		runs        bool
	}{
		{"8 MiB of text", `{"path":"` + fill8("a") + `"}`, true},
		{"8 MiB of escapes", `{"path":"` + fill8(`\u00e9`) + `"}`, true},
		{"8 MiB of list", `{"args":[` + fill8(`"a",`) + `"a"]}`, true},
		{"1 MiB of free-form keys", `{"extra":{` + manyKeys(size/20) + `}}`, true},
		{"1 MiB of list inside a string", `{"args":"[` + fill(`1,`) + `1]"}`, true},
		{"8 MiB of a text where a list is wanted", `{"args":"` + fill8("a") + `"}`, false},
		{"1 MiB of a text where an integer is wanted", `{"limit":"` + fill("a") + `"}`, false},
		{"1 MiB of digits", `{"limit":` + fill("1") + `}`, false},
		{"1 MiB of digits behind a point", `{"big":1.` + fill("0") + `1}`, false},
		{"1 MiB of zeros behind a point", `{"big":1.` + fill("0") + `}`, true},
		{"8 MiB of unknown key", `{"` + fill8("k") + `":1}`, false},
		{"8 MiB of opening brackets", fill8("["), false},
		{"8 MiB of opening braces", fill8(`{"a":`), false},
		{"1 MiB of brackets inside a string", `{"args":"` + fill("[") + `"}`, false},
		{"1 MiB of backslashes", `{"path":"` + fill(`\\`) + `"}`, true},
		{"1 MiB of quotes", fill(`"`), false},
		{"1 MiB of commas", `{` + fill(","), false},
		{"1 MiB of blanks", fill(" "), true},
		{"1 MiB behind the object", `{}` + fill("x"), false},
		{"a long path to a duplicate", `{"extra":` + strings.Repeat(`{"`+strings.Repeat("é", 100)+`":`, 150) + `{"a":1,"a":2}` + strings.Repeat("}", 151), false},
		{"more than 64 MiB", strings.Repeat(" ", 64<<20) + "{}", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			got, resp := call[everything](t, tt.input)
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
			if (got != nil) != tt.runs {
				t.Errorf("ran: %t; answer: %.300s", got != nil, resp.Content)
			}
			checkForModel(t, resp.Content)
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"key%d":%d,`, i, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}
