//go:build unix

package main

import (
	"debug/elf"
	"reflect"
	"strings"
	"testing"
)

// keysOf writes the keys of a type's JSON as the README does, without the closing
// brace, and up to a key whose value is written out behind it.
func keysOf[T any]() string {
	var keys []string
	for f := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			keys = append(keys, `"`+name+`"`)
		}
	}
	return "{" + strings.Join(keys, ",")
}

// isDynamic reports whether an ELF file asks for a loader.
func isDynamic(t *testing.T, path string) bool {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}
