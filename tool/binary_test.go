//go:build unix

package tool

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"
)

// soon bounds what should be immediate, on a loaded machine.
const soon = 30 * time.Second

// load makes the tool of one Def whose name and description do not matter.
func load(t testing.TB, d Def) fantasy.AgentTool {
	t.Helper()
	if d.Name == "" {
		d.Name = "it"
	}
	if d.Description == "" {
		d.Description = "Runs a program."
	}
	tools, err := LoadTools([]Def{d}, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tools[0]
}

// input makes the JSON of a call.
func input(t testing.TB, in Input) string {
	t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func callWith(t testing.TB, ctx context.Context, tool fantasy.AgentTool, in Input) (fantasy.ToolResponse, error) {
	t.Helper()
	return tool.Run(ctx, fantasy.ToolCall{ID: "1", Name: tool.Info().Name, Input: input(t, in)})
}

// call runs a tool and checks what holds for every answer.
func call(t testing.TB, tool fantasy.AgentTool, in Input) fantasy.ToolResponse {
	t.Helper()
	began := time.Now()
	resp, err := callWith(t, t.Context(), tool, in)
	if err != nil {
		t.Fatalf("a Go error: %v", err)
	}
	if d := time.Since(began); d > soon {
		t.Errorf("took %v", d)
	}
	checkFit(t, resp)
	return resp
}

func checkFit(t testing.TB, resp fantasy.ToolResponse) {
	t.Helper()
	if resp.Type == "text" && strings.TrimSpace(resp.Content) == "" {
		t.Error("a blank answer")
	}
	if !utf8.ValidString(resp.Content) || strings.ContainsAny(resp.Content, "\x00\x1b\r") {
		t.Errorf("an answer that is not fit for a model: %.200q", resp.Content)
	}
	again, err := json.Marshal(resp.Content)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(again, &back); err != nil || back != resp.Content {
		t.Errorf("JSON changes the answer: %v", err)
	}
}

func result(t testing.TB, resp fantasy.ToolResponse) Result {
	t.Helper()
	var r Result
	if err := json.Unmarshal([]byte(resp.Metadata), &r); err != nil {
		t.Fatalf("metadata %q: %v", resp.Metadata, err)
	}
	return r
}

func script(text string) Input { return Input{Args: []string{"-c", text}} }

func TestWhatTheModelReads(t *testing.T) {
	for _, tc := range []struct {
		name    string
		in      Input
		want    string
		isError bool
	}{
		{"stdout of a success", script("echo out; echo err >&2"), "out\n", false},
		{"stderr of a success that printed nothing else", script("echo progress >&2"), "stderr:\nprogress\n", false},
		{"a success without output", script("true"), "(exit 0, no output)", false},
		{"a success with blank output", script("echo; echo '  '"), "(exit 0, no output)", false},
		{"a failure without output", script("exit 1"), "exit code 1, no output", true},
		{"both streams of a failure", script("echo partial; echo reason >&2; exit 3"), "exit code 3\n\nstdout:\npartial\n\nstderr:\nreason\n", true},
		{"one stream of a failure", script("printf reason >&2; exit 255"), "exit code 255\n\nstderr:\nreason", true},
		{"the signal that ended the program", script("echo x; kill -9 $$"), "killed by signal SIGKILL\n\nstdout:\nx\n", true},
		{"invalid UTF-8 on stdout", script(`printf 'ok \377\376 end'`), "ok \uFFFD\uFFFD end", false},
		{"invalid UTF-8 on stderr", script(`printf 'ok \377\376 end' >&2; exit 1`), "exit code 1\n\nstderr:\nok \uFFFD\uFFFD end", true},
		{"output without colours, titles and redraws", script(`printf '\033[31mred \033[0m\033]0;title\007x\n10%%\r20%%\r100%%\n'`), "red x\n100%\n", false},
		{"UTF-16 text", script(`printf '\377\376h\000i\000'`), "\uFFFD\uFFFDhi", false},
		{"a leftover background child is no failure", script("sleep 300 & echo hi"), "hi\n", false},
		{"stdin", Input{Args: []string{"-c", "cat"}, Stdin: "from the model"}, "from the model", false},
		{"stdin alone", Input{Stdin: "echo script on stdin"}, "script on stdin\n", false},
		{"no stdin is an empty one", script("cat; echo end"), "end\n", false},
		{"binary output is announced", script(`printf 'PK\003\004\000\001'`), "(6 bytes of application/zip, which is not shown; write it to a file, or convert it to text)", false},
		{"zeros are announced", script(`head -c 1000 /dev/zero`), "(1000 bytes of application/octet-stream, which is not shown; write it to a file, or convert it to text)", false},
		{"text that begins like a bitmap", script("echo BMW is a maker of cars"), "BMW is a maker of cars\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := call(t, load(t, Def{Binary: "/bin/sh"}), tc.in)
			if diff := cmp.Diff(tc.want, resp.Content); diff != "" || resp.IsError != tc.isError {
				t.Errorf("IsError %v (-want +got):\n%s", resp.IsError, diff)
			}
		})
	}
}

func TestStdinThatIsNotReadIsNoFailure(t *testing.T) {
	stdin := strings.Repeat("a", 4<<20)
	if resp := call(t, load(t, Def{Binary: "true"}), Input{Stdin: stdin}); resp.IsError {
		t.Errorf("true: %q", resp.Content)
	}
	resp := call(t, load(t, Def{Binary: "false"}), Input{Stdin: stdin})
	if want := "exit code 1, no output"; !resp.IsError || resp.Content != want {
		t.Errorf("false: %q, want %q", resp.Content, want)
	}
}

func TestALargeStdinComesBack(t *testing.T) {
	stdin := strings.Repeat("0123456789abcde\n", 1<<20/16)
	tool := load(t, Def{Binary: "cat", MaxOutput: 1 << 20})
	if resp := call(t, tool, Input{Stdin: stdin}); resp.Content != stdin {
		t.Errorf("%d bytes came back", len(resp.Content))
	}
	resp := call(t, load(t, Def{Binary: "cat"}), Input{Stdin: stdin})
	if !strings.Contains(resp.Content, "[… 1015808 bytes omitted …]") {
		t.Errorf("no true notice in %.100q", resp.Content)
	}
}

func TestTheCutIsAnnouncedAndKeepsHeadAndTail(t *testing.T) {
	var all strings.Builder
	for i := 1; i <= 300000; i++ {
		all.WriteString(strconv.Itoa(i))
		all.WriteByte('\n')
	}
	resp := call(t, load(t, Def{Binary: "seq"}), Input{Args: []string{"1", "300000"}})
	head, rest, ok := strings.Cut(resp.Content, "\n[… ")
	count, tail, ok2 := strings.Cut(rest, " bytes omitted …]\n")
	missing, err := strconv.Atoi(count)
	if !ok || !ok2 || err != nil {
		t.Fatalf("no notice in %.200q", resp.Content)
	}
	if len(head)+len(tail) > DefaultMaxOutput || len(head)+len(tail)+missing != all.Len() {
		t.Errorf("%d + %d + %d bytes of %d", len(head), missing, len(tail), all.Len())
	}
	if !strings.HasPrefix(all.String(), head) || !strings.HasSuffix(all.String(), tail) {
		t.Error("head or tail is not the stream's")
	}
	if r := result(t, resp); r.StdoutBytes != int64(all.Len()) {
		t.Errorf("metadata say %d bytes", r.StdoutBytes)
	}
}

func TestALongDocumentIsNeverShortenedSilently(t *testing.T) {
	doc := `{"items":["` + strings.Repeat("x", 500_000) + `"]}`
	resp := call(t, load(t, Def{Binary: "cat"}), Input{Stdin: doc})
	if !strings.Contains(resp.Content, "bytes omitted …]") || len(resp.Content) > DefaultMaxOutput+100 {
		t.Errorf("%d bytes without a notice", len(resp.Content))
	}
}

func TestOnFailureTheStreamsShareTheLimit(t *testing.T) {
	tool := load(t, Def{Binary: "/bin/sh", MaxOutput: 1000})
	for _, tc := range []struct {
		name, script   string
		stdout, stderr int // bytes shown
	}{
		{"what a short stderr does not need stdout gets", "yes | head -c 5000; printf 0123456789 >&2; exit 1", 990, 10},
		{"what a short stdout does not need stderr gets", "printf 0123456789; yes | head -c 5000 >&2; exit 1", 10, 990},
		{"two long streams get half each", "yes | head -c 5000; yes | head -c 5000 >&2; exit 1", 500, 500},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := call(t, tool, script(tc.script))
			out, err, _ := strings.Cut(resp.Content, "\nstderr:\n")
			_, out, _ = strings.Cut(out, "\nstdout:\n")
			if got := shownBytes(out); got != tc.stdout {
				t.Errorf("%d bytes of stdout, want %d", got, tc.stdout)
			}
			if got := shownBytes(err); got != tc.stderr {
				t.Errorf("%d bytes of stderr, want %d", got, tc.stderr)
			}
		})
	}
}

