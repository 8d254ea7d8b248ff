//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/tool"
)

func readme(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// blocks returns the blocks of the README in a language.
func blocks(t *testing.T, language string) (texts []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(readme(t), -1) {
		texts = append(texts, m[1])
	}
	if len(texts) == 0 {
		t.Fatalf("the README has no block of %s", language)
	}
	return texts
}

func TestTheReadmesConfigurationsAreTaken(t *testing.T) {
	for _, text := range blocks(t, "json") {
		var config struct {
			MCPServers map[string]struct {
				Type, Command, URL string
				Args               []string
				Env, Headers       map[string]string
			}
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&config); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		server := config.MCPServers["fantasytools"]
		if server.URL == "" && server.Command != "/home/you/bin/fantasytools-mcp" || server.URL != "" && !strings.HasSuffix(server.URL, ":8765"+endpoint) {
			t.Errorf("the server is %+v", server)
		}
		if _, err := parseFlags(server.Args); err != nil {
			t.Error(err)
		}
	}
	args := regexp.MustCompile(`(?m)^args = (\[.*\])$`).FindStringSubmatch(blocks(t, "toml")[0])
	var list []string
	if err := json.Unmarshal([]byte(args[1]), &list); err != nil { // such lists are the same in TOML
		t.Fatal(err)
	}
	if _, err := parseFlags(list); err != nil {
		t.Error(err)
	}
}

func TestTheReadmesFlagsExist(t *testing.T) {
	fs := newFlagSet(&options{})
	var named []string
	for _, m := range regexp.MustCompile("`-([a-z-]+)[ `]|fantasytools-mcp -([a-z-]+)").FindAllStringSubmatch(readme(t), -1) {
		named = append(named, m[1]+m[2])
	}
	named = slices.DeleteFunc(named, func(name string) bool { return name == "tags" }) // of go build
	if len(named) < 8 {
		t.Errorf("only %q are named", named)
	}
	for _, name := range named {
		if fs.Lookup(name) == nil {
			t.Errorf("the README names -%s", name)
		}
	}
}

func TestTheReadmeShowsTheAnnotations(t *testing.T) {
	entries, err := toolfile.Read("")
	if err != nil {
		t.Fatal(err)
	}
	var infos []fantasy.ToolInfo
	for _, e := range entries {
		infos = append(infos, fantasy.ToolInfo{Name: e.Name, Parallel: e.Parallel})
	}
	jobs := jobsclient.New(jobsclient.Config{})
	defer func() { _ = jobs.Close() }()
	for _, tool := range slices.Concat(tool.NewJobTools(jobs), pilot.NewTools(nil)) {
		infos = append(infos, tool.Info())
	}
	groups := map[string][]string{}
	for _, info := range infos {
		kind := "destructive"
		a := annotate(info)
		switch {
		case a.ReadOnlyHint:
			kind = "read-only"
		case a.IdempotentHint:
			kind = "destructive, idempotent"
		}
		groups[kind] = append(groups[kind], info.Name)
	}
	var want strings.Builder
	for _, kind := range []string{"read-only", "destructive, idempotent", "destructive"} {
		fmt.Fprintf(&want, "%s:\n%s", kind, wrap(groups[kind]))
	}
	const line = "<!-- The annotations of the tools; a test compares them. -->\n\n```text\n"
	before, rest, found := strings.Cut(readme(t), line)
	got, after, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("the README has no such block")
	}
	if *update {
		got = want.String()
		if err := os.WriteFile("README.md", []byte(before+line+got+"```\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("-want +got (-update writes it):\n%s", diff)
	}
}

func wrap(names []string) string {
	out, line := "", " "
	for _, name := range names {
		if len(line)+1+len(name) > 100 {
			out, line = out+line+"\n", " "
		}
		line += " " + name
	}
	return out + line + "\n"
}

func TestNoProvidersSDKIsInTheBinary(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "charm.land/fantasy\n") {
		t.Fatalf("the packages are\n%s", out)
	}
	for _, sdk := range []string{"anthropic", "openai", "google.golang.org/genai", "github.com/aws", "cloud.google.com", "/fantasy/providers/", "/pilottest", "/jobstest"} {
		if strings.Contains(string(out), sdk) {
			t.Errorf("%s is in the binary", sdk)
		}
	}
}
