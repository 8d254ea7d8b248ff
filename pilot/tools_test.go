package pilot

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"charm.land/fantasy"
	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// wanted is each tool in its place with its arguments, the required ones
// marked with a star.
var wanted = []string{
	"pilot_search keyword* limit", "pilot_help agent*", "pilot_query agent* filters", "pilot_summary agent* question",
	"pilot_send peer* message* wait_seconds", "pilot_send_file peer* path*", "pilot_inbox limit", "pilot_received clear",
	"pilot_trust_check target*", "pilot_handshake target* reason", "pilot_approve target*", "pilot_reject target* reason",
	"pilot_untrust target*", "pilot_pending", "pilot_find hostname*", "pilot_lookup target*", "pilot_peers",
	"pilot_ping target* count timeout_seconds", "pilot_broadcast network_id* message*", "pilot_publish peer* topic* message*",
	"pilot_subscribe peer* topic* count timeout_seconds",
}

func TestTheToolsHaveTheirNamesOrderArgumentsAndRequiredLists(t *testing.T) {
	t.Parallel()
	var got []string
	for _, tool := range NewTools(nil) {
		info := tool.Info()
		words := []string{info.Name}
		for _, arg := range sortedLike(wanted, info) {
			if slices.Contains(info.Required, arg) {
				arg += "*"
			}
			words = append(words, arg)
		}
		got = append(got, strings.Join(words, " "))
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// sortedLike gives the arguments of a tool in the order in which they are
// wanted; a schema has none.
func sortedLike(wanted []string, info fantasy.ToolInfo) []string {
	args := slices.Sorted(maps.Keys(info.Parameters))
	for _, line := range wanted {
		words := strings.Fields(strings.ReplaceAll(line, "*", ""))
		if words[0] == info.Name {
			slices.SortStableFunc(args, func(a, b string) int { return slices.Index(words, a) - slices.Index(words, b) })
		}
	}
	return args
}

func TestTheSchemasAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, tool := range NewTools(nil) {
		raw, err := json.MarshalIndent(tool.Info(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
		b.WriteString("\n")
	}
	golden(t, "schemas.json", b.String())
}

func TestEveryDescriptionSaysWhenAndWhenNotWithin1024Characters(t *testing.T) {
	t.Parallel()
	for _, tool := range NewTools(nil) {
		info := tool.Info()
		if n := len(info.Description); n > 1024 {
			t.Errorf("%s: %d bytes", info.Name, n)
		}
		for _, part := range []string{"Use it ", "Not "} {
			if !strings.Contains(info.Description, part) {
				t.Errorf("%s does not say %q", info.Name, part)
			}
		}
		for name, p := range info.Parameters {
			if d, _ := p.(map[string]any)["description"].(string); len(d) < 20 {
				t.Errorf("%s: parameter %s has the description %q", info.Name, name, d)
			}
		}
	}
}

func TestDefaultsAndRangesAreToldAndChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tool, arg, says, input, answer string }{
		{"pilot_search", "limit", "10", `{"keyword":"x","limit":101}`, "100"},
		{"pilot_search", "limit", "100", `{"keyword":"x","limit":0}`, "1"},
		{"pilot_send", "wait_seconds", "30", `{"peer":"p","message":"m","wait_seconds":601}`, "600"},
		{"pilot_send", "wait_seconds", "600", `{"peer":"p","message":"m","wait_seconds":-1}`, "0"},
		{"pilot_inbox", "limit", "10", `{"limit":101}`, "100"},
		{"pilot_ping", "count", "20", `{"target":"p","count":21}`, "20"},
		{"pilot_ping", "timeout_seconds", "120", `{"target":"p","timeout_seconds":0}`, "1"},
		{"pilot_subscribe", "count", "100", `{"peer":"p","topic":"t","count":0}`, "1"},
		{"pilot_subscribe", "timeout_seconds", "60", `{"peer":"p","topic":"t","timeout_seconds":601}`, "600"},
		{"pilot_send", "wait_seconds", "600", `{"peer":"p","message":"m","wait_seconds":"30s"}`, "wait_seconds"},
		{"pilot_send", "wait_seconds", "600", `{"peer":"p","message":"m","wait_seconds":0.5}`, "wait_seconds"},
		{"pilot_ping", "timeout_seconds", "120", `{"target":"p","timeout_seconds":1e12}`, "120"},
		{"pilot_ping", "timeout_seconds", "120", `{"target":"p","timeout_seconds":"1m"}`, "timeout_seconds"},
		{"pilot_subscribe", "timeout_seconds", "600", `{"peer":"p","topic":"t","timeout_seconds":-1}`, "1"},
		{"pilot_subscribe", "timeout_seconds", "600", `{"peer":"p","topic":"t","timeout_seconds":1e99}`, "600"},
		{"pilot_received", "clear", "false", `{"clear":"perhaps"}`, "clear"},
	} {
		tool := toolNamed(&Client{Binary: "/nowhere/pilotctl"}, tt.tool)
		description := fmt.Sprint(tool.Info().Parameters[tt.arg])
		if !strings.Contains(description, tt.says) {
			t.Errorf("%s: %s does not say %s: %s", tt.tool, tt.arg, tt.says, description)
		}
		r, err := tool.Run(t.Context(), fantasy.ToolCall{Name: tt.tool, Input: tt.input})
		if err != nil || !r.IsError || !strings.Contains(r.Content, tt.answer) || strings.Contains(r.Content, "installed") {
			t.Errorf("%s %s: %v %s", tt.tool, tt.input, err, r.Content)
		}
	}
}

// TestOddInputIsAnsweredInPlainWordsAndRunsNothing has what models send when
// they go wrong.
func TestOddInputIsAnsweredInPlainWordsAndRunsNothing(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	inputs := []string{
		`{`, `[]`, `"x"`, `true`, "\xff", `{"a":1}{"b":2}`, "\u007b'target':'x'}", `{"no_such_argument":1}`, `{"limit":1e99}`, `{"count":1.5}`, `{"clear":[true]}`,
		`{"peer":{},"target":{},"agent":{},"hostname":{},"keyword":{},"message":{},"topic":{},"path":{},"network_id":{}}`,
	}
	for _, tool := range NewTools(s.client) {
		info := tool.Info()
		odd := slices.Clone(inputs)
		if len(info.Required) > 0 {
			odd = append(odd, ``, `null`, `{}`, objectOf(info, nil), objectOf(info, ""), objectOf(info, "a\x00b"), objectOf(info, strings.Repeat("-é\u202e", 40_000)))
		}
		if len(info.Required) > 0 && info.Name != "pilot_search" { // which may look for it
			odd = append(odd, objectOf(info, "-x"))
		}
		for _, input := range odd {
			r := s.run(info.Name, input)
			m := metadata(t, r)
			if !r.IsError || m.Code != "invalid_argument" || m.Runs != 0 || "pilot_"+m.Verb != info.Name || goWords.MatchString(r.Content) || len(r.Content) > 2<<10 {
				t.Errorf("%s %.80s: %.300s %s", info.Name, input, r.Content, r.Metadata)
			}
		}
	}
	if calls := s.Calls(); len(calls) > 0 {
		t.Errorf("pilotctl was run: %q", calls[0].Argv)
	}
}

// objectOf is the input with every required argument at the same value.
func objectOf(info fantasy.ToolInfo, value any) string {
	object := map[string]any{}
	for _, arg := range info.Required {
		object[arg] = value
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// TestADeletionIsNeverCalledARead gives the same input to the tool and to
// Effects.
func TestADeletionIsNeverCalledARead(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	deleted := 0
	for _, input := range []string{
		`{"clear":true}`, `{"clear":"true"}`, `{"clear":"TRUE"}`, `{"clear":"yes"}`, `{"clear":1}`, `{"clear":"1"}`, `{"Clear":true}`, `{"CLEAR":"true","clear":false}`, `{"cle\u0061r":true}`,
		`{"clear":false,"clear":true}`, `{"clear":true,"clear":false}`, `{"clear ":true}`, `{"args":{"clear":true}}`, `"{\"clear\":true}"`, `{"input":"{\"clear\":true}"}`, `[{"clear":true}]`, `{"clear":[true]}`,
		`{"clear":true} {"clear":false}`, "\ufeff{\"clear\":true}", `{"clear":true,}`, "```json\n{\"clear\":true}\n```", `{'clear':true}`, `clear=true`, `true`, "\u00a0", `{"clear":true`,
	} {
		s.DeliverFile("me", "a.txt", []byte("a"))
		call := fantasy.ToolCall{Name: "pilot_received", Input: input}
		if s.run(call.Name, input); len(s.Received("me")) > 0 {
			continue
		}
		if deleted++; Effects(call) != EffectDelete {
			t.Errorf("%s deletes and is called %q", input, Effects(call))
		}
	}
	if deleted < 2 {
		t.Errorf("only %d of them delete", deleted)
	}
}

func TestEffectsTellsReadingFromSendingTrustingAndDeleting(t *testing.T) {
	t.Parallel()
	want := map[Effect]string{
		EffectRead:   "search help query summary inbox received trust_check pending find lookup peers ping subscribe",
		EffectSend:   "send send_file broadcast publish",
		EffectTrust:  "handshake approve reject untrust",
		EffectDelete: "",
	}
	got := map[Effect]string{EffectDelete: ""}
	for _, tool := range NewTools(nil) {
		name := tool.Info().Name
		effect := Effects(fantasy.ToolCall{Name: name})
		got[effect] = strings.TrimSpace(got[effect] + " " + strings.TrimPrefix(name, "pilot_"))
		if parallel := tool.Info().Parallel; parallel && effect != EffectRead {
			t.Errorf("%s may run beside others and is %s", name, effect)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for input, effect := range map[string]Effect{
		``: EffectRead, `{}`: EffectRead, `{"clear":false}`: EffectRead, `{"clear":null}`: EffectRead,
		`{"clear":true}`: EffectDelete, `{"clear":"true"}`: EffectDelete, `{"clear":1}`: EffectDelete, `{"clear":"false"}`: EffectDelete, `{broken`: EffectDelete,
	} {
		if got := Effects(fantasy.ToolCall{Name: "pilot_received", Input: input}); got != effect {
			t.Errorf("received %s is %q", input, got)
		}
	}
	if got := Effects(fantasy.ToolCall{Name: "rm"}); got != EffectUnknown {
		t.Errorf("another tool is %q", got)
	}
}

func TestBuildToolsIsNilWherePilotctlIsNotInstalled(t *testing.T) {
	withoutPilotctl(t)
	if tools := BuildTools(); tools != nil {
		t.Errorf("%d tools", len(tools))
	}
	t.Setenv(EnvBinary, fakePilotctl(t))
	if tools := BuildTools(); len(tools) != 21 {
		t.Errorf("%d tools with $PILOTCTL", len(tools))
	}
}

func withoutPilotctl(t *testing.T) {
	t.Helper()
	empty := t.TempDir()
	t.Setenv("PATH", empty+string(filepath.ListSeparator)+".")
	t.Setenv("HOME", empty)
	t.Setenv("USERPROFILE", empty)
	t.Setenv(EnvBinary, "")
}
