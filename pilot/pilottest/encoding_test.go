package pilottest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStoredValuesKeepTheirBytes(t *testing.T) {
	t.Parallel()
	zero := 0
	want := state{
		Faults: []*Fault{{Stdout: "\xff{", Status: &zero, Set: map[string]any{"a\xfe": []any{"\xfd", 1.0, nil, map[string]any{"k": "é"}}}}},
		Nodes:  []*node{{Name: "n", Script: &Script{Replies: map[string]string{"\x80": bytesMark}}}},
		Queue:  []delayed{{Due: time.Unix(1, 2).UTC(), Message: &Message{Text: "\x00\xff"}}},
		Events: []Event{{Data: []byte("\xff"), Topic: "t\xff"}},
	}
	data, err := marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	var got state
	if err := unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want.Faults[0].Stdout != "\xff{" {
		t.Error("marshal changed the value it was given")
	}
}

func FuzzStoredStrings(f *testing.F) {
	f.Add("plain", "\xff")
	f.Add(bytesMark, bytesMark+"eA==")
	f.Fuzz(func(t *testing.T, a, b string) {
		want := map[string]string{a: b}
		data, err := marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
