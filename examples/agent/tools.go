package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fantasytools/fantasytools/tool"
)

//go:embed tools.yaml
var builtInTools []byte

// toolFile is the YAML file that defines the tools; tools.yaml explains the keys.
type toolFile struct {
	Tools []toolEntry `yaml:"tools"`
}

// toolEntry is a [tool.Def] and what this program adds to it.
type toolEntry struct {
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

func (e *toolEntry) def() tool.Def {
	return tool.Def{
		Name: e.Name, Description: e.Description, Binary: e.Binary, Args: e.Args, Doc: e.Doc,
		Env: e.Env, Timeout: e.Timeout, MaxOutput: e.MaxOutput, Parallel: e.Parallel,
	}
}

// installedTools returns what the tools file defines, without what is optional
// and not installed: that is noted and left out.
func installedTools(path string, note func(string)) ([]toolEntry, error) {
	entries, err := readTools(path)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e toolEntry) bool {
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

// programTools makes tools of the programs.
func programTools(entries []toolEntry, workDir string, logger *zap.Logger) (toolset, error) {
	defs := make([]tool.Def, len(entries))
	for i := range entries {
		defs[i] = entries[i].def()
	}
	tools, err := tool.LoadTools(defs, workDir, logger)
	return toolset{label: "tools", summary: names(tools), tools: tools}, err
}

// installed reports whether PATH has the program. LoadTools refuses all tools if
// one of the binaries is missing, which is what an agent that was set up for its
// task wants; this one takes what it finds.
func installed(binary string) bool {
	_, err := exec.LookPath(binary)
	return err == nil
}

// readTools reads the tools file, the built-in one if path is "".
func readTools(path string) ([]toolEntry, error) {
	if path == "" {
		return parseTools("tools.yaml", builtInTools)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the tools: %w", err)
	}
	return parseTools(path, src)
}

// parseTools refuses keys that it does not know. What the values must be is
// checked by [tool.LoadTools].
func parseTools(name string, src []byte) ([]toolEntry, error) {
	var file toolFile
	decoder := yaml.NewDecoder(bytes.NewReader(src), yaml.Strict())
	err := decoder.Decode(&file)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s", name, strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	if err == nil && !errors.Is(decoder.Decode(new(any)), io.EOF) {
		return nil, fmt.Errorf("%s: there is a second document; all tools stand in one list", name)
	}
	if len(file.Tools) == 0 {
		return nil, fmt.Errorf("%s: no tools; they stand in a list under the key tools", name)
	}
	for i, e := range file.Tools {
		if e.Optional && strings.ContainsAny(e.Binary, `/\`) {
			return nil, fmt.Errorf("%s: tool %d (%s): optional is for a program that PATH may have, and its binary is a path", name, i+1, e.Name)
		}
	}
	return file.Tools, nil
}

// newLogger logs warnings, and all that the tools do if that is wanted.
func newLogger(w io.Writer, verbose bool) *zap.Logger {
	level := zap.WarnLevel
	if verbose {
		level = zap.DebugLevel
	}
	encoder := zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level))
}
