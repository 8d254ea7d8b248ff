package agents

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// edit puts text in place of the bytes from at to end.
type edit struct {
	at, end int
	text    string
}

func (e edit) apply(src string) string {
	at := min(max(e.at, 0), len(src))
	end := min(max(e.end, at), len(src))
	return src[:at] + e.text + src[end:]
}

func insertion(at int, text string) edit { return edit{at, at, text} }

// tokenEdits returns the ways in which a token could be added to an agent, the
// best first. The parser's positions are not right for all of YAML, so each one is
// a guess.
func tokenEdits(src string, agent *ast.MappingNode, hash, comment string) []edit {
	l := layout{src: src, eol: "\n", value: `"` + hash + `"`}
	if i := strings.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		l.eol = "\r\n"
	}
	l.item = "- " + l.value + comment
	entry := valueOf(agent, "tokens")
	if entry == nil {
		return l.newKey(agent)
	}
	switch value := withoutProperties(entry.Value).(type) {
	case *ast.SequenceNode:
		if value.IsFlowStyle {
			return l.intoFlow(value)
		}
		return l.intoBlock(value)
	case *ast.NullNode:
		return l.inPlaceOfNull(agent, entry, value)
	}
	return nil
}

// withoutProperties returns the node behind an anchor or a tag.
func withoutProperties(n ast.Node) ast.Node {
	for {
		switch v := n.(type) {
		case *ast.AnchorNode:
			n = v.Value
		case *ast.TagNode:
			n = v.Value
		default:
			return n
		}
	}
}

// layout knows the source and what is added to it.
type layout struct {
	src, eol string
	value    string // the hash in quotes
	item     string // it as an item of a block list
}

// newKey adds the whole key, below the name of the agent.
func (l *layout) newKey(agent *ast.MappingNode) []edit {
	if agent.IsFlowStyle {
		key := "tokens"
		behind := l.offset(agent.Start.Position) + 1
		if strings.HasPrefix(strings.TrimLeft(l.src[min(behind, len(l.src)):], " \t\r\n"), `"`) {
			key = `"tokens"` // as JSON has it
		}
		return []edit{insertion(behind, key+": ["+l.value+"], ")}
	}
	name := valueOf(agent, "name")
	if name == nil {
		return nil
	}
	column := name.Key.GetToken().Position.Column
	return []edit{l.lines(name.Value.GetToken().Position.Line, indent(column)+"tokens:", indent(column+2)+l.item)}
}

// inPlaceOfNull adds a list to a key without a value, or with null.
func (l *layout) inPlaceOfNull(agent *ast.MappingNode, entry *ast.MappingValueNode, null *ast.NullNode) []edit {
	var edits []edit
	colon := l.offset(entry.GetToken().Position)
	key := entry.Key.GetToken().Position
	at := l.offset(null.GetToken().Position)
	word := null.GetToken().Value
	switch written := at < len(l.src) && at > colon && strings.HasPrefix(l.src[at:], word); {
	case written:
		edits = append(edits, edit{at, at + len(word), "[" + l.value + "]"})
	case !agent.IsFlowStyle:
		edits = append(edits, l.lines(key.Line, indent(key.Column+2)+l.item))
	}
	return append(edits, insertion(colon+1, " ["+l.value+"]"))
}

// intoBlock adds a line behind the last one of the list, or before the first.
func (l *layout) intoBlock(list *ast.SequenceNode) []edit {
	var edits []edit
	dash := list.Start.Position
	line := indent(dash.Column) + l.item
	if n := len(list.Values); n > 0 {
		edits = append(edits, l.lines(list.Values[n-1].GetToken().Position.Line, line))
	}
	return append(edits, l.lines(dash.Line-1, line))
}

// intoFlow adds an item before the closing bracket, or behind the opening one.
func (l *layout) intoFlow(list *ast.SequenceNode) []edit {
	start := l.offset(list.Start.Position) + 1
	if len(list.Values) == 0 {
		return []edit{insertion(start, l.value)}
	}
	edits := []edit{insertion(start, l.value+", ")}
	if list.End == nil {
		return edits
	}
	end := min(l.offset(list.End.Position), len(l.src))
	gap := len(l.src[:end]) - len(strings.TrimRight(l.src[:end], " \t"))
	if l.lineStart(list.End.Position.Line) == end-gap { // the bracket stands on a line of its own
		first := list.Values[0].GetToken().Position.Column
		return append([]edit{
			insertion(end-gap, indent(first)+l.value+","+l.eol), // behind a comma
			insertion(end, ", "+l.value),
		}, edits...)
	}
	return append([]edit{insertion(end-gap, ", "+l.value), insertion(end-gap, " "+l.value)}, edits...)
}

// lines puts lines behind a line, counted from 1.
func (l *layout) lines(behind int, lines ...string) edit {
	text := strings.Join(lines, l.eol)
	at := l.lineStart(behind + 1)
	if at == len(l.src) && !strings.HasSuffix(l.src, "\n") {
		return insertion(at, l.eol+text)
	}
	return insertion(at, text+l.eol)
}

func (l *layout) lineStart(line int) int {
	at := 0
	for range line - 1 {
		i := strings.IndexByte(l.src[at:], '\n')
		if i < 0 {
			return len(l.src)
		}
		at += i + 1
	}
	return at
}

// offset returns the byte at a position. The parser's own offsets count
// characters, and not all of them.
func (l *layout) offset(p *token.Position) int {
	at := l.lineStart(p.Line)
	for range p.Column - 1 {
		_, size := utf8.DecodeRuneInString(l.src[at:])
		at += size
	}
	return at
}

// indent is what stands before a column, counted from 1.
func indent(column int) string { return strings.Repeat(" ", max(column-1, 0)) }
