package jobsclient

import (
	"strings"
	"testing"
)

func TestATokenIsReplacedInEachForm(t *testing.T) {
	r := redactor(`ab"c+d/e=&é`)
	for _, form := range r.forms() {
		if got := r.text("<" + form + ">"); strings.Contains(got, form) || !strings.Contains(got, redacted) {
			t.Errorf("%q became %q", form, got)
		}
	}
	if got := redactor("").text("unchanged"); got != "unchanged" {
		t.Errorf("without a token: %q", got)
	}
	if got := redactor("").plain("unchanged"); got != "unchanged" {
		t.Errorf("without a token: %q", got)
	}
}

func TestTextOfTheDaemonIsCleanedAndCut(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"prefixes of gRPC", "rpc error: code = Unknown desc = it broke", "it broke"},
		{"nested prefixes of gRPC", "rpc error: code = Code(99) desc = grpc: transport: it broke: rpc error: code = Internal desc = twice", "it broke: twice"},
		{"nothing but prefixes", "rpc error: code = Unknown desc = ", "no reason given"},
		{"control characters", "a\x00b\r\n\x1b[31mc", "a b [31mc"},
		{"no UTF-8", "a\xffb", "a\uFFFDb"},
		{"nothing", " \n", "no reason given"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := (call{}).clean(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := (call{}).clean(strings.Repeat("ü", 10_000)); len(got) > 2*maxDaemonText || !strings.HasSuffix(got, "bytes more)") {
		t.Errorf("a long text became %d bytes", len(got))
	}
}
