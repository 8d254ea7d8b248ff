package agents

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/template"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
)

//go:embed agents.yaml.tmpl
var firstFile string

// Ensure writes a first file, with comments, if there is none, and tells whether
// it did. Its one agent, me, may run those of the programs of the built-in tools
// file that are installed, in the user's home directory. Only its owner may read
// the file. The directory must exist.
func Ensure(path string) (written bool, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	content, err := first()
	if err != nil {
		return false, err
	}
	unlock, err := lock(path)
	if err != nil {
		return false, err
	}
	defer unlock()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err // another process was faster
	}
	return true, replace(path, content, nil)
}

// first is the content of the first file.
func first() ([]byte, error) {
	bins, err := toolfile.Read("")
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		home = "."
	}
	// JSON is YAML, and quotes whatever needs it.
	quoted := func(v any) (string, error) {
		text, err := json.Marshal(v)
		return string(text), err
	}
	t, err := template.New("agents.yaml").Funcs(template.FuncMap{"quoted": quoted}).Parse(firstFile)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, map[string]any{"Home": home, "Bins": bins}); err != nil {
		return nil, fmt.Errorf("writing the agents file: %w", err)
	}
	return b.Bytes(), nil
}
