package yamlfile

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type some struct {
	Items []struct {
		Name string        `yaml:"name"`
		Text string        `yaml:"text"`
		List []string      `yaml:"list"`
		Wait time.Duration `yaml:"wait"`
	} `yaml:"items"`
}

func TestDecode(t *testing.T) {
	for _, tc := range []struct{ name, src, text string }{
		{"a value", "items:\n- name: a\n  text: hello\n", "hello"},
		{"a byte order mark", ByteOrderMark + "items: [{text: hello}]", "hello"},
		{"an alias", "items:\n- text: &t hello\n- text: *t\n", "hello"},
		{"text with brackets that are not closed", "items:\n- text: |\n    " + strings.Repeat("[{", 200) + "\n", strings.Repeat("[{", 200) + "\n"},
		{"text with many dashes", "items:\n- text: x " + strings.Repeat("- ", 200) + "y\n", "x " + strings.Repeat("- ", 200) + "y"},
		{"more than 64 lists beside each other", "items:\n- {text: x}\n" + strings.Repeat("- {list: [a]}\n", 200), "x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got some
			if err := Decode("f", []byte(tc.src), &got); err != nil || len(got.Items) == 0 || got.Items[0].Text != tc.text {
				t.Errorf("got %+v, %v", got, err)
			}
			if tree, err := Parse("f", []byte(tc.src)); err != nil || len(tree.Docs) != 1 {
				t.Errorf("parsed as %v, %v", tree, err)
			}
		})
	}
}

func TestAFileWithoutADocumentLeavesTheValueAlone(t *testing.T) {
	for _, src := range []string{"", "\n\n", "# nothing\n", ByteOrderMark} {
		var got some
		if err := Decode("f", []byte(src), &got); err != nil || got.Items != nil {
			t.Errorf("%q: got %+v, %v", src, got, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"an unknown key", "items:\n- colour: a\n", `unknown field "colour"`},
		{"a key that stands twice", "items:\n- name: a\n  name: b\n", "already defined"},
		{"a second document", "items: []\n---\nitems: []\n", "second document"},
		{"a key without an end", "items: []\n" + strings.Repeat("k", 100_000) + ": x\n", "omitted"},
		{"what is not YAML", "items: [", ""},
		{"a tag without a value, on which the YAML library panics", "items:\n- &a\n  name: b\n  list: !!seq ", "this is no YAML"},
		{"brackets in brackets", "items: " + strings.Repeat("[", 500_000), "64 deep"},
		{"brackets in brackets that are closed", "items: " + strings.Repeat("[", 65) + strings.Repeat("]", 65), "64 deep"},
		{"braces in braces", "items: " + strings.Repeat("{a: ", 100_000), "64 deep"},
		{"dashes behind dashes", "items:\n" + strings.Repeat("- ", 200_000) + "x", "64 deep"},
		{"questions behind questions", strings.Repeat("? ", 200_000) + "x", "64 deep"},
		{"an alias inside itself", "items: &a [*a]\n", ""},
		{"aliases of aliases", doubling(), "a million values"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got some
			err := Decode("the/file", []byte(tc.src), &got)
			if err == nil || !strings.HasPrefix(err.Error(), "the/file: ") || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > maxProblem+100 {
				t.Errorf("got %.1000v", err)
			}
		})
	}
}

// doubling is a file of few lines that has ten to the power of ten values.
func doubling() string {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := range 10 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return b.String()
}

func TestErrorsQuoteNoLine(t *testing.T) {
	for _, src := range []string{
		"items:\n- list: [KEY=Correct7Horse]\n  colour: x\n", "items:\n- list: [KEY=Correct7Horse\n", "items:\n- list: [\"KEY=Correct7Horse]\n",
		"items:\n- list: KEY=Correct7Horse\n", "items:\n- list:\n  - KEY=Correct7Horse\n  x: y\n", "items:\n- list: {KEY: Correct7Horse}\n",
	} {
		var got some
		if err := Decode("f", []byte(src), &got); err == nil || strings.Contains(err.Error(), "Correct7Horse") {
			t.Errorf("%q: %v, %+v", src, err, got)
		}
	}
}

// Whatever a file holds, it is read or refused with an error of one line, and what
// is read once is read so again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"items:\n- name: a\n  text: |\n    b\n  list: [c, 'd', \"e\"]\n  wait: 1h\n", "items: &a [*a]", "items: [{name: &n x}, {name: *n}]",
		"? items\n: - ? name\n    : a\n", "items:\n- !!map\n  <<: {name: a}\n", "%YAML 1.2\n---\nitems: []\n...\n", "items:\n- &a\n  name: b\n  list: !!seq ", "\xff", "- - - -",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var got, again some
		err := Decode("f", src, &got)
		if err != nil {
			if s := err.Error(); !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\x1b") || len(s) > maxProblem+100 {
				t.Errorf("%q", s)
			}
			return
		}
		if _, err := Parse("f", src); err != nil {
			t.Errorf("decoded, and not parsed: %v", err)
		}
		if err := Decode("f", src, &again); err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("read as %+v, then as %+v, %v", got, again, err)
		}
	})
}
