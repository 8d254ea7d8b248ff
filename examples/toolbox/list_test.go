//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// everything sets an environment in which there are tools of all three sources,
// two programs among them.
func everything(t *testing.T) {
	t.Helper()
	home := machine(t, "sh", "wc")
	t.Setenv(jobsclient.EnvDaemonURL, "unix:///never-dialled.sock")
	t.Setenv(jobsclient.EnvAgentToken, "none")
	t.Setenv(pilot.EnvBinary, pilottest.New(t, pilottest.V116).Binary)
	writeFile(t, filepath.Join(home, "my.yaml"), `
tools:
  - {name: shell, description: "Runs a shell.\nThe second line.", binary: sh}
  - {name: count_words, description: "Counts words in a text that is given on standard input; this line is longer than a terminal is wide.", binary: wc, args: [-w]}
`)
}

func TestListShowsNamesFirstLinesAndParametersBySource(t *testing.T) {
	everything(t)
	o := toolbox(t, "", "list", "-tools", "my.yaml")
	if o.status != exitOK || o.stderr != "" {
		t.Errorf("status %d, stderr %q", o.status, o.stderr)
	}
	golden(t, here, "list.txt", o.stdout)
	for line := range strings.Lines(o.stdout) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > defaultWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	o = toolbox(t, "", "list", "-tools", "my.yaml", "-json")
	golden(t, here, "list.json", o.stdout)
	if tools := decode[[]listed](t, o); len(tools) != 2+6+21 {
		t.Errorf("%d tools", len(tools))
	}
}

func TestListSaysWhatIsLeftOut(t *testing.T) {
	machine(t, "sh", "git")
	o := toolbox(t, "", "list")
	if o.status != exitOK || !strings.HasPrefix(o.stdout, "programs\n  sh ") || strings.Contains(o.stdout, "jobs\n") {
		t.Errorf("%+v", o)
	}
	for _, want := range []string{"grep is not installed", "OTTERSD_URL and OTTERS_AGENT_TOKEN are not both set", "pilotctl is not installed"} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("%q is missing in %q", want, o.stderr)
		}
	}
}

func TestToolsThatCannotBeLoadedAreRefusedWithAWayOn(t *testing.T) {
	machine(t)
	for _, args := range [][]string{{"list"}, {"schema"}, {"call", "sh"}} {
		if o := toolbox(t, "", args...); o.status != exitUsage || !strings.Contains(o.stderr, "toolbox doctor tells more") {
			t.Errorf("%+v", o)
		}
	}
}

func TestTheToolsFileDoesNotSteerTheTerminal(t *testing.T) {
	home := machine(t, "sh")
	for _, tc := range []struct{ name, file string }{
		{"a description", `tools: [{name: x, description: "a\e[2J\e]0;title\ab\u202ec", binary: sh}]`},
		{"a binary", `tools: [{name: x, description: d, binary: "s\e[2Jh"}]`},
		{"what is no YAML", "tools: \x1b[2J ["},
	} {
		t.Run(tc.name, func(t *testing.T) {
			writeFile(t, filepath.Join(home, "my.yaml"), tc.file)
			if o := toolbox(t, "", "list", "-tools", "my.yaml"); strings.ContainsAny(o.stdout+o.stderr, "\x1b\a\u202e") {
				t.Errorf("%+v", o)
			}
		})
	}
}
