package pilottest

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"
)

// bytesMark begins the stored form of a string that JSON would change.
const bytesMark = "\x00b64:"

// marshal is json.Marshal for values whose strings may hold any bytes.
func marshal(v any) ([]byte, error) {
	return json.Marshal(mapStrings(reflect.ValueOf(v), escape).Interface())
}

// unmarshal reads what marshal writes into a pointer.
func unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	target := reflect.ValueOf(v).Elem()
	target.Set(mapStrings(target, unescape))
	return nil
}

func escape(s string) string {
	if utf8.ValidString(s) && !strings.HasPrefix(s, bytesMark) {
		return s
	}
	return bytesMark + base64.StdEncoding.EncodeToString([]byte(s))
}

func unescape(s string) string {
	encoded, ok := strings.CutPrefix(s, bytesMark)
	if !ok {
		return s
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return s
	}
	return string(raw)
}

// mapStrings returns a copy of a value with every string in it changed by f.
// Fields that are not exported are copied as they are.
func mapStrings(v reflect.Value, f func(string) string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		return reflect.ValueOf(f(v.String())).Convert(v.Type())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		return mapReferred(v, f)
	case reflect.Struct:
		return mapFields(v, f)
	case reflect.Slice:
		return mapElements(v, f)
	case reflect.Map:
		return mapEntries(v, f)
	}
	return v
}

func mapReferred(v reflect.Value, f func(string) string) reflect.Value {
	inner := mapStrings(v.Elem(), f)
	if v.Kind() == reflect.Interface {
		out := reflect.New(v.Type()).Elem()
		out.Set(inner)
		return out
	}
	out := reflect.New(v.Type().Elem())
	out.Elem().Set(inner)
	return out
}

func mapFields(v reflect.Value, f func(string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			out.Field(i).Set(mapStrings(v.Field(i), f))
		}
	}
	return out
}

func mapElements(v reflect.Value, f func(string) string) reflect.Value {
	if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
		return v
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		out.Index(i).Set(mapStrings(v.Index(i), f))
	}
	return out
}

func mapEntries(v reflect.Value, f func(string) string) reflect.Value {
	if v.IsNil() {
		return v
	}
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for iter := v.MapRange(); iter.Next(); {
		out.SetMapIndex(mapStrings(iter.Key(), f), mapStrings(iter.Value(), f))
	}
	return out
}
