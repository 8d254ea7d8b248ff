//go:build unix

package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// writeFile makes a file with its directories and returns its path.
func writeFile(t testing.TB, path, body string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// says is a program that prints a word.
func says(t testing.TB, path, word string) {
	t.Helper()
	writeFile(t, path, "#!/bin/sh\necho "+word+"\n", 0o755)
}

func TestEveryProblemOfEveryDefIsReported(t *testing.T) {
	dir := t.TempDir()
	plain := writeFile(t, filepath.Join(dir, "plain"), "x", 0o644)
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	defs := []Def{
		{Name: "good", Description: "Fine.", Binary: "/bin/sh"},
		{Name: "gone", Description: "Missing.", Binary: "/no/such"},
		{Name: "dir", Description: "A directory.", Binary: dir},
		{Name: "plain", Description: "No program.", Binary: plain},
		{Name: "fifo", Description: "No file.", Binary: "./fifo"},
		{Name: "unknown", Description: "Not in PATH.", Binary: "no-such-program-anywhere"},
		{Name: "python3.11", Description: "A dot.", Binary: "/bin/sh"},
		{Name: "clang++", Description: "Pluses.", Binary: "/bin/sh"},
		{Name: "my tool", Description: "A blank.", Binary: "/bin/sh"},
		{Name: "é", Description: "Not ASCII.", Binary: "/bin/sh"},
		{Name: "9p", Description: "A digit first.", Binary: "/bin/sh"},
		{Name: strings.Repeat("n", 65), Description: "Too long.", Binary: "/bin/sh"},
		{Name: "", Description: "No name.", Binary: "/bin/sh"},
		{Name: " ", Description: "A blank name.", Binary: "/bin/true"},
		{Name: "mute", Description: " \n", Binary: "/bin/sh"},
		{Name: "bare", Description: "\x1b[0m\x07", Binary: "/bin/sh"},
		{Name: "zero", Description: "a\x00b", Binary: "/bin/sh"},
		{Name: "[", Description: "A bracket.", Binary: "/bin/sh"},
		{Name: "long", Description: strings.Repeat("é", 1025), Binary: "/bin/sh"},
		{Name: "Good", Description: "The name again, in another case.", Binary: "/bin/sh"},
		{Name: "JOB_submit", Description: "A name of this library.", Binary: "/bin/sh"},
		{Name: "pilot_send", Description: "Another one.", Binary: "/bin/sh"},
		{Name: "nul", Description: "NUL.", Binary: "/bin/sh", Args: []string{"a", "b\x00c"}, Env: []string{"A=\x00"}},
		{Name: "env", Description: "Environment.", Binary: "/bin/sh", Env: []string{"=x", "", "B=1", "B"}},
		{Name: "negative", Description: "A limit.", Binary: "", MaxOutput: -1},
	}
	tools, err := LoadTools(defs, dir, nil)
	if err == nil || tools != nil {
		t.Fatalf("got %d tools and %v", len(tools), err)
	}
	for _, want := range []string{
		`tool "gone": the binary /no/such does not exist`,
		`tool "dir": the binary ` + dir + ` is a directory`,
		`tool "plain": the binary ` + plain + ` is not executable (file mode -rw-r--r--)`,
		`tool "fifo": the binary ` + dir + `/fifo is not a regular file`,
		`tool "unknown": the binary "no-such-program-anywhere" is neither in`,
		`tool "python3.11": the name may hold only`,
		`tool "clang++": the name may hold only`,
		`tool "my tool": the name may hold only`,
		`tool "é": the name may hold only`,
		`tool "9p": the name may hold only`,
		`tool "` + strings.Repeat("n", 65) + `": the name may hold only`,
		`tool number 13 (binary "/bin/sh"): the name is empty`,
		`tool number 14 (binary "/bin/true"): the name is empty`,
		`tool "mute": the description is empty`,
		`tool "bare": the description is empty`,
		`tool "zero": the description holds a NUL character`,
		`tool "[": the name may hold only`,
		`tool "long": the description has 1025 characters, and providers take 1024`,
		`tool "good" (number 1) and tool "Good" (number 20) have the same name`,
		`tool "JOB_submit": the name is that of a tool of this library`,
		`tool "pilot_send": the name is that of a tool of this library`,
		`tool "nul": Args[1] holds a NUL character`,
		`tool "nul": entry 1 of Env holds a NUL character`,
		`tool "env": entry 1 of Env is neither KEY=VALUE nor KEY`,
		`tool "env": entry 2 of Env is neither KEY=VALUE nor KEY`,
		`tool "env": entry 4 of Env names B a second time`,
		`tool "negative": the binary is empty`,
		`tool "negative": MaxOutput is -1`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q", want)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 28 {
		t.Errorf("%d problems reported, want 28:\n%v", n, err)
	}
}

func TestDuplicateNamesAreFoundInAnyOrder(t *testing.T) {
	a := Def{Name: "foo_bar", Description: "One.", Binary: "/bin/sh"}
	b := Def{Name: "Foo_Bar", Description: "Two.", Binary: "/bin/sh"}
	for _, defs := range [][]Def{{a, b}, {b, a}} {
		_, err := LoadTools(defs, "", nil)
		if err == nil || !strings.Contains(err.Error(), `"foo_bar"`) || !strings.Contains(err.Error(), `"Foo_Bar"`) {
			t.Errorf("got %v, want an error that names both", err)
		}
	}
}

func TestNamesAreNotCleanedIntoOthers(t *testing.T) {
	dotted := Def{Name: "foo.bar", Description: "One.", Binary: "/bin/sh"}
	plain := Def{Name: "foo_bar", Description: "Two.", Binary: "/bin/sh"}
	for _, defs := range [][]Def{{dotted, plain}, {plain, dotted}} {
		tools, err := LoadTools(defs, "", nil)
		if tools != nil || err == nil || !strings.HasPrefix(err.Error(), `tool "foo.bar": the name may hold only`) {
			t.Errorf("got %d tools, %v", len(tools), err)
		}
	}
}

func TestAMissingWorkDirHidesNoOtherProblem(t *testing.T) {
	_, err := LoadTools([]Def{{Name: "a.b", Description: "One.", Binary: "/no/such"}}, "/no/such/dir", nil)
	for _, want := range []string{"the working directory /no/such/dir does not exist", "the name may hold only", "the binary /no/such does not exist"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to contain %q", err, want)
		}
	}
}

