package agents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
)

func TestAFileThatWouldTakeAllMemoryIsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ src, want string }{
		"brackets in brackets": {"agents: " + strings.Repeat("[", 500_000), "deep"},
		"more than is read":    {"#" + strings.Repeat("x", 2<<20), "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agents.yaml")
			if err := os.WriteFile(path, []byte(tc.src), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := agents.Open(path, nil); err == nil || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 1_000 {
				t.Errorf("got %.300v", err)
			}
		})
	}
}

func TestAliasesOfWhatAgentsShareAreFine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.yaml")
	src := "agents:\n- name: a0\n  bins: &bins\n  - {name: sh, binary: sh}\n"
	for i := range 200 {
		src += fmt.Sprintf("- name: a%d\n  bins: *bins\n", i+1)
	}
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := agents.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, found := r.ByName("a200"); !found || a.Bins["sh"] == nil {
		t.Error("the last agent lacks its program")
	}
}
