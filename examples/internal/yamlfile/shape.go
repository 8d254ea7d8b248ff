package yamlfile

import (
	"errors"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// maxDepth is how deep lists and mappings may stand in each other: the parser's
	// memory grows with it without a bound.
	maxDepth = 64

	// maxValues is how many values a file may have when its aliases are written out.
	maxValues = 1 << 20
)

var (
	errDeep = errors.New("lists or mappings stand in each other more than 64 deep")
	errMany = errors.New("with its aliases written out the file has more than a million values")
)

// checkShape refuses what would take all memory or much time when it is decoded.
func checkShape(src []byte) error {
	if tooDeep(lexer.Tokenize(string(src))) {
		return errDeep
	}
	tree, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil //nolint:nilerr // decoding tells it better
	}
	return checkAliases(tree)
}

// tooDeep is for what is not parsed yet. Blocks that stand in each other by their
// indentation are not counted: of those a file of some size cannot hold many.
func tooDeep(tokens token.Tokens) bool {
	brackets, line, dashes := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets = max(brackets-1, 0)
		case token.SequenceEntryType, token.MappingKeyType:
			if t.Position.Line != line {
				line, dashes = t.Position.Line, 0
			}
			dashes++
		}
		if brackets > maxDepth || dashes > maxDepth {
			return true
		}
	}
	return false
}

// checkAliases refuses a file that is small and whose aliases make it huge.
func checkAliases(tree *ast.File) error {
	anchors := map[string]int{}
	total := 0
	for _, doc := range tree.Docs {
		if total += weight(doc.Body, anchors); total > maxValues {
			return errMany
		}
	}
	return nil
}

// weight is how many values a node has, or some more than maxValues.
func weight(n ast.Node, anchors map[string]int) int {
	total := 1
	add := func(n ast.Node) { total = min(total+weight(n, anchors), maxValues+1) }
	switch v := n.(type) {
	case *ast.MappingNode:
		for _, entry := range v.Values {
			add(entry)
		}
	case *ast.MappingValueNode:
		add(v.Value)
	case *ast.SequenceNode:
		for _, item := range v.Values {
			add(item)
		}
	case *ast.TagNode:
		add(v.Value)
	case *ast.AnchorNode:
		add(v.Value)
		anchors[v.Name.String()] = total
	case *ast.AliasNode:
		total = max(anchors[v.Value.String()], 1)
	}
	return total
}
