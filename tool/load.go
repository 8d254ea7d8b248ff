package tool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"charm.land/fantasy"
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/internal/program"
	"github.com/fantasytools/fantasytools/internal/text"
	"github.com/fantasytools/fantasytools/internal/typed"
)

// DefaultMaxOutput is how many bytes of text an answer may hold, notices aside,
// where nobody asked for another bound: 32 KiB.
const DefaultMaxOutput = text.DefaultMax

// LoadTools makes a tool of each Def. The tools run their binaries in workDir;
// an empty one is the current directory at the time of this call. A nil logger is
// fine.
//
// All problems of all Defs are reported in one joined error, each with the name
// of its Def, and no tools are returned then: a binary that is missing, a
// directory or not executable, a bad or duplicate name, an empty or too long
// description, a NUL character, a bad environment entry; and a workDir that is
// not there. A Doc that cannot be read is not an error; it is logged. So is a
// description that only its Doc makes longer than MaxDescription, since some
// providers reject the whole request then.
//
// The tools are safe for concurrent use. What they answer is described in the
// package documentation; the metadata of an answer is a [Result].
func LoadTools(defs []Def, workDir string, logger *zap.Logger) ([]fantasy.AgentTool, error) {
	if logger == nil {
		logger = zap.NewNop()
	}
	input := typed.Describe[Input]()
	errs := checkNames(defs)
	dir, err := absoluteDir(workDir)
	if err != nil {
		errs = append([]error{err}, errs...)
	}
	tools := make([]fantasy.AgentTool, 0, len(defs))
	for i := range defs {
		d := defs[i]
		problems := d.check()
		path, err := program.Resolve(d.Binary, dir)
		if err != nil {
			problems = append(problems, err)
		}
		if len(problems) > 0 {
			errs = append(errs, within(d.label(i), problems))
			continue
		}
		d.Args = append([]string(nil), d.Args...)
		d.Env = append([]string(nil), d.Env...)
		b := &binary{def: d, path: path, dir: dir, logger: logger}
		tools = append(tools, b.tool(input, description(&d, dir, logger)))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return tools, nil
}

// absoluteDir returns the absolute path of the directory, also if it cannot be
// used.
func absoluteDir(workDir string) (string, error) {
	dir, err := filepath.Abs(workDir)
	if err != nil {
		return workDir, fmt.Errorf("finding the current directory: %w", err)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return dir, fmt.Errorf("the working directory %s does not exist", dir)
	case err != nil:
		return dir, fmt.Errorf("the working directory %s cannot be used: %w", dir, errors.Unwrap(err))
	case !info.IsDir():
		return dir, fmt.Errorf("the working directory %s is not a directory", dir)
	}
	return dir, nil
}

// description returns what the model reads about the tool: the description and the
// Doc.
func description(d *Def, dir string, logger *zap.Logger) string {
	words := strings.TrimSpace(text.Clean(d.Description))
	if d.Doc == "" {
		return words
	}
	path := d.Doc
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	doc, err := readDoc(path)
	if err != nil {
		logger.Warn("tool has no usage text", zap.String("tool", d.Name), zap.String("doc", path), zap.Error(err))
		return words
	}
	if doc == "" {
		return words
	}
	words += "\n\n" + doc
	if n := utf8.RuneCountInString(words); n > MaxDescription {
		logger.Warn("the usage text makes the tool's description longer than some providers take",
			zap.String("tool", d.Name), zap.Int("characters", n), zap.Int("limit", MaxDescription))
	}
	return words
}

// readDoc reads the first MaxDoc bytes of a regular file; opening anything else
// could wait for ever.
func readDoc(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	doc, err := io.ReadAll(io.LimitReader(f, MaxDoc+1))
	if err != nil {
		return "", err
	}
	if len(doc) <= MaxDoc {
		return strings.TrimSpace(text.Clean(string(doc))), nil
	}
	size := max(info.Size(), int64(len(doc))) // some files tell no size
	cut := text.NewStream(doc[:MaxDoc], nil, size-MaxDoc)
	return strings.TrimSpace(cut.Cut(MaxDoc)), nil
}
