//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

func TestWhatCannotBeServedIsSaidAndNothingIs(t *testing.T) {
	writeTools := func(text string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			writeFile(t, "tools.yaml", text)
		}
	}
	removeTools := func(*testing.T) { _ = os.Remove("tools.yaml") }
	setToken := func(token string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			t.Setenv(envToken, token)
		}
	}
	for _, tc := range []struct {
		name    string
		args    []string
		prepare func(*testing.T)
		want    string
	}{
		{"an unknown flag", []string{"-port", "1"}, nil, "-h lists the flags"},
		{"an argument", []string{"serve"}, nil, `"serve" is no flag`},
		{"a progress of nothing", []string{"-progress", "0s"}, nil, "-progress is 0s"},
		{"a token without HTTP", []string{"-token-file", "x"}, nil, "-token-file is for -http"},
		{"no tools file", nil, removeTools, "tools.yaml"},
		{"a wrong key", nil, writeTools("tools: [{nam: x}]"), "nam"},
		{"what steers the terminal", nil, writeTools("tools: \x1b[2J ["), "tools.yaml"},
		{"a missing program", nil, writeTools("tools: [{name: x, description: X., binary: /no/such}]"), "/no/such"},
		{"a name twice", nil, writeTools("tools: [{name: x, description: X., binary: sh}, {name: X, description: X., binary: sh}]"), "X"},
		{"the name of a job tool", nil, writeTools("tools: [{name: job_list, description: X., binary: sh}]"), "job_list"},
		{"no work dir", []string{"-workdir", "nowhere"}, nil, "nowhere"},
		{"an address that is none", []string{"-http", "nonsense"}, nil, "-http"},
		{"all interfaces without a token", []string{"-http", "0.0.0.0:0"}, nil, "-token-file or " + envToken},
		{"an address without a host and a token", []string{"-http", ":0"}, nil, "-token-file or " + envToken},
		{"a short token", []string{"-http", "127.0.0.1:0"}, setToken("secret"), "needs at least 16"},
		{"a token of blanks", []string{"-http", "127.0.0.1:0"}, setToken("  "), "is empty"},
		{"a token of two words", []string{"-http", "127.0.0.1:0"}, setToken("secret-secret-secret secret"), "one word of ASCII"},
		{"a token behind a byte order mark", []string{"-http", "127.0.0.1:0"}, setToken("\ufeffsecret-secret-secret"), "one word of ASCII"},
		{"a file that never ends for a token", []string{"-http", "127.0.0.1:0", "-token-file", "/dev/zero"}, nil, "longer than 4096 bytes"},
		{"a variable that is not set for the token file", []string{"-http", "127.0.0.1:0", "-token-file", ""}, nil, "-token-file is empty"},
		{"a variable that is not set for the address", []string{"-http", ""}, nil, "-http is empty"},
		{"a variable that is not set for the work dir", []string{"-workdir", " "}, nil, "-workdir is empty"},
		{"no token file", []string{"-http", "127.0.0.1:0", "-token-file", "none"}, nil, "-token-file"},
		{"an empty token file", []string{"-http", "127.0.0.1:0", "-token-file", "/dev/null"}, nil, "is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			writeFile(t, "tools.yaml", tools)
			t.Setenv("OTTERSD_URL", "unix:///none.sock")
			t.Setenv("OTTERS_AGENT_TOKEN", "none")
			if tc.prepare != nil {
				tc.prepare(t)
			}
			var stdout, stderr bytes.Buffer
			status := run(append([]string{"-tools", "tools.yaml"}, tc.args...), io.NopCloser(strings.NewReader(initialize+"\n")), &stdout, &stderr)
			if status != exitUsage || stdout.Len() > 0 || !strings.Contains(stderr.String(), tc.want) || strings.Contains(stderr.String(), "\x1b") || strings.Contains(stderr.String(), "secret") {
				t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout.String(), stderr.String())
			}
		})
	}
}
