// Package yamlfile reads the YAML files that configure the programs of this
// module. Whatever a file holds, reading it takes a bounded time and a bounded
// memory, does not panic, and errors quote no line of it: one may hold a secret.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/fantasytools/fantasytools/internal/text"
)

// maxProblem is how many bytes of what the YAML library says are told: it may hold
// a key of any length.
const maxProblem = 500

// ByteOrderMark may stand in front of a file; some editors write it.
const ByteOrderMark = "\uFEFF"

// Decode decodes the one document in src into what the pointer into points to,
// and leaves that alone if there is none. A key that is unknown there is an error,
// and so is one that stands twice. All errors begin with path.
func Decode(path string, src []byte, into any) (err error) {
	defer unreadable(path, &err)
	src = bytes.TrimPrefix(src, []byte(ByteOrderMark))
	if err := checkShape(src); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(src), yaml.Strict())
	switch err := decoder.Decode(into); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return problem(path, err)
	case !errors.Is(decoder.Decode(new(any)), io.EOF):
		return fmt.Errorf("%s: there is a second document; write all into one", path)
	}
	return nil
}

// Parse returns the tree of a file that [Decode] took.
func Parse(path string, src []byte) (tree *ast.File, err error) {
	defer unreadable(path, &err)
	tree, err = parser.ParseBytes(bytes.TrimPrefix(src, []byte(ByteOrderMark)), 0)
	if err != nil {
		return nil, problem(path, err)
	}
	return tree, nil
}

func problem(path string, err error) error {
	return fmt.Errorf("%s: %s", path, text.Line(yaml.FormatError(err, false, false), maxProblem))
}
