//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// join makes this test's environment that of a node on a simulated network.
func join(t *testing.T, g pilottest.Generation) (*pilottest.Network, pilottest.Node) {
	t.Helper()
	machine(t, "sh")
	network := pilottest.New(t, g)
	if err := os.Remove(network.Binary); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(builtPilotctl, network.Binary); err != nil {
		t.Fatal(err)
	}
	me := network.AddNode(pilottest.Node{Name: "me"})
	t.Setenv("HOME", me.Home)
	t.Setenv(pilot.EnvBinary, network.Binary)
	return network, me
}

func TestDoctorTellsVersionAndNode(t *testing.T) {
	for _, tc := range []struct {
		generation pilottest.Generation
		want       wanted
	}{
		{pilottest.V12, wanted{"pilot", "pilotctl", statusOK, ", version 1.2: an old one, which cannot wait for a reply", "update the Pilot Protocol"}},
		{pilottest.V113, wanted{"pilot", "pilotctl", statusOK, ", version v1.13.9, which cannot send a message over 128 KiB", "update the Pilot Protocol"}},
		{pilottest.V116, wanted{"pilot", "pilotctl", statusOK, ", version v1.16.0", ""}},
	} {
		t.Run(string(tc.generation), func(t *testing.T) {
			network, me := join(t, tc.generation)
			findings := doctored(t)
			tc.want.finding = network.Binary + tc.want.finding
			expect(t, findings, tc.want, wanted{"pilot", "daemon", statusOK, "running at " + me.Address + ", hostname me", ""})
			for _, c := range network.Calls() {
				if !c.Done || c.Verb != "version" && c.Verb != "context" && c.Verb != "info" {
					t.Errorf("pilotctl was asked %+v", c)
				}
			}
		})
	}
}

