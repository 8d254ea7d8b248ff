//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
)

// wanted is a finding that is looked for: the texts are parts of it.
type wanted struct {
	check, subject  string
	status          status
	finding, advice string
}

// diagnosed runs doctor and checks what holds of every run: the status follows
// from the findings, and each one that is not ok says what to do.
func diagnosed(t *testing.T, args ...string) []finding {
	t.Helper()
	o := toolbox(t, "", append([]string{"doctor", "-json"}, args...)...)
	findings := decode[[]finding](t, o)
	status := exitOK
	for _, f := range findings {
		if f.Status == statusFault {
			status = exitFailed
		}
		if f.Status != statusOK && f.Advice == "" || f.Subject == "" || f.Finding == "" || strings.ContainsAny(f.Finding+f.Advice, "\n\x1b\a") || len(f.Finding) > maxFinding+100 {
			t.Errorf("%+v", f)
		}
		if strings.Contains(f.Finding+f.Advice, "rpc error") || strings.Contains(f.Finding+f.Advice, "%!") {
			t.Errorf("no sentence for people: %+v", f)
		}
	}
	if o.status != status || o.stderr != "" {
		t.Errorf("status %d, want %d; stderr %q; %+v", o.status, status, o.stderr, findings)
	}
	return findings
}

// doctored is diagnosed, and checks that the text tells the same as the JSON.
func doctored(t *testing.T, args ...string) []finding {
	t.Helper()
	findings := diagnosed(t, args...)
	status, faults := exitOK, 0
	for _, f := range findings {
		if f.Status == statusFault {
			status = exitFailed
			faults++
		}
	}
	o := toolbox(t, "", append([]string{"doctor"}, args...)...)
	if o.status != status || !strings.HasSuffix(o.stdout, " missing, "+plural(faults, "fault")+"\n") {
		t.Errorf("as text: status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	for _, f := range findings {
		if !strings.Contains(o.stdout, f.Subject+": "+f.Finding+"\n") || !strings.Contains(o.stdout, f.Advice) {
			t.Errorf("%+v is not in the text:\n%s", f, o.stdout)
		}
	}
	return findings
}

// expect fails the test if a finding is missing.
func expect(t *testing.T, findings []finding, want ...wanted) {
	t.Helper()
	for _, w := range want {
		if !slices.ContainsFunc(findings, func(f finding) bool {
			return f.Check == w.check && f.Subject == w.subject && f.Status == w.status &&
				strings.Contains(f.Finding, w.finding) && strings.Contains(f.Advice, w.advice)
		}) {
			t.Errorf("%+v is missing in\n%+v", w, findings)
		}
	}
}

// of returns the findings of one check.
func of(check string, findings []finding) []finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f finding) bool { return f.Check != check })
}

func TestDoctorOnAMachineWithNothingConfiguredFindsNoFaultAndSaysWhatIsMissing(t *testing.T) {
	machine(t)
	findings := doctored(t)
	entries, err := toolfile.Read("")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		expect(t, findings, wanted{"programs", e.Name, statusMissing, e.Binary + " is not installed", "install it"})
	}
	expect(t, findings,
		wanted{"programs", "tools file", statusMissing, "none of its programs is installed", "-tools"},
		wanted{"jobs", "OTTERSD_URL", statusMissing, "OTTERSD_URL and OTTERS_AGENT_TOKEN are not set", "a jobs daemon sets both"},
		wanted{"pilot", "pilotctl", statusMissing, "pilotctl is neither in PATH nor in ~/.pilot/bin", "install the Pilot Protocol"})
	for _, f := range findings {
		if f.Status != statusMissing {
			t.Errorf("%+v", f)
		}
	}
}

func TestDoctorWorksWithoutAnyVariable(t *testing.T) {
	cmd := process(t, "doctor")
	cmd.Env = []string{}
	cmd.Dir = t.TempDir()
	if o := ended(t, cmd); o.status != exitOK || o.stderr != "" || !strings.Contains(o.stdout, "\n0 ok, ") {
		t.Errorf("%+v", o)
	}
}

