package pilottest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFlagsFollowsTheRulesOfEachGeneration(t *testing.T) {
	t.Parallel()
	type flags = map[string]string
	tests := []struct {
		name string
		args []string
		old  flagSet // 1.2
		now  flagSet // 1.13 and 1.16
	}{
		{
			"a value in the same element is safe whatever it is",
			[]string{"bob", "--data=--x y", "--n=-5"},
			flagSet{[]string{"bob"}, flags{"data": "--x y", "n": "-5"}},
			flagSet{[]string{"bob"}, flags{"data": "--x y", "n": "-5"}},
		},
		{
			"a value that begins with two dashes is lost",
			[]string{"--data", "--foo", "bar"},
			flagSet{nil, flags{"data": "true", "foo": "bar"}},
			flagSet{nil, flags{"data": "true", "foo": "bar"}},
		},
		{
			"a value that begins with one dash is taken by 1.2 only",
			[]string{"--data", "-foo", "bar"},
			flagSet{[]string{"bar"}, flags{"data": "-foo"}},
			flagSet{nil, flags{"data": "true", "foo": "bar"}},
		},
		{
			"flags with a single dash exist since 1.13",
			[]string{"-count", "3", "bob"},
			flagSet{[]string{"-count", "3", "bob"}, flags{}},
			flagSet{[]string{"bob"}, flags{"count": "3"}},
		},
		{
			"negative numbers and a lone dash are no flags",
			[]string{"-5", "-3.14", "-.", "-"},
			flagSet{[]string{"-5", "-3.14", "-.", "-"}, flags{}},
			flagSet{[]string{"-5", "-3.14", "-.", "-"}, flags{}},
		},
		{
			"numbers with a unit behind a dash are values but not positionals",
			[]string{"--wait", "-3s", "-3s"},
			flagSet{[]string{"-3s"}, flags{"wait": "-3s"}},
			flagSet{nil, flags{"wait": "-3s", "3s": "true"}},
		},
		{
			"two dashes end nothing",
			[]string{"--", "bob", "--x"},
			flagSet{nil, flags{"": "bob", "x": "true"}},
			flagSet{[]string{"--", "bob"}, flags{"x": "true"}},
		},
		{
			"the last of several wins, and an empty value is one",
			[]string{"--data", "one", "--data", "two", "--x=", "--y", ""},
			flagSet{nil, flags{"data": "two", "x": "", "y": ""}},
			flagSet{nil, flags{"data": "two", "x": "", "y": ""}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for g, want := range map[Generation]flagSet{V12: test.old, V113: test.now, V116: test.now} {
				if diff := cmp.Diff(want, parseFlags(g, test.args), cmp.AllowUnexported(flagSet{})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", g, diff)
				}
			}
		})
	}
}

func TestABooleanFlagIsTrueForTrueOneAndEmptyOnly(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"true": true, "1": true, "": true, "false": false, "foo": false, "TRUE": false} {
		f := flagSet{vals: map[string]string{"clear": value}}
		if got := f.bool("clear"); got != want {
			t.Errorf("--clear=%s is %v", value, got)
		}
	}
	if (flagSet{}).bool("clear") {
		t.Error("a flag that is not there is true")
	}
}

func TestAddressesAreReadAsStrictlyAsPilotctlDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		network uint16
		node    uint32
		ok      bool
	}{
		"0:0000.0000.000B":     {0, 11, true},
		"0:0000.0000.000b":     {0, 11, true},
		"9:0009.0001.0002":     {9, 65538, true},
		"9:0008.0001.0002":     {},
		"65536:0000.0000.0001": {},
		"0:0000.0000.2":        {},
		"0:0000.0000.000B:80":  {},
		"bob":                  {},
	} {
		network, node, ok := parseAddress(text)
		if network != want.network || node != want.node || ok != want.ok {
			t.Errorf("%q: %d, %d, %v", text, network, node, ok)
		}
		if ok && FormatAddress(network, node) != strings.ToUpper(text) {
			t.Errorf("%q is written as %q", text, FormatAddress(network, node))
		}
	}
}

// FuzzParseFlags looks for elements that are lost: each is a positional, a
// flag's key or a flag's value, unless a later flag replaced it.
func FuzzParseFlags(f *testing.F) {
	f.Add("send-message\x00bob\x00--data\x00--x")
	f.Add("-a\x00-\x00--=\x00-1")
	f.Fuzz(func(t *testing.T, joined string) {
		args := strings.Split(joined, "\x00")
		for _, g := range []Generation{V12, V113, V116} {
			got := parseFlags(g, args)
			if len(got.pos)+len(got.vals) > len(args) {
				t.Fatalf("%s: %q became %+v", g, args, got)
			}
			for _, p := range got.pos {
				if !slices.Contains(args, p) {
					t.Fatalf("%s: %q was never given: %q", g, p, args)
				}
			}
			for _, v := range slices.Collect(maps.Values(got.vals)) {
				if v != "true" && !slices.ContainsFunc(args, func(a string) bool { return a == v || strings.HasSuffix(a, "="+v) }) {
					t.Fatalf("%s: value %q was never given: %q", g, v, args)
				}
			}
		}
	})
}