func TestDoctorNamesWhatIsWrongWithPilot(t *testing.T) {
	broken := 3
	for _, tc := range []struct {
		name       string
		generation pilottest.Generation
		make       func(t *testing.T, n *pilottest.Network, me pilottest.Node)
		want       wanted
	}{
		{"the daemon does not run", pilottest.V116, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) { n.Stop("me") },
			wanted{"pilot", "daemon", statusFault, "the Pilot daemon is not running", "pilotctl daemon start (tried "}},
		{"the daemon of 1.2 does not run", pilottest.V12, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) { n.Crash("me") },
			wanted{"pilot", "daemon", statusFault, "the Pilot daemon is not running", "pilotctl daemon start; if it does run, set PILOT_SOCKET"}},
		{"the home is another one", pilottest.V116, func(t *testing.T, _ *pilottest.Network, _ pilottest.Node) { t.Setenv("HOME", t.TempDir()) },
			wanted{"pilot", "daemon", statusFault, "not running, or its socket is another one", "HOME to its user's"}},
		{"pilotctl is older than 1.2", pilottest.V12, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "context", Set: map[string]any{"version": "1.1"}})
		}, wanted{"pilot", "pilotctl", statusFault, ", version 1.1: older than 1.2", "update"}},
		{"pilotctl tells no version", pilottest.V12, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "context", Drop: []string{"version"}})
		}, wanted{"pilot", "pilotctl", statusFault, "tells no version", "install a current"}},
		{"pilotctl is a build without a number", pilottest.V116, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "version", Raw: true, Stdout: "dev\x1b[31m\n"})
		}, wanted{"pilot", "pilotctl", statusOK, `without a version number ("dev")`, ""}},
		{"pilotctl steers the terminal with its version", pilottest.V116, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "version", Raw: true, Stdout: "1.16\x1b[2J\x1b]0;title\a\n"})
		}, wanted{"pilot", "pilotctl", statusOK, ", version 1.16", ""}},
		{"pilotctl has a huge version", pilottest.V116, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "version", Raw: true, Stdout: "1.16." + strings.Repeat("7", 500_000) + "\n"})
		}, wanted{"pilot", "pilotctl", statusOK, "bytes omitted)", ""}},
		{"PILOTCTL steers the terminal", pilottest.V116, func(t *testing.T, _ *pilottest.Network, _ pilottest.Node) {
			t.Setenv(pilot.EnvBinary, "/none/\x1b[2J\npilotctl")
		}, wanted{"pilot", "pilotctl", statusFault, "does not exist", ""}},
		{"pilotctl is killed", pilottest.V116, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "version", Kill: true})
		}, wanted{"pilot", "pilotctl", statusFault, "was killed by SIGKILL", "install"}},
		{"pilotctl answers nothing that can be read", pilottest.V116, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "info", Raw: true, Stderr: "boo", Status: &broken})
		}, wanted{"pilot", "daemon", statusFault, `no answer that can be read (exit status 3): "boo"`, ""}},
		{"pilotctl answers without an address", pilottest.V116, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "info", Drop: []string{"address"}})
		}, wanted{"pilot", "daemon", statusFault, "did not tell the node's address", ""}},
		{"the daemon breaks off", pilottest.V113, func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "info", Code: "connection_failed", Message: "info: daemon disconnected"})
		}, wanted{"pilot", "daemon", statusFault, "info: daemon disconnected (connection_failed)", "log"}},
		{"PILOTCTL names nothing", pilottest.V116, func(t *testing.T, _ *pilottest.Network, _ pilottest.Node) {
			t.Setenv(pilot.EnvBinary, "/none/pilotctl")
		},
			wanted{"pilot", "pilotctl", statusFault, `/none/pilotctl does not exist (PILOTCTL is "/none/pilotctl")`, "install the Pilot Protocol"}},
		{"PILOTCTL is no name of PATH", pilottest.V116, func(t *testing.T, _ *pilottest.Network, _ pilottest.Node) { t.Setenv(pilot.EnvBinary, "pctl") },
			wanted{"pilot", "pilotctl", statusFault, "pctl is not in PATH", ""}},
		{"pilotctl is not executable", pilottest.V116, func(t *testing.T, _ *pilottest.Network, me pilottest.Node) {
			t.Setenv(pilot.EnvBinary, "")
			writeFile(t, filepath.Join(me.Home, ".pilot", "bin", "pilotctl"), "")
		}, wanted{"pilot", "pilotctl", statusFault, "is not executable", "make it executable"}},
		{"pilotctl is a script without its interpreter", pilottest.V116, func(t *testing.T, _ *pilottest.Network, me pilottest.Node) {
			path := writeFile(t, filepath.Join(me.Home, "pilotctl"), "#!/none/sh\n")
			if err := os.Chmod(path, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv(pilot.EnvBinary, path)
		}, wanted{"pilot", "pilotctl", statusFault, "its interpreter /none/sh", "anew"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			network, me := join(t, tc.generation)
			tc.make(t, network, me)
			findings := doctored(t)
			expect(t, findings, tc.want)
			if running := network.Running(); len(running) != 0 {
				t.Errorf("still running: %+v", running)
			}
		})
	}
}

func TestDoctorDoesNotWaitForAPilotThatHangs(t *testing.T) {
	for _, tc := range []struct {
		name       string
		generation pilottest.Generation
		wait       string // longer than a run that does not hang takes
		make       func(t *testing.T, n *pilottest.Network, me pilottest.Node)
		want       wanted
	}{
		{"the daemon hangs", pilottest.V116, "1s", func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) { n.Freeze("me") },
			wanted{"pilot", "daemon", statusFault, "did not answer within 1s: it takes connections and hangs", "restart"}},
		{"pilotctl hangs", pilottest.V116, "300ms", func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "version", Hang: true, Stubborn: true})
		}, wanted{"pilot", "pilotctl", statusFault, "did not end within 300ms when asked for its version, and was stopped", "run it by hand"}},
		{"an old pilotctl hangs", pilottest.V12, "1s", func(_ *testing.T, n *pilottest.Network, _ pilottest.Node) {
			n.Fault(pilottest.Fault{Verb: "context", Hang: true})
		}, wanted{"pilot", "pilotctl", statusFault, "did not end within 1s when asked for its context", ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			network, me := join(t, tc.generation)
			tc.make(t, network, me)
			began := time.Now()
			findings := diagnosed(t, "-wait", tc.wait)
			if took := time.Since(began); took > limit/2 {
				t.Errorf("it took %v", took)
			}
			expect(t, findings, tc.want)
			if running := network.Running(); len(running) != 0 {
				t.Errorf("still running: %+v", running)
			}
		})
	}
}