func TestASmallLimitCutsOutputAndNothingElse(t *testing.T) {
	tool := load(t, Def{Binary: "/bin/sh", MaxOutput: 4})
	const zeros = "(1000 bytes of application/octet-stream, which is not shown; write it to a file, or convert it to text)"
	for _, tc := range []struct {
		name string
		in   Input
		want string
	}{
		{"text", script("printf 123456"), "12\n[… 2 bytes omitted …]\n56"},
		{"what is announced", script("head -c 1000 /dev/zero"), zeros},
		{"what is announced beside text", script("head -c 1000 /dev/zero; printf 123456 >&2; exit 3"), "exit code 3\n\nstdout:\n" + zeros + "\n\nstderr:\n12\n[… 2 bytes omitted …]\n56"},
		{"why nothing was run", Input{Args: []string{strings.Repeat("a", 131072)}}, "one argument is 131072 bytes long, over the system's limit of 131071; pass long text in stdin instead"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, call(t, tool, tc.in).Content); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// shownBytes counts the bytes of a section without the notice of a cut.
func shownBytes(section string) int {
	head, rest, cut := strings.Cut(section, "\n[… ")
	if !cut {
		return len(strings.TrimSuffix(section, "\n"))
	}
	_, tail, _ := strings.Cut(rest, "…]\n")
	return len(head) + len(tail)
}

func TestImages(t *testing.T) {
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	padded := func(n int) []byte {
		return append(small.Bytes(), bytes.Repeat([]byte{7}, n-small.Len())...)
	}
	tool := load(t, Def{Binary: "base64", Args: []string{"-d"}})
	for _, tc := range []struct {
		name string
		data []byte
		want string // "": an image
	}{
		{"a small image", small.Bytes(), ""},
		{"an image larger than the text limit", padded(DefaultMaxOutput * 3), ""},
		{"an image of the largest size", padded(MaxImage), ""},
		{"a larger image is announced", padded(MaxImage + 1), "(4194305 bytes of image/png, which is not shown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := call(t, tool, Input{Stdin: base64.StdEncoding.EncodeToString(tc.data)})
			if tc.want != "" {
				if resp.Type != "text" || !strings.HasPrefix(resp.Content, tc.want) {
					t.Errorf("got %s %q", resp.Type, resp.Content)
				}
				return
			}
			if resp.Type != "image" || resp.MediaType != "image/png" || !bytes.Equal(resp.Data, tc.data) {
				t.Errorf("got %s %s of %d bytes, want the image of %d", resp.Type, resp.MediaType, len(resp.Data), len(tc.data))
			}
			if r := result(t, resp); r.MediaType != "image/png" {
				t.Errorf("metadata %+v", r)
			}
		})
	}
}

func TestATimeoutSaysSoAndKeepsTheOutput(t *testing.T) {
	tool := load(t, Def{Binary: "/bin/sh", Timeout: time.Second})
	resp := call(t, tool, script("echo partial; sleep 60"))
	if want := "timed out after 1s and was stopped\n\nstdout:\npartial\n"; !resp.IsError || resp.Content != want {
		t.Errorf("got %q, want %q", resp.Content, want)
	}
	if r := result(t, resp); !r.TimedOut || r.Cancelled || r.Signal != "SIGTERM" || r.ExitCode != -1 {
		t.Errorf("metadata %+v", r)
	}
}

func TestATimeoutAlsoEndsAProgramThatIgnoresTheSignal(t *testing.T) {
	tool := load(t, Def{Binary: "/bin/sh", Timeout: 200 * time.Millisecond})
	resp := call(t, tool, script("trap '' TERM INT; while :; do sleep 1; done"))
	if r := result(t, resp); !r.TimedOut || r.Signal != "SIGKILL" {
		t.Errorf("metadata %+v", r)
	}
}

func TestACancelledCallIsNotCalledATimeout(t *testing.T) {
	dir := t.TempDir()
	tools, err := LoadTools([]Def{{Name: "sh", Description: "A shell.", Binary: "/bin/sh"}}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		awaitFile(filepath.Join(dir, "started"))
	}()
	resp, err := callWith(t, ctx, tools[0], script("echo partial; touch started; sleep 300"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	if !strings.HasPrefix(resp.Content, "cancelled after ") || strings.Contains(resp.Content, "timed out") || !strings.Contains(resp.Content, "partial") {
		t.Errorf("got %q", resp.Content)
	}
	if r := result(t, resp); !r.Cancelled || r.TimedOut {
		t.Errorf("metadata %+v", r)
	}
}

func awaitFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAnEndedContextRunsNothing(t *testing.T) {
	dir := t.TempDir()
	tools, err := LoadTools([]Def{{Name: "sh", Description: "A shell.", Binary: "/bin/sh"}}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := callWith(t, ctx, tools[0], script("touch made")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("the program ran")
	}
}

func TestWhatCannotBeStartedIsAnErrorAnswer(t *testing.T) {
	newTool := func(t *testing.T) (tool fantasy.AgentTool, dir string) {
		dir = t.TempDir()
		program := filepath.Join(dir, "program")
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho fine\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		work := filepath.Join(dir, "work")
		if err := os.Mkdir(work, 0o755); err != nil {
			t.Fatal(err)
		}
		tools, err := LoadTools([]Def{{Name: "p", Description: "A program.", Binary: program}}, work, nil)
		if err != nil {
			t.Fatal(err)
		}
		return tools[0], dir
	}
	for _, tc := range []struct {
		name        string
		undo, again func(dir string) error
		arg, want   string
	}{
		{
			"a binary that was deleted", func(dir string) error { return os.Remove(filepath.Join(dir, "program")) },
			nil, "x", "the program %s/program does not exist any more",
		},
		{
			"a working directory that has gone away", func(dir string) error { return os.Remove(filepath.Join(dir, "work")) },
			func(dir string) error { return os.Mkdir(filepath.Join(dir, "work"), 0o755) },
			"x", "the working directory %s/work does not exist",
		},
		{
			"a binary whose interpreter is missing", func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "program"), []byte("#!/no/such\n"), 0o755)
			}, nil, "x", "its interpreter /no/such",
		},
		{"an argument over the system's limit", nil, nil, strings.Repeat("a", 131072), "pass long text in stdin instead"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tool, dir := newTool(t)
			if tc.undo != nil {
				if err := tc.undo(dir); err != nil {
					t.Fatal(err)
				}
			}
			want := tc.want
			if strings.Contains(want, "%s") {
				want = fmt.Sprintf(want, dir)
			}
			resp := call(t, tool, Input{Args: []string{tc.arg}})
			if !resp.IsError || !strings.Contains(resp.Content, want) {
				t.Errorf("got %q, want it to contain %q", resp.Content, want)
			}
			if strings.Contains(resp.Content, "fork/exec") {
				t.Errorf("%q speaks of system calls", resp.Content)
			}
			if tc.again == nil {
				return
			}
			if err := tc.again(dir); err != nil {
				t.Fatal(err)
			}
			if resp := call(t, tool, Input{Args: []string{tc.arg}}); resp.Content != "fine\n" {
				t.Errorf("once it is back: %q", resp.Content)
			}
		})
	}
}

