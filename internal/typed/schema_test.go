package typed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"charm.land/fantasy"
	"charm.land/fantasy/schema"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/internal/typed"
)

var update = flag.Bool("update", false, "write the golden files")

// newTool returns a tool with the input In that does nothing.
func newTool[In any](name string) fantasy.AgentTool {
	return typed.New(name, "Does nothing.", typed.Options{}, func(context.Context, In, fantasy.ToolCall) (fantasy.ToolResponse, error) {
		return fantasy.ToolResponse{}, nil
	})
}

type commas struct {
	Bin   string `json:"bin" jsonschema:"description=BIN name (sh, jq, kubectl), as listed,minimal or not"`
	Count int    `json:"count,omitempty" jsonschema:"description=How many, at most,minimum=1,maximum=20,default=1"`
	Old   string `json:"old,omitempty" jsonschema:"description=Escaped\\,default=as invopop wants,enum=a\\,b,enum=c"`
	Other string `json:"other" jsonschema_description:"Said elsewhere, with commas, minimum=1"`
	First string `json:"first" jsonschema:"default=x,y,description=The description comes last, here"`
}

type optional struct {
	Must      string  `json:"must" jsonschema:"description=Required"`
	Pointer   *string `json:"pointer" jsonschema:"description=Optional as a pointer"`
	OmitEmpty string  `json:"omit_empty,omitempty" jsonschema:"description=Optional by omitempty"`
	OmitZero  int     `json:"omit_zero,omitzero" jsonschema:"description=Optional by omitzero"`
	Default   bool    `json:"default" jsonschema:"description=Optional by its default,default=true"`
	Forced    *string `json:"forced,omitempty" jsonschema:"required,description=Required by its tag"`
	Hidden    string  `json:"-"`
	HostOnly  string  `json:"host_only" jsonschema:"-"`
	_         string
}

type inner struct {
	Deep string `json:"deep" jsonschema:"description=From the innermost struct"`
}

type embedded struct {
	inner
	Mid int `json:"mid,omitempty" jsonschema:"description=From the middle"`
}

type flattened struct {
	embedded
	Own []inner `json:"own" jsonschema:"description=A list of them"`
}

type limits struct {
	Low   int     `json:"low" jsonschema:"description=Ends with a stop.,minimum=-5"`
	High  float64 `json:"high" jsonschema:"description=Ends without,maximum=0.5"`
	Size  uint    `json:"size" jsonschema:"description=A size"`
	Word  string  `json:"word" jsonschema:"description=Is it a question?,default=a \"b\""`
	Empty string  `json:"empty" jsonschema:"description=Nothing by default,default="`
	Pick  string  `json:"pick" jsonschema:"description=A choice,enum=x,enum=y z,default=x"`
}