// Doctor looks for pilotctl itself. It must find the one that the tools run.
func TestDoctorLooksAtThePilotctlThatTheToolsRun(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(t *testing.T, n *pilottest.Network, home string) string // returns the path that is right, "" for none
	}{
		{"there is none", func(*testing.T, *pilottest.Network, string) string { return "" }},
		{"in PATH", func(_ *testing.T, n *pilottest.Network, home string) string {
			return n.Install(filepath.Join(home, "b"))
		}},
		{"in PATH and at home", func(_ *testing.T, n *pilottest.Network, home string) string {
			n.Install(filepath.Join(home, ".pilot", "bin"))
			return n.Install(filepath.Join(home, "b"))
		}},
		{"at home", func(_ *testing.T, n *pilottest.Network, home string) string {
			return n.Install(filepath.Join(home, ".pilot", "bin"))
		}},
		{"by the variable, and in PATH", func(t *testing.T, n *pilottest.Network, home string) string {
			n.Install(filepath.Join(home, "b"))
			t.Setenv(pilot.EnvBinary, n.Binary)
			return n.Binary
		}},
		{"by the variable, as a name of PATH", func(t *testing.T, n *pilottest.Network, home string) string {
			t.Setenv(pilot.EnvBinary, "pilotctl")
			return n.Install(filepath.Join(home, "b"))
		}},
		{"by the variable, as a relative path", func(t *testing.T, n *pilottest.Network, home string) string {
			n.Install(filepath.Join(home, "b"))
			t.Setenv(pilot.EnvBinary, "./c/pilotctl")
			return n.Install(filepath.Join(home, "c"))
		}},
		{"by the variable, which is wrong, and in PATH", func(t *testing.T, n *pilottest.Network, home string) string {
			n.Install(filepath.Join(home, "b"))
			t.Setenv(pilot.EnvBinary, filepath.Join(home, "none"))
			return ""
		}},
		{"in a relative entry of PATH", func(t *testing.T, n *pilottest.Network, home string) string {
			n.Install(filepath.Join(home, "b"))
			t.Setenv("PATH", "b")
			return ""
		}},
		{"behind one that is not executable", func(t *testing.T, n *pilottest.Network, home string) string {
			writeFile(t, filepath.Join(home, "b", "pilotctl"), "")
			t.Setenv("PATH", filepath.Join(home, "b")+string(filepath.ListSeparator)+filepath.Join(home, "c"))
			return n.Install(filepath.Join(home, "c"))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := machine(t, "sh")
			t.Setenv("PATH", os.Getenv("PATH")+string(filepath.ListSeparator)+filepath.Join(home, "b"))
			want := tc.make(t, pilottest.New(t, pilottest.V116), home)
			got, err := findPilotctl()
			if got != want || (err == nil) != (want != "") {
				t.Errorf("doctor finds %q, %v; want %q", got, err, want)
			}
			if found := pilot.BuildTools() != nil; found != (want != "") {
				t.Errorf("the tools find it: %v", found)
			}
		})
	}
}

func TestPilotctlSeesNoCredential(t *testing.T) {
	network, _ := join(t, pilottest.V116)
	t.Setenv("PILOT_ADMIN_TOKEN", "hunter2")
	t.Setenv("OPENAI_API_KEY", "hunter2")
	t.Setenv("https_proxy", "http://me:hunter2@localhost")
	network.Fault(pilottest.Fault{Verb: "info", Code: "internal", Message: "x"})
	if shown := fmt.Sprint(doctored(t)); strings.Contains(shown, "hunter2") {
		t.Errorf("a secret is shown: %s", shown)
	}
	for _, c := range network.Calls() {
		for _, name := range c.Env {
			if name == "PILOT_ADMIN_TOKEN" || name == "OPENAI_API_KEY" || name == "https_proxy" {
				t.Errorf("%s saw %s", c.Verb, name)
			}
		}
	}
}
