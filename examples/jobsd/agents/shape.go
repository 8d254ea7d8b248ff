package agents

import (
	"errors"
	"regexp"

	"github.com/goccy/go-yaml/ast"
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

	deepLine = regexp.MustCompile(`(?:[-?] +){65}`)
)

// checkDepth is for what is not parsed yet, and so counts brackets in texts, too.
func checkDepth(src []byte) error {
	depth := 0
	for _, c := range src {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > maxDepth {
			return errDeep
		}
	}
	if deepLine.Match(src) {
		return errDeep
	}
	return nil
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