func TestDoctorNamesTheInstallerOfTheMachine(t *testing.T) {
	home := machine(t)
	bin := filepath.Join(home, "bin")
	if err := os.Chmod(writeFile(t, filepath.Join(bin, "apk"), "#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	expect(t, doctored(t), wanted{"programs", "git", statusMissing, "", "(apk add git, "})
}

func TestDoctorLooksAtEachProgramOfTheFile(t *testing.T) {
	home := machine(t, "sh")
	sh := filepath.Join(os.Getenv("PATH"), "sh")
	writeFile(t, filepath.Join(home, "plain"), "no program")
	writeFile(t, filepath.Join(os.Getenv("PATH"), "plain-in-path"), "no program")
	writeFile(t, filepath.Join(home, "doc.txt"), "usage")
	for _, tc := range []struct {
		name, entry string
		want        wanted
	}{
		{"a program of PATH", "binary: sh", wanted{"programs", "t", statusOK, sh, ""}},
		{"a program by its path", "binary: " + sh, wanted{"programs", "t", statusOK, sh, ""}},
		{"a missing one", "binary: no-such-program", wanted{"programs", "t", statusFault, `"no-such-program" is neither in`, "install it"}},
		{"a missing one that is optional", "binary: no-such-program, optional: true", wanted{"programs", "t", statusMissing, "no-such-program is not installed; it is optional", "install it"}},
		{"a missing path", "binary: ./bin/none", wanted{"programs", "t", statusFault, "/bin/none does not exist; no tool at all", "correct its path"}},
		{"one that is not executable", "binary: ./plain", wanted{"programs", "t", statusFault, "is not executable (file mode -rw-------)", "chmod +x"}},
		{"one of PATH that is not executable, and optional", "binary: plain-in-path, optional: true", wanted{"programs", "t", statusFault, "is not executable", "chmod +x"}},
		{"a directory", "binary: " + home, wanted{"programs", "t", statusFault, "is a directory", "chmod +x"}},
		{"a usage text", "binary: sh, doc: doc.txt", wanted{"programs", "t", statusOK, sh, ""}},
		{"a usage text that is not there", "binary: sh, doc: none.txt", wanted{"programs", "t", statusFault, "its usage text cannot be read", "correct doc"}},
		{"a usage text that is no file", "binary: sh, doc: .", wanted{"programs", "t", statusFault, "is not a regular file", "correct doc"}},
		{"a definition that is not allowed", "binary: sh, env: [A=1, A=2]", wanted{"programs", "tools file", statusFault, `tool "t": entry 2 of Env names A a second time`, "corrected"}},
		{"two things that are not allowed", "binary: sh, env: [A=1, A=2], max_output: -1", wanted{"programs", "tools file", statusFault, `tool "t": MaxOutput is -1`, "corrected"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			writeFile(t, "my.yaml", "tools: [{name: t, description: A tool., "+tc.entry+"}]")
			findings := doctored(t, "-tools", "my.yaml")
			expect(t, findings, tc.want)
			loads := toolbox(t, "", "schema", "-tools", "my.yaml").status == exitOK
			faults := slices.ContainsFunc(of("programs", findings), func(f finding) bool {
				return f.Status == statusMissing || f.Status == statusFault && !strings.Contains(f.Advice, "correct doc")
			})
			if loads == faults {
				t.Errorf("the tools load: %v; doctor says\n%+v", loads, findings)
			}
		})
	}
}

func TestDoctorFindsAnOptionalProgramThatIsNotInPath(t *testing.T) {
	home := machine(t, "sh")
	if err := os.Chmod(writeFile(t, filepath.Join(home, "usr", "bin", "mine"), "#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "my.yaml", "tools: [{name: mine, description: Mine., binary: mine, optional: true}, {name: sh, description: A shell., binary: sh}]")
	findings := doctored(t, "-tools", "my.yaml")
	left := !strings.Contains(toolbox(t, "", "list", "-tools", "my.yaml").stdout, "mine")
	missing := slices.ContainsFunc(findings, func(f finding) bool { return f.Subject == "mine" && f.Status == statusMissing })
	if left != missing {
		t.Errorf("the tool is left out: %v; doctor says\n%+v", left, findings)
	}
}

func TestDoctorGoesOnWhereTheToolsFileCannotBeUsed(t *testing.T) {
	machine(t, "sh")
	writeFile(t, "bad.yaml", "tools: [{nam: sh}]")
	for _, tc := range []struct {
		name string
		args []string
		want wanted
	}{
		{"it is not there", []string{"-tools", "none.yaml"}, wanted{"programs", "tools file", statusFault, "none.yaml", "-tools"}},
		{"it has an unknown key", []string{"-tools", "bad.yaml"}, wanted{"programs", "tools file", statusFault, `unknown field "nam"`, "correct the file"}},
		{"the workdir is not there", []string{"-workdir", "none"}, wanted{"programs", "workdir", statusFault, "none", "-workdir"}},
		{"the workdir is a file", []string{"-workdir", "bad.yaml"}, wanted{"programs", "workdir", statusFault, "is not a directory", "-workdir"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			findings := doctored(t, tc.args...)
			expect(t, findings, tc.want, wanted{"jobs", "OTTERSD_URL", statusMissing, "", ""}, wanted{"pilot", "pilotctl", statusMissing, "", ""})
		})
	}
}