func TestTheSchemaIsGolden(t *testing.T) {
	tools := []fantasy.AgentTool{
		newTool[struct{}]("no_parameters"),
		newTool[commas]("commas"),
		newTool[optional]("optional"),
		newTool[flattened]("embedded_structs"),
		newTool[limits]("limits"),
		newTool[everything]("every_type"),
	}
	for _, tool := range tools {
		info := tool.Info()
		t.Run(info.Name, func(t *testing.T) {
			var got bytes.Buffer
			enc := json.NewEncoder(&got)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(info); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "schema", info.Name+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

func TestDescriptionsAreWholeWithTheirCommas(t *testing.T) {
	want := map[string]string{
		"bin":   "BIN name (sh, jq, kubectl), as listed,minimal or not",
		"count": "How many, at most. From 1 to 20; default 1.",
		"old":   `Escaped,default=as invopop wants. One of "a,b", "c".`,
		"other": "Said elsewhere, with commas, minimum=1",
		"first": `The description comes last, here. Default "x,y".`,
	}
	got := map[string]string{}
	for name, p := range newTool[commas]("commas").Info().Parameters {
		got[name] = p.(map[string]any)["description"].(string)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("descriptions (-want +got):\n%s", diff)
	}
}

func TestAMapIsAnObjectWithAdditionalProperties(t *testing.T) {
	type in struct {
		Labels map[string]string `json:"labels,omitempty" jsonschema:"description=Labels"`
	}
	want := map[string]any{"labels": map[string]any{
		"type": "object", "description": "Labels", "additionalProperties": map[string]any{"type": "string"},
	}}
	if diff := cmp.Diff(want, newTool[in]("job").Info().Parameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	got, _ := call[in](t, `{"labels":{"*":"a","b":"c"}}`)
	if diff := cmp.Diff(in{Labels: map[string]string{"*": "a", "b": "c"}}, *got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestNothingInTheSchemaIsEverNull(t *testing.T) {
	for _, tool := range []fantasy.AgentTool{newTool[struct{}]("none"), newTool[page]("optional"), newTool[everything]("all")} {
		info := tool.Info()
		b, err := json.Marshal(map[string]any{"properties": info.Parameters, "required": info.Required})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "null") {
			t.Errorf("%s: %s", info.Name, b)
		}
	}
	info := newTool[struct{}]("none").Info()
	if info.Parameters == nil || len(info.Parameters) != 0 || info.Required == nil || len(info.Required) != 0 {
		t.Errorf("a tool without parameters has Parameters %#v and Required %#v, want both empty and not nil", info.Parameters, info.Required)
	}
}

// walk calls visit for every schema among and below the properties.
func walk(properties map[string]any, inMap bool, visit func(schema map[string]any, inMap bool)) {
	for _, p := range properties {
		s := p.(map[string]any)
		visit(s, inMap)
		for _, key := range []string{"items", "additionalProperties"} {
			if child, ok := s[key].(map[string]any); ok {
				walk(map[string]any{key: child}, true, visit)
			}
		}
		if children, ok := s["properties"].(map[string]any); ok {
			walk(children, false, visit)
		}
	}
}

func TestOnlyWhatEveryProviderAcceptsIsInTheSchema(t *testing.T) {
	for _, tool := range []fantasy.AgentTool{newTool[commas]("commas"), newTool[optional]("optional"), newTool[flattened]("flat"), newTool[limits]("limits"), newTool[everything]("all")} {
		walk(tool.Info().Parameters, false, func(s map[string]any, isElem bool) {
			for key := range s {
				switch key {
				case "type", "description":
				case "properties", "required":
					if s["type"] != "object" {
						t.Errorf("%s in %v", key, s)
					}
				case "items":
					if s["type"] != "array" || s["items"].(map[string]any)["type"] == nil {
						t.Errorf("items without a type in %v", s)
					}
				case "enum":
					if s["type"] != "string" {
						t.Errorf("enum in %v", s)
					}
				case "additionalProperties":
					if s["type"] != "object" || s["properties"] != nil {
						t.Errorf("additionalProperties of what is no map in %v", s)
					}
				default:
					t.Errorf("the keyword %s in %v", key, s)
				}
			}
			if !isElem && s["description"] == nil {
				t.Errorf("no description in %v", s)
			}
		})
	}
}

func TestInfoIsFreshEachTime(t *testing.T) {
	tool := newTool[limits]("limits")
	snapshot := func() string {
		b, err := json.Marshal(tool.Info())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := snapshot()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				info := tool.Info()
				schema.Normalize(info.Parameters)
				spoil(info.Parameters)
				for i := range info.Required {
					info.Required[i] = "spoiled"
				}
				tool.SetProviderOptions(fantasy.ProviderOptions{"x": nil})
				tool.ProviderOptions()["y"] = nil
				if _, err := tool.Run(context.Background(), fantasy.ToolCall{Input: `{"low":1,"high":0.1,"size":1,"pick":"y z"}`}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(want, snapshot()); diff != "" {
		t.Errorf("what one caller writes another one sees (-want +got):\n%s", diff)
	}
	if got, want := tool.ProviderOptions(), (fantasy.ProviderOptions{"x": nil}); !cmp.Equal(got, want) {
		t.Errorf("ProviderOptions() = %v, want %v", got, want)
	}
}

func spoil(m map[string]any) {
	for key, value := range m {
		switch value := value.(type) {
		case map[string]any:
			spoil(value)
		case []string:
			for i := range value {
				value[i] = "spoiled"
			}
		default:
			m[key] = "spoiled"
		}
	}
	m["spoiled"] = true
}