func TestWorkDirMustBeADirectory(t *testing.T) {
	file := writeFile(t, filepath.Join(t.TempDir(), "file"), "", 0o644)
	for dir, want := range map[string]string{
		"/no/such/dir": "the working directory /no/such/dir does not exist",
		file:           "the working directory " + file + " is not a directory",
	} {
		if _, err := LoadTools(nil, dir, nil); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", dir, err, want)
		}
	}
}

func TestNoDefsMakeNoTools(t *testing.T) {
	tools, err := LoadTools(nil, "", nil)
	if err != nil || len(tools) != 0 {
		t.Errorf("got %v, %v", tools, err)
	}
}

func TestWhereABinaryIsFound(t *testing.T) {
	work, elsewhere := t.TempDir(), t.TempDir()
	says(t, filepath.Join(work, "usr/bin/both"), "usr-bin")
	says(t, filepath.Join(elsewhere, "both"), "path")
	says(t, filepath.Join(elsewhere, "other"), "path")
	says(t, filepath.Join(work, "other"), "workdir")
	says(t, filepath.Join(work, "bin/tool"), "relative")
	says(t, filepath.Join(work, "mytool"), "workdir")
	writeFile(t, filepath.Join(work, "usr/bin/other"), "not executable", 0o644)
	t.Setenv("PATH", strings.Join([]string{".", "", "bin", elsewhere, "/usr/bin", "/bin"}, string(os.PathListSeparator)))
	t.Chdir(work)
	for _, tc := range []struct{ name, binary, want string }{
		{"a bare name comes from usr/bin of the work directory first", "both", "usr-bin\n"},
		{"then from PATH, past a file that is not executable", "other", "path\n"},
		{"a path with a slash starts at the work directory", "bin/tool", "relative\n"},
		{"so does one with a dot", "./mytool", "workdir\n"},
		{"an absolute path is taken as it is", filepath.Join(elsewhere, "both"), "path\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tools, err := LoadTools([]Def{{Name: "it", Description: "It.", Binary: tc.binary}}, work, nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp := call(t, tools[0], Input{Args: []string{"x"}}); resp.Content != tc.want {
				t.Errorf("got %q, want %q", resp.Content, tc.want)
			}
		})
	}
	t.Run("a bare name never comes from the current directory", func(t *testing.T) {
		_, err := LoadTools([]Def{{Name: "it", Description: "It.", Binary: "mytool"}}, work, nil)
		if err == nil || !strings.Contains(err.Error(), "is written ./mytool") {
			t.Errorf("got %v", err)
		}
	})
}

