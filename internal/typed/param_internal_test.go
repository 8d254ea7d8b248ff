package typed

import (
	"reflect"
	"strings"
	"testing"
)

// go vet refuses such a struct, so it is made here.
func TestAFieldWithAJSONNameMustBeExported(t *testing.T) {
	in := reflect.StructOf([]reflect.StructField{{
		Name: "path", PkgPath: "example.org/p", Type: reflect.TypeFor[string](),
		Tag: `json:"path" jsonschema:"description=A path"`,
	}})
	_, err := newParam(in, nil)
	if want := "field path: it has a json name but is not exported"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("newParam returned the error %v, want %q", err, want)
	}
}
