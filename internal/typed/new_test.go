package typed_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/typed"
)

type recursive struct {
	Children []recursive `json:"children" jsonschema:"description=Children"`
}

type textual struct{}

func (textual) MarshalText() ([]byte, error)  { return nil, nil }
func (*textual) UnmarshalText(b []byte) error { return nil }

func TestNewPanicsWhereAModelCouldNotUseTheTool(t *testing.T) {
	name := func(name string) func() { return func() { newTool[struct{}](name) } }
	described := func(description string, opts typed.Options) func() {
		return func() {
			typed.New("t", description, opts, func(context.Context, struct{}, fantasy.ToolCall) (fantasy.ToolResponse, error) {
				return fantasy.ToolResponse{}, nil
			})
		}
	}
	const nameRule = "the name does not match ^[A-Za-z_][A-Za-z0-9_-]{0,63}$"
	tests := []struct {
		name string
		make func()
		want string // "": no panic
	}{
		{"a good name", name("_a-Z9"), ""},
		{"a name of 64 characters", name(strings.Repeat("a", 64)), ""},
		{"a name of 65 characters", name(strings.Repeat("a", 65)), nameRule},
		{"an empty name", name(""), nameRule},
		{"a blank name", name("  "), nameRule},
		{"a name with a dot", name("python3.11"), `tool "python3.11": ` + nameRule},
		{"a name with plus signs", name("clang++"), nameRule},
		{"a name with a space", name("my tool"), nameRule},
		{"a name with a slash", name("a/b"), nameRule},
		{"a name of a bracket", name("["), nameRule},
		{"a name of other letters", name("é"), nameRule},
		{"a name that begins with a digit", name("7z"), nameRule},
		{"a name with a line break at its end", name("a\n"), nameRule},

		{"an empty description", described(" \n", typed.Options{}), "the description is empty"},
		{"a description with NUL", described("a\x00", typed.Options{}), "not UTF-8 without NUL"},
		{"a description that is not UTF-8", described("a\xff", typed.Options{}), "not UTF-8 without NUL"},
		{"a description of 1024 characters", described(strings.Repeat("é", 1024), typed.Options{}), ""},
		{"a description of 1025 characters", described(strings.Repeat("é", 1025), typed.Options{}), "more than 1024 characters"},
		{"a long description that is allowed", described(strings.Repeat("é", 9000), typed.Options{LongDescription: true}), ""},
		{"no function", func() { typed.New[struct{}]("t", "d", typed.Options{}, nil) }, "there is no function to run"},

		{"a string as input", func() { newTool[string]("t") }, "the input string is not a struct"},
		{"a map as input", func() { newTool[map[string]any]("t") }, "is not a struct"},
		{"a pointer as input", func() { newTool[*page]("t") }, "is not a struct"},
		{"any as input", func() { newTool[any]("t") }, "is not a struct"},
		{"a field without a json name", func() {
			newTool[struct {
				Path string `jsonschema:"description=d"`
			}]("t")
		}, "field Path: it has no json name"},
		{"a field with a comma for a json name", func() {
			newTool[struct {
				Path string `json:",omitempty" jsonschema:"description=d"`
			}]("t")
		}, "field Path: it has no json name"},
		{"a field with a bad json name", func() {
			newTool[struct {
				Path string `json:"the.path" jsonschema:"description=d"`
			}]("t")
		}, `field Path: the name "the.path" does not match`},
		{"a field without a description", func() {
			newTool[struct {
				Path string `json:"path" description:"d"`
			}]("t")
		}, "field Path: it has no description"},
		{"a nested field without a description", func() {
			newTool[struct {
				In []struct {
					Path string `json:"path"`
				} `json:"in" jsonschema:"description=d"`
			}]("t")
		}, "field In: field Path: it has no description"},
		{"two descriptions", func() {
			newTool[struct {
				Path string `json:"path" jsonschema:"description=d" jsonschema_description:"d"`
			}]("t")
		}, "field Path: it has two descriptions"},
		{"an unknown json option", func() {
			newTool[struct {
				N int `json:"n,string" jsonschema:"description=d"`
			}]("t")
		}, `field N: the json option "string" is not supported`},
		{"an unknown key of the tag", func() {
			newTool[struct {
				N int `json:"n" jsonschema:"descr=d"`
			}]("t")
		}, `field N: the jsonschema tag holds "descr=d"`},
		{"a keyword that not every provider accepts", func() {
			newTool[struct {
				S string `json:"s" jsonschema:"description=d,pattern=^a$"`
			}]("t")
		}, `field S: the jsonschema tag holds "pattern=^a$"`},
		{"enum on an integer", func() {
			newTool[struct {
				N int `json:"n" jsonschema:"description=d,enum=1"`
			}]("t")
		}, "field N: enum is for strings only"},
		{"a choice given twice", func() {
			newTool[struct {
				S string `json:"s" jsonschema:"description=d,enum=a,enum=a"`
			}]("t")
		}, `field S: enum has "a" twice`},
		{"a default that is no choice", func() {
			newTool[struct {
				S string `json:"s" jsonschema:"description=d,enum=a,default=b"`
			}]("t")
		}, `field S: the default "b" is not one of "a"`},
		{"a default out of range", func() {
			newTool[struct {
				N int `json:"n" jsonschema:"description=d,maximum=5,default=6"`
			}]("t")
		}, `field N: the default "6" is not an integer of at most 5`},
		{"a default of another type", func() {
			newTool[struct {
				B bool `json:"b" jsonschema:"description=d,default=1"`
			}]("t")
		}, `field B: the default "1" is not true or false`},
		{"a default of a list", func() {
			newTool[struct {
				L []string `json:"l" jsonschema:"description=d,default=a"`
			}]("t")
		}, "field L: a default is for strings, numbers and booleans only"},
		{"a default of what is required", func() {
			newTool[struct {
				N int `json:"n" jsonschema:"required,description=d,default=6"`
			}]("t")
		}, "field N: it is required and has a default"},
		{"two defaults", func() {
			newTool[struct {
				N int `json:"n" jsonschema:"description=d,default=6,default=7"`
			}]("t")
		}, "field N: default is given twice"},
		{"limits of a string", func() {
			newTool[struct {
				S string `json:"s" jsonschema:"description=d,minimum=1"`
			}]("t")
		}, "field S: minimum 1: a limit is for numbers only"},
		{"a limit that the type does not hold", func() {
			newTool[struct {
				N int8 `json:"n" jsonschema:"description=d,maximum=300"`
			}]("t")
		}, "field N: maximum 300: the type int8 does not hold it"},
		{"a negative limit of an unsigned integer", func() {
			newTool[struct {
				N uint `json:"n" jsonschema:"description=d,minimum=-1"`
			}]("t")
		}, "field N: minimum -1: the type uint does not hold it"},
		{"a field's description with NUL", func() {
			newTool[struct {
				S string `json:"s" jsonschema:"description=a\x00b"`
			}]("t")
		}, "field S: the description is not UTF-8 without NUL"},
		{"limits the wrong way round", func() {
			newTool[struct {
				N int `json:"n" jsonschema:"description=d,minimum=5,maximum=4"`
			}]("t")
		}, "field N: minimum 5 is above maximum 4"},
		{"a limit that is no number", func() {
			newTool[struct {
				N float64 `json:"n" jsonschema:"description=d,minimum=0x1p4"`
			}]("t")
		}, "field N: minimum 0x1p4: it is not a number"},
		{"a fraction as the limit of an integer", func() {
			newTool[struct {
				N int `json:"n" jsonschema:"description=d,minimum=1.5"`
			}]("t")
		}, "field N: minimum 1.5: it is not an integer"},
		{"two fields with one name", func() {
			newTool[struct {
				page
				Max int `json:"limit" jsonschema:"description=d"`
			}]("t")
		}, `two fields have the name "limit"`},
		{"an embedded pointer", func() {
			newTool[struct {
				*page
			}]("t")
		}, "field page: only a struct, not a pointer to one, can be embedded"},
		{"a recursive type", func() { newTool[recursive]("t") }, "field Children: the type typed_test.recursive holds itself"},
		{"a channel", func() {
			newTool[struct {
				C chan int `json:"c" jsonschema:"description=d"`
			}]("t")
		}, "field C: the type chan int is not supported"},
		{"a function", func() {
			newTool[struct {
				F func() `json:"f" jsonschema:"description=d"`
			}]("t")
		}, "field F: the type func() is not supported"},
		{"an interface with methods", func() {
			newTool[struct {
				E error `json:"e" jsonschema:"description=d"`
			}]("t")
		}, "field E: the type error is not supported"},
		{"a pointer to a pointer", func() {
			newTool[struct {
				P **int `json:"p" jsonschema:"description=d"`
			}]("t")
		}, "field P: the type *int is not supported"},
		{"an array", func() {
			newTool[struct {
				A [2]int `json:"a" jsonschema:"description=d"`
			}]("t")
		}, "field A: the type [2]int is not supported"},
		{"bytes", func() {
			newTool[struct {
				B []byte `json:"b" jsonschema:"description=d"`
			}]("t")
		}, "field B: a list of bytes is not supported"},
		{"a list of anything", func() {
			newTool[struct {
				L []any `json:"l" jsonschema:"description=d"`
			}]("t")
		}, "field L: a list of anything is not supported"},
		{"a map with other keys", func() {
			newTool[struct {
				M map[int]string `json:"m" jsonschema:"description=d"`
			}]("t")
		}, "field M: the type map[int]string is not supported"},
		{"a duration", func() {
			newTool[struct {
				D time.Duration `json:"d" jsonschema:"description=d"`
			}]("t")
		}, "field D: a duration is a number of nanoseconds"},
		{"a time", func() {
			newTool[struct {
				T time.Time `json:"t" jsonschema:"description=d"`
			}]("t")
		}, "field T: the type time.Time is not supported: it decodes itself"},
		{"a type that decodes itself", func() {
			newTool[struct {
				T *textual `json:"t" jsonschema:"description=d"`
			}]("t")
		}, "field T: the type typed_test.textual is not supported: it decodes itself"},
		{"a number as text", func() {
			newTool[struct {
				N json.Number `json:"n" jsonschema:"description=d"`
			}]("t")
		}, "field N: the type json.Number is not supported"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				message, _ := recover().(string)
				switch {
				case tt.want == "" && message != "":
					t.Errorf("New panicked: %s", message)
				case tt.want != "" && (!strings.Contains(message, tt.want) || !strings.HasPrefix(message, "tool ")):
					t.Errorf("New panicked with %q, want one that holds %q", message, tt.want)
				}
			}()
			tt.make()
		})
	}
}
