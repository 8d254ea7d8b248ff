package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadToolsRefusesAMissingProgramThatIsNotOptional(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tools.yaml")
	src := "tools: [{name: none, description: Is not there., binary: no-such-program}]"
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := loadTools(&options{toolsFile: path}, false, func(string) {}, nil)
	if err == nil || !strings.Contains(err.Error(), `"no-such-program"`) {
		t.Errorf("got %v", err)
	}
}
