//go:build unix

package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/scripted"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
	"github.com/fantasytools/fantasytools/tool"
)

// pixel is a PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestCallPrintsWhatAModelReads(t *testing.T) {
	home := machine(t, "sh", "cat")
	writeFile(t, filepath.Join(home, "my.yaml"), "tools: [{name: sh, description: A shell., binary: sh}, {name: cat, description: Prints., binary: cat}]")
	for _, tc := range []struct {
		name   string
		args   []string
		stdin  string
		stdout string
		stderr string // a part
		status int
	}{
		{"a text", []string{"sh", `{"args":["-c","printf 'a\\n\\nb'"]}`}, "", "a\n\nb\n", `"exit_code":0`, exitOK},
		{"a text with its last line ended", []string{"sh", `{"args":["-c","echo a"]}`}, "", "a\n", "duration: ", exitOK},
		{"a failure", []string{"sh", `{"args":["-c","echo no >&2; exit 3"]}`}, "", "exit code 3\n\nstderr:\nno\n", `"exit_code":3`, exitFailed},
		{"an input from standard input", []string{"cat", "-"}, `{"stdin":"<ä & b>"}`, "<ä & b>\n", "duration: ", exitOK},
		{"an input that is accepted because it is clear", []string{"sh", `{"args":"[\"-c\",\"echo a\"]"}`}, "", "a\n", "duration: ", exitOK},
		{"JSON that breaks off", []string{"sh", `{"args":["-c","rm -rf /tmp/x`}, "", "invalid JSON input: unexpected end of JSON input\n", "the tool was not run", exitFailed},
		{"no JSON", []string{"sh", "ls"}, "", "invalid JSON input: invalid character 'l' looking for beginning of value\n", "the tool was not run", exitFailed},
		{"an unknown key", []string{"sh", `{"arg":["-c"]}`}, "", "Nothing was run: the input has the unknown key \"arg\"; the keys are \"args\", \"stdin\".\n", "duration: ", exitFailed},
		{"no input", []string{"sh"}, "", "Nothing was run: provide args, stdin, or both.\n", "duration: ", exitFailed},
		{"an empty input", []string{"sh", "-"}, "", "Nothing was run: provide args, stdin, or both.\n", "duration: ", exitFailed},
		{"an image", []string{"sh", `{"args":["-c","cat pixel.png"]}`}, "", "(image/png, 70 bytes; -o FILE writes it)\n", `"media_type":"image/png"`, exitOK},
	} {
		t.Run(tc.name, func(t *testing.T) {
			png, err := base64.StdEncoding.DecodeString(pixel)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, "pixel.png", string(png))
			o := toolbox(t, tc.stdin, append([]string{"call", "-tools", "my.yaml"}, tc.args...)...)
			if o.stdout != tc.stdout {
				t.Errorf("stdout %q, want %q", o.stdout, tc.stdout)
			}
			if o.status != tc.status || !strings.Contains(o.stderr, tc.stderr) {
				t.Errorf("status %d, stderr %q; want %q", o.status, o.stderr, tc.stderr)
			}
			j := toolbox(t, tc.stdin, append([]string{"call", "-json", "-tools", "my.yaml"}, tc.args...)...)
			r := decode[result](t, j)
			if j.status != tc.status || j.stderr != "" || r.IsError != (tc.status != exitOK) || r.Tool != tc.args[0] {
				t.Errorf("with -json: status %d, stderr %q, %+v", j.status, j.stderr, r)
			}
			if r.Type == "text" && strings.TrimSuffix(r.Text, "\n") != strings.TrimSuffix(o.stdout, "\n") {
				t.Errorf("with -json the text is %q", r.Text)
			}
			if r.Type == "image" && string(r.Data) != string(png) {
				t.Errorf("with -json the image is %q", r.Data)
			}
		})
	}
}

// What call does with an input is what an agent does, also with inputs that no
// model should send.
func TestACallEndsAsTheCallOfAModelDoes(t *testing.T) {
	machine(t, "sh")
	tools, err := tool.LoadTools([]tool.Def{{Name: "sh", Description: "A shell.", Binary: "sh"}}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{
		`{"args":["-c","echo a"]}`, `{"args":["-c","exit 4"]}`, "", "null", " ", "[]", "7", `"x"`, "{", "{}", `{"args":null}`, `{"args":["-c"]`, `{"args":[]}{}`,
		`{"args":["-c","echo a"],"args":[]}`, `{"args":["a\u0000b"]}`, "{\"stdin\":\"\xff\"}", `{"stdin":"echo b","Args":[]}`, `{"args":[["-c"]]}`, `{"args":[1,true,null]}`,
	} {
		o := toolbox(t, input, "call", "sh", "-", "-json")
		got := decode[result](t, o)
		text, isError := asModel(t, tools, input)
		if got.Text != text || got.IsError != isError {
			t.Errorf("%q: got %q, %v; a model reads %q, %v", input, got.Text, got.IsError, text, isError)
		}
	}
}

func asModel(t *testing.T, tools []fantasy.AgentTool, input string) (text string, isError bool) {
	t.Helper()
	model := &scripted.Model{Turns: []scripted.Turn{{Calls: []scripted.Call{{Tool: "sh", Input: input}}}, {Text: "Done."}}}
	agent := fantasy.NewAgent(model, fantasy.WithTools(tools...), fantasy.WithRepairToolCall(tool.RepairToolCall))
	if _, err := agent.Generate(t.Context(), fantasy.AgentCall{Prompt: "Go."}); err != nil {
		t.Fatal(err)
	}
	prompt := model.Requests()[1].Prompt
	part, ok := fantasy.AsMessagePart[fantasy.ToolResultPart](prompt[len(prompt)-1].Content[0])
	if !ok {
		t.Fatalf("%+v", prompt)
	}
	if failed, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentError](part.Output); ok {
		return failed.Error.Error(), true
	}
	answer, _ := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentText](part.Output)
	return answer.Text, false
}

