// Package toolfile reads the YAML file in which the programs of this module find
// the definitions of their tools. tools.yaml explains its keys.
package toolfile

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/examples/internal/yamlfile"
	"github.com/fantasytools/fantasytools/tool"
)

//go:embed tools.yaml
var builtIn []byte

// file is the whole file.
type file struct {
	Tools []Entry `yaml:"tools"`
}

// Entry is a [tool.Def] and what the file adds to it.
type Entry struct {
	Name        string        `yaml:"name"`
	Description string        `yaml:"description"`
	Binary      string        `yaml:"binary"`
	Args        []string      `yaml:"args"`
	Doc         string        `yaml:"doc"`
	Env         []string      `yaml:"env"`
	Timeout     time.Duration `yaml:"timeout"`
	MaxOutput   int           `yaml:"max_output"`
	Parallel    bool          `yaml:"parallel"`
	Optional    bool          `yaml:"optional"`
}

// Defs returns what [tool.LoadTools] takes.
func Defs(entries []Entry) []tool.Def {
	defs := make([]tool.Def, len(entries))
	for i, e := range entries {
		defs[i] = e.def()
	}
	return defs
}

func (e Entry) def() tool.Def {
	return tool.Def{
		Name: e.Name, Description: e.Description, Binary: e.Binary, Args: e.Args, Doc: e.Doc,
		Env: e.Env, Timeout: e.Timeout, MaxOutput: e.MaxOutput, Parallel: e.Parallel,
	}
}

// Installed returns what the file defines, without what is optional and not
// installed: that is noted and left out. An empty path is the built-in file.
func Installed(path string, note func(string)) ([]Entry, error) {
	entries, err := Read(path)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool {
		missing := e.Optional && !installed(e.Binary)
		if missing {
			note(e.Binary + " is not installed; its tool is left out")
		}
		return missing
	})
	if len(entries) == 0 {
		return nil, errors.New("none of the tools' programs is installed; -tools names a file with others")
	}
	return entries, nil
}

// installed reports whether PATH has the program. LoadTools refuses all tools if
// one of the binaries is missing, which is what an agent that was set up for its
// task wants; this one takes what it finds.
func installed(binary string) bool {
	_, err := exec.LookPath(binary)
	return err == nil
}

// maxFile is how many bytes a file of tools may have.
const maxFile = 1 << 20

// Read reads the file, the built-in one if path is "".
func Read(path string) ([]Entry, error) {
	if path == "" {
		return parse("tools.yaml", builtIn)
	}
	src, err := readStart(path, maxFile+1)
	if err != nil {
		return nil, fmt.Errorf("reading the tools: %w", err)
	}
	if len(src) > maxFile {
		return nil, fmt.Errorf("reading the tools: %s is longer than %d bytes, so it is no file of tools", path, maxFile)
	}
	return parse(path, src)
}

// readStart reads a file up to that many bytes: one such as /dev/zero has no end.
func readStart(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return io.ReadAll(io.LimitReader(f, limit))
}

// parse refuses keys that it does not know. What the values must be is
// checked by [tool.LoadTools].
func parse(name string, src []byte) ([]Entry, error) {
	var f file
	if err := yamlfile.Decode(name, src, &f); err != nil {
		return nil, err
	}
	if len(f.Tools) == 0 {
		return nil, fmt.Errorf("%s: no tools; they stand in a list under the key tools", name)
	}
	for i, e := range f.Tools {
		if e.Optional && strings.ContainsAny(e.Binary, `/\`) {
			return nil, fmt.Errorf("%s: tool %d (%s): optional is for a program that PATH may have, and its binary is a path", name, i+1, e.Name)
		}
	}
	return f.Tools, nil
}