func TestABinaryIsResolvedAtLoad(t *testing.T) {
	work := t.TempDir()
	says(t, filepath.Join(work, "bin/tool"), "first")
	t.Chdir(work)
	tools, err := LoadTools([]Def{{Name: "it", Description: "It.", Binary: "./bin/tool"}}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	says(t, filepath.Join(other, "bin/tool"), "second")
	t.Chdir(other)
	t.Setenv("PATH", other)
	if resp := call(t, tools[0], Input{Args: []string{"x"}}); resp.Content != "first\n" {
		t.Errorf("got %q", resp.Content)
	}
}

func TestADefCanBeChangedAfterItIsLoaded(t *testing.T) {
	defs := []Def{{Name: "it", Description: "It.", Binary: "echo", Args: []string{"fixed"}, Env: []string{"A=b"}}}
	tools, err := LoadTools(defs, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defs[0].Args[0], defs[0].Env[0], defs[0].Name = "changed", "\x00", "other"
	if resp := call(t, tools[0], Input{Args: []string{"x"}}); resp.Content != "fixed x\n" {
		t.Errorf("got %q", resp.Content)
	}
}

func TestDocs(t *testing.T) {
	work := t.TempDir()
	writeFile(t, filepath.Join(work, "usage.txt"), "\x1b[1musage\x1b[0m: it [-a]\n", 0o644)
	writeFile(t, filepath.Join(work, "long.txt"), strings.Repeat("é", MaxDoc), 0o644)
	writeFile(t, filepath.Join(work, "middle.txt"), strings.Repeat("m", 1100), 0o644)
	writeFile(t, filepath.Join(work, "empty.txt"), "\n", 0o644)
	if err := syscall.Mkfifo(filepath.Join(work, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, doc, want, logged string }{
		{"no Doc", "", "It.", ""},
		{"a Doc is added without colours", "usage.txt", "It.\n\nusage: it [-a]", ""},
		{"an absolute Doc", filepath.Join(work, "usage.txt"), "It.\n\nusage: it [-a]", ""},
		{"an empty Doc adds nothing", "empty.txt", "It.", ""},
		{"a missing Doc is logged", "none.txt", "It.", "tool has no usage text"},
		{"a Doc that is a directory is logged", work, "It.", "tool has no usage text"},
		{"a Doc that would never end is logged", "fifo", "It.", "tool has no usage text"},
		{"a Doc over the limit of providers is logged", "middle.txt", "It.\n\n" + strings.Repeat("m", 1100), "longer than some providers take"},
		{"a very long Doc is cut", "long.txt", "It.\n\n" + strings.Repeat("é", MaxDoc/2) + fmt.Sprintf("\n[… %d bytes omitted …]", MaxDoc), "longer than some providers take"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			core, logs := observer.New(zap.WarnLevel)
			tools, err := LoadTools([]Def{{Name: "it", Description: "It.", Binary: "echo", Doc: tc.doc}}, work, zap.New(core))
			if err != nil {
				t.Fatal(err)
			}
			if got := tools[0].Info().Description; got != tc.want {
				t.Errorf("description %.100q (%d bytes), want %.100q (%d bytes)", got, len(got), tc.want, len(tc.want))
			}
			if tc.logged == "" && logs.Len() != 0 || tc.logged != "" && (logs.Len() != 1 || !strings.Contains(logs.All()[0].Message, tc.logged)) {
				t.Errorf("logged %v, want %q", logs.All(), tc.logged)
			}
		})
	}
}

func TestWhatIsLogged(t *testing.T) {
	const secret = "do-not-log-this"
	t.Setenv("LOGGED_VALUE", secret)
	core, logs := observer.New(zap.DebugLevel)
	tools, err := LoadTools([]Def{{Name: "it", Description: "It.", Binary: "/bin/sh", Env: []string{"SET=" + secret}, Timeout: time.Minute}}, "", zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	call(t, tools[0], Input{Args: []string{"-c", "cat; exit 3"}, Stdin: secret})
	if logs.Len() != 1 {
		t.Fatalf("%d entries: %v", logs.Len(), logs.All())
	}
	entry := logs.All()[0]
	fields := entry.ContextMap()
	if entry.Level != zap.DebugLevel || fields["exit_code"] != int64(3) || fields["stdout_bytes"] != int64(len(secret)) || fields["tool"] != "it" {
		t.Errorf("logged %v %v", entry, fields)
	}
	if s := fmt.Sprint(entry, fields); strings.Contains(s, secret) {
		t.Errorf("the log holds a value of the environment, stdin or the output: %s", s)
	}
}