func TestAnUnknownToolIsAnsweredWithNamesLikeIt(t *testing.T) {
	machine(t, "sh", "grep")
	o := toolbox(t, "", "call", "egrep", "{}", "-json")
	e := decode[errorReport](t, o).Error
	if o.status != exitUsage || e.Status != exitUsage || len(e.Near) != 1 || e.Near[0] != "grep" {
		t.Errorf("%+v", o)
	}
	o = toolbox(t, "", "call", "pilot_send", "{}")
	if o.status != exitUsage || o.stdout != "" || !strings.Contains(o.stderr, "pilotctl is not installed") {
		t.Errorf("it is not said why there is no such tool: %+v", o)
	}
}

func TestAnInputOverTheBoundIsRefused(t *testing.T) {
	machine(t, "sh")
	fits := `{"stdin":"` + strings.Repeat(" ", maxInput-12) + `"}`
	if o := toolbox(t, fits, "call", "sh", "-"); o.status != exitOK {
		t.Errorf("%d bytes: %+v", len(fits), o)
	}
	if o := toolbox(t, fits+" ", "call", "sh", "-"); o.status != exitUsage || !strings.Contains(o.stderr, "longer than 8388608 bytes; nothing was run") {
		t.Errorf("%d bytes: %+v", len(fits)+1, o)
	}
}

func TestTheResultIsWrittenToAFile(t *testing.T) {
	home := machine(t, "sh", "cat")
	png, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, "pixel.png"), string(png))
	old := writeFile(t, filepath.Join(home, "old"), strings.Repeat("old ", 100))
	image := `{"args":["-c","cat pixel.png"]}`
	for _, tc := range []struct {
		name, path, input string
		want              string // of the file; "-" for none
		stdout            string
		status            int
	}{
		{"an image", "new", image, string(png), "(image/png, 70 bytes; written to new)\n", exitOK},
		{"a text", "text", `{"args":["-c","printf 12"]}`, "12", "(text, 2 bytes; written to text)\n", exitOK},
		{"a file that was longer", old, `{"args":["-c","printf 12"]}`, "12", "(text, 2 bytes; written to " + old + ")\n", exitOK},
		{"an error result", "failed", `{"args":["-c","exit 3"]}`, "-", "exit code 3, no output\n", exitFailed},
		{"a directory that is not there", "none/x", `{"args":["-c","echo > ran"]}`, "-", "", exitUsage},
		{"a device", "/dev/null", `{"args":["-c","printf 12"]}`, "", "(text, 2 bytes; written to /dev/null)\n", exitOK},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := toolbox(t, "", "call", "-o", tc.path, "sh", tc.input)
			if o.status != tc.status || o.stdout != tc.stdout {
				t.Errorf("%+v", o)
			}
			got, err := os.ReadFile(tc.path)
			if tc.want == "-" && !os.IsNotExist(err) || tc.want != "-" && (err != nil || string(got) != tc.want) {
				t.Errorf("the file holds %q, %v", got, err)
			}
		})
	}
	if _, err := os.Stat("ran"); err == nil {
		t.Error("a tool was run whose result could not be kept")
	}
	o := toolbox(t, "", "call", "-o", "json", "-json", "sh", image)
	if r := decode[result](t, o); r.File != "json" || r.Data != nil || r.Bytes != len(png) {
		t.Errorf("with -json: %+v", r)
	}
}

func TestAResultThatCannotBeWrittenIsShownAsTheOneValue(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full on this system")
	}
	machine(t, "sh")
	o := toolbox(t, "", "call", "-o", "/dev/full", "-json", "sh", `{"args":["-c","printf 12"]}`)
	if r := decode[result](t, o); o.status != exitFailed || r.Text != "12" || r.File != "" || !strings.Contains(o.stderr, "no space left") {
		t.Errorf("%+v", o)
	}
}

func TestCallReachesTheDaemonOfTheEnvironment(t *testing.T) {
	machine(t, "sh")
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"report": jobstest.Prints("42 rows\n", 0)}})
	d.Setenv(t)
	submitted := decode[result](t, toolbox(t, "", "call", "job_submit", `{"bin":"report"}`, "-json"))
	o := toolbox(t, submitted.Text, "call", "job_wait", "-")
	if o.status != exitOK || !strings.Contains(o.stdout, `"stdout":"42 rows\n"`) || !strings.Contains(o.stderr, `"status":"done"`) {
		t.Errorf("%+v", o)
	}
	if o := toolbox(t, "", "call", "job_wait", `{}`); o.status != exitFailed || o.stdout != "missing required parameter: job_id\n" {
		t.Errorf("%+v", o)
	}
}

func TestMetadataThatIsNoJSONIsLeftOut(t *testing.T) {
	r := newResult(fantasy.ToolResultContent{ToolName: "x", ClientMetadata: "{", Result: fantasy.ToolResultOutputContentText{Text: "a"}})
	if _, err := json.Marshal(r); err != nil || r.Metadata != nil || r.Text != "a" {
		t.Errorf("%+v, %v", r, err)
	}
}
