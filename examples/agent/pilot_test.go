//go:build unix

package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// installPilot makes a network of the test's own, whose pilotctl is in the PATH
// of the command, so that it is what is installed.
func installPilot(t *testing.T, cmd *exec.Cmd) *pilottest.Network {
	t.Helper()
	network := pilottest.New(t, pilottest.V116)
	me := network.AddNode(pilottest.Node{Name: "host"})
	network.Directory(pilottest.Agent{Hostname: "bitstamp", Description: "The installed bitcoin agent"})
	dir := filepath.Dir(network.Install(t.TempDir()))
	cmd.Env = append(cmd.Env, "HOME="+me.Home, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return network
}

const searchScript = `pilot_search {"keyword":"bitcoin"}` + "\n\n> There."

func TestPilotctlIsUsedOnlyIfItIsInstalledAndAskedFor(t *testing.T) {
	const (
		simulated = "pilot:   pilot_search and 20 more; on a simulated network, whose answers are made up\n"
		real      = "pilot:   pilot_search and 20 more; on the network that pilotctl reaches\n"
		note      = "agent: pilotctl is not installed; the Pilot network is simulated\n"
	)
	for _, tc := range []struct {
		name      string
		installed bool
		args      []string
		header    string
		stderr    string
		answer    string
	}{
		{"neither", false, nil, simulated, "", "at one exchange"},
		{"installed", true, nil, simulated, "", "at one exchange"},
		{"asked for", false, []string{"-pilot"}, simulated, note, "at one exchange"},
		{"both", true, []string{"-pilot"}, real, "", "The installed bitcoin agent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := command(t, append(tc.args, "-script", "my.txt")...)
			writeFiles(t, cmd.Dir, map[string]string{"my.txt": searchScript})
			var network *pilottest.Network
			if tc.installed {
				network = installPilot(t, cmd)
			}
			stdout, stderr, status := output(t, cmd)
			if status != exitOK || stderr != tc.stderr {
				t.Errorf("exit status %d, stderr %q, want %q", status, stderr, tc.stderr)
			}
			for _, want := range []string{tc.header, tc.answer} {
				if !strings.Contains(stdout, want) {
					t.Errorf("%q is missing in\n%s", want, stdout)
				}
			}
			if tc.installed {
				if used := len(network.Calls()) > 0; used != (tc.header == real) {
					t.Errorf("the installed pilotctl was used: %v", used)
				}
			}
		})
	}
}

func TestTheSimulatedNetworkIgnoresTheSettingsOfARealOne(t *testing.T) {
	cmd := command(t, "-script", "my.txt")
	writeFiles(t, cmd.Dir, map[string]string{"my.txt": searchScript, "none/.pilot/config.json": `{"socket":"/none"}`})
	cmd.Env = append(cmd.Env, "PILOT_SOCKET=/none.sock", "PILOT_HOME="+filepath.Join(cmd.Dir, "none"), "PILOTCTL=/none/pilotctl")
	if stdout, stderr, status := output(t, cmd); status != exitOK || !strings.Contains(stdout, "calls: 1, 0 of them failed") {
		t.Errorf("exit status %d\n%s\n%s", status, stdout, stderr)
	}
}

func TestARunLeavesNoFilesBehind(t *testing.T) {
	temp := t.TempDir()
	for _, script := range []string{searchScript, "> There.", "nonsense"} {
		cmd := command(t, "-script", "my.txt")
		writeFiles(t, cmd.Dir, map[string]string{"my.txt": script})
		cmd.Env = append(cmd.Env, "TMPDIR="+temp)
		output(t, cmd)
		left, err := os.ReadDir(temp)
		if err != nil || len(left) > 0 {
			t.Errorf("the script %q left %v, %v", script, left, err)
		}
	}
}

func TestAModelHasPilotToolsOnlyIfTheyAreAskedFor(t *testing.T) {
	for _, tc := range []struct {
		name      string
		installed bool
		args      []string
		want      int
		advice    bool
	}{
		{"installed", true, nil, 0, false},
		{"installed and asked for", true, []string{"-pilot"}, 21, false},
		{"asked for", false, []string{"-pilot"}, 21, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service := newService(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
				streamText(w, "Done.")
				finish(w, "stop")
			})
			cmd := service.command(t, append(tc.args, "Hello")...)
			if tc.installed {
				installPilot(t, cmd)
			}
			if _, stderr, status := output(t, cmd); status != exitOK {
				t.Fatalf("exit status %d\n%s", status, stderr)
			}
			got := 0
			for _, tool := range service.requests[0].Tools {
				if strings.HasPrefix(tool.Function.Name, "pilot_") {
					got++
				}
			}
			system, _ := service.requests[0].Messages[0].Content.(string)
			if got != tc.want || strings.Contains(system, "made up") != tc.advice || !strings.Contains(system, "Jobs run one of these BINs: sh, grep") {
				t.Errorf("sent %d Pilot tools and the instructions %q", got, system)
			}
		})
	}
}
