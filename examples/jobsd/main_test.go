package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func TestMain(m *testing.M) {
	play()
	goleak.VerifyTestMain(m)
}

// limit bounds what a test waits for.
const limit = 2 * time.Minute

// output runs jobsd and returns what it wrote and its exit status.
func output(args ...string) (stdout, stderr string, status int) {
	var out, err bytes.Buffer
	status = run(args, &out, &err)
	return out.String(), err.String(), status
}

// operate starts a daemon and returns it with a state directory that leads to it.
func operate(t *testing.T, o jobstest.Options) (*jobstest.Daemon, string) {
	t.Helper()
	d := jobstest.New(t, o)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "operator.token"), d.OperatorToken()+"\n")
	writeFile(t, filepath.Join(dir, "address"), d.URL()+"\n")
	return d, dir
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestHelpNamesEveryCommandAndFlag(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"--help"}, {"help"}} {
		stdout, stderr, status := output(args...)
		if status != exitOK || stderr != "" {
			t.Errorf("%v: exit status %d, stderr %q", args, status, stderr)
		}
		for _, c := range commands() {
			if !strings.Contains(stdout, "\n  "+c.name) || !strings.Contains(stdout, c.summary) {
				t.Errorf("%v does not name %s", args, c.name)
			}
		}
	}
	for name, flags := range map[string][]string{
		"serve": {"state", "agents", "nats", "nats-creds", "prefix", "replicas", "fsync", "metrics", "drain", "max-run-time", "retention", "max-queue",
			"output-bytes", "max-record-bytes", "max-output-bytes", "socket", "listen", "tls-cert", "tls-key", "max-stdin", "max-args", "slots", "v", "log-json"},
		"front":   {"nats", "socket", "listen", "max-stdin"},
		"worker":  {"nats", "slots"},
		"token":   {"state", "agents", "url", "format"},
		"jobs":    {"state", "url", "status", "agent", "limit", "json"},
		"logs":    {"state", "url", "f", "json"},
		"cancel":  {"state", "url", "json"},
		"version": nil,
	} {
		stdout, stderr, status := output(name, "-h")
		if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "usage: jobsd "+name) {
			t.Errorf("%s -h: exit status %d, stderr %q, stdout:\n%s", name, status, stderr, stdout)
		}
		for _, f := range flags {
			if !strings.Contains(stdout, "  -"+f) {
				t.Errorf("%s -h does not name -%s", name, f)
			}
		}
	}
}

func TestTheCommandLineIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"an unknown command", []string{"start"}, `there is no command "start"; jobsd -h lists them`},
		{"an unknown flag", []string{"-nope"}, "jobsd serve -h lists the flags"},
		{"an argument of serve", []string{"serve", "me"}, `jobsd serve takes flags alone, and there is "me"`},
		{"a front without servers", []string{"front"}, "jobsd front needs -nats"},
		{"a worker without servers", []string{"worker"}, "jobsd worker needs -nats"},
		{"a socket of a worker", []string{"worker", "-nats", "x", "-socket", "s"}, "-socket"},
		{"credentials without servers", []string{"-nats-creds", "f"}, "there is no -nats"},
		{"replicas of the built-in server", []string{"-replicas", "3"}, "the built-in one is alone"},
		{"too many replicas", []string{"-nats", "x", "-replicas", "6"}, "-replicas is 6"},
		{"a prefix that names nothing", []string{"-prefix", "a.b *"}, "-prefix is"},
		{"fsync of other servers", []string{"-nats", "x", "-fsync"}, "-fsync is for the built-in server"},
		{"no slots", []string{"-slots", "0"}, "-slots is 0"},
		{"no queue", []string{"-max-queue", "0"}, "-max-queue is 0"},
		{"a certificate without its key", []string{"-listen", ":1", "-tls-cert", "c"}, "belong together"},
		{"a certificate for nothing", []string{"-tls-cert", "c", "-tls-key", "k"}, "there is no -listen"},
		{"nothing to connect to", []string{"-socket", "-"}, "nobody could reach the daemon"},
		{"no time to drain", []string{"-drain", "0s"}, "-drain is 0s"},
		{"a time without a unit", []string{"-retention", "3"}, "-retention"},
		{"a size of nothing", []string{"-max-args", "0"}, "-max-args is 0"},
		{"a size that is none", []string{"-output-bytes", "much"}, "a size is a number of bytes such as"},
		{"an agents file that is not there", []string{"-state", t.TempDir(), "-agents", "/none.yaml"}, "there is no agents file /none.yaml; without -agents a first one is written"},
		{"a worker's agents file that is not there", []string{"worker", "-nats", "x", "-state", t.TempDir()}, "there is no agents file"},
		{"a token for nobody", []string{"token"}, "jobsd token me"},
		{"tokens for two", []string{"token", "me", "you"}, "jobsd token me"},
		{"an unknown format", []string{"token", "me", "-format", "csh"}, "-format is env, fish, powershell or json"},
		{"an address that is none", []string{"token", "me", "-state", t.TempDir(), "-url", "localhost:1"}, "-url is unix:///path/of/socket"},
		{"an address that is none of jobs", []string{"jobs", "-state", t.TempDir(), "-url", "localhost:1"}, "-url is unix:///path/of/socket"},
		{"an argument of jobs", []string{"jobs", "-json", "x"}, "jobsd jobs takes flags alone"},
		{"an unknown status", []string{"jobs", "-status", "ended"}, "-status is one of pending, running, done, error, cancelled, orphaned"},
		{"a negative limit", []string{"jobs", "-limit", "-1"}, "-limit is -1"},
		{"logs of nothing", []string{"logs"}, "the id of one job"},
		{"logs of two", []string{"logs", "a", "b"}, "the id of one job"},
		{"a cancel of nothing", []string{"cancel"}, "the ids of jobs"},
		{"an argument of version", []string{"version", "x"}, "jobsd version takes flags alone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stdout, stderr, status := output(tc.args...)
			if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "jobsd: ") || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit status %d, stdout %q, stderr %q; want %q", status, stdout, stderr, tc.want)
			}
		})
	}
}

func TestAWrongAgentsFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "agents.yaml"), "agents: [{name: a.b}]")
	_, stderr, status := output("-state", dir)
	if status != exitUsage || !strings.Contains(stderr, `agent "a.b": the name may hold`) {
		t.Errorf("exit status %d, stderr %q", status, stderr)
	}
}

func TestVersion(t *testing.T) {
	stdout, stderr, status := output("version")
	if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "jobsd ") || !strings.Contains(stdout, " go1") {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}