// printArgv prints what the program was given as JSON.
func printArgv() {
	b, err := json.Marshal(os.Args[1:])
	if err != nil {
		panic(err)
	}
	fmt.Println(string(b))
}

func TestEachArgumentArrivesAsItIs(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--x=1", "-", "--", "a b", "$HOME", "*", ";", `"`, `'`, "", "\\", "a\nb", "漢字", "\xff", strings.Repeat("a", 131071)}
	tool := load(t, Def{Binary: self, Args: []string{"fixed one", ""}, Env: []string{childVar + "=argv"}, MaxOutput: 1 << 20})
	resp := call(t, tool, Input{Args: args[:len(args)-2]})
	var got []string
	if err := json.Unmarshal([]byte(resp.Content), &got); err != nil {
		t.Fatalf("%v in %q", err, resp.Content)
	}
	want := append([]string{"fixed one", ""}, args[:len(args)-2]...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	resp = call(t, tool, Input{Args: args[len(args)-1:]})
	if !strings.Contains(resp.Content, args[len(args)-1]) {
		t.Errorf("the longest argument did not arrive: %.100q", resp.Content)
	}
}

func TestAProgramCallsItselfAsItsDefDoes(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for binary, want := range map[string]string{"sh": "sh\n", sh: sh + "\n"} {
		if resp := call(t, load(t, Def{Binary: binary}), script("echo $0")); resp.Content != want {
			t.Errorf("%s is called %q, want %q", binary, resp.Content, want)
		}
	}
}

func TestToolsAreSafeForConcurrentUse(t *testing.T) {
	tool := load(t, Def{Binary: "echo", Args: []string{"a"}})
	done := make(chan string)
	for i := range 8 {
		go func() {
			var wrong string
			for j := range 5 {
				info := tool.Info()
				info.Parameters["added"] = i
				for k := range info.Parameters {
					delete(info.Parameters, k)
				}
				want := fmt.Sprintf("a %d %d\n", i, j)
				resp, err := tool.Run(context.Background(), fantasy.ToolCall{Input: fmt.Sprintf(`{"args":["%d","%d"]}`, i, j)})
				if err != nil || resp.Content != want {
					wrong = fmt.Sprintf("got %q, %v, want %q", resp.Content, err, want)
				}
			}
			done <- wrong
		}()
	}
	for range 8 {
		if wrong := <-done; wrong != "" {
			t.Error(wrong)
		}
	}
	if info := tool.Info(); info.Parameters["args"] == nil || info.Parameters["added"] != nil {
		t.Errorf("a caller changed the tool: %v", info.Parameters)
	}
}
