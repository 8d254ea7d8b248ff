package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"charm.land/fantasy"
	"github.com/charmbracelet/x/ansi"

	"github.com/fantasytools/fantasytools/internal/text"
)

// listed is a tool as list prints it with -json.
type listed struct {
	Source      string      `json:"source"` // programs, jobs or pilot
	Name        string      `json:"name"`
	Description string      `json:"description"` // its first line
	Parameters  []parameter `json:"parameters"`  // required ones first, then by name
}

type parameter struct {
	Name        string `json:"name"`
	Type        string `json:"type"` // of JSON Schema; string[] is an array of strings
	Required    bool   `json:"required"`
	Description string `json:"description"`
}

// maxDescription is how many bytes of a description may go to a terminal, which cuts
// them to its width.
const maxDescription = 4 << 10

// list prints the tools.
func (a *app) list() error {
	set, err := a.load()
	if err != nil {
		return err
	}
	defer set.Close() //nolint:errcheck // nothing was dialled
	a.tellNotes()
	tools := []listed{}
	for _, s := range sources(set) {
		for _, t := range s.tools {
			tools = append(tools, describe(s.name, t.Info()))
		}
	}
	if a.opts.json {
		return a.printJSON(tools)
	}
	return a.printList(tools)
}

func describe(source string, info fantasy.ToolInfo) listed {
	first, _, _ := strings.Cut(info.Description, "\n")
	t := listed{Source: source, Name: info.Name, Description: strings.TrimSpace(first), Parameters: []parameter{}}
	for _, name := range slices.Sorted(maps.Keys(info.Parameters)) {
		schema, _ := info.Parameters[name].(map[string]any)
		about, _ := schema["description"].(string)
		t.Parameters = append(t.Parameters, parameter{
			Name: name, Type: typeOf(schema), Required: slices.Contains(info.Required, name), Description: about,
		})
	}
	slices.SortStableFunc(t.Parameters, func(a, b parameter) int {
		return rank(a) - rank(b)
	})
	return t
}

func rank(p parameter) int {
	if p.Required {
		return 0
	}
	return 1
}

// typeOf names the type of a schema.
func typeOf(schema map[string]any) string {
	name, _ := schema["type"].(string)
	if name != "array" {
		if name == "" {
			return "any"
		}
		return name
	}
	items, _ := schema["items"].(map[string]any)
	return typeOf(items) + "[]"
}

// printList prints a heading for each source, and for each tool two lines or,
// where the parameters need more, a few.
func (a *app) printList(tools []listed) error {
	names := map[string]int{} // the width of the column
	for _, t := range tools {
		names[t.Source] = max(names[t.Source], len(t.Name))
	}
	source, b := "", strings.Builder{}
	for _, t := range tools {
		if t.Source != source {
			if source != "" {
				b.WriteByte('\n')
			}
			source = t.Source
			b.WriteString(a.paint.in(bold, source) + "\n")
		}
		indent := 4 + names[t.Source]
		name := fmt.Sprintf("  %-*s  ", names[t.Source], t.Name)
		b.WriteString(a.paint.in(bold, name) + a.paint.line(text.Line(t.Description, maxDescription), indent) + "\n")
		for line := range strings.SplitSeq(a.parameters(t, indent), "\n") {
			b.WriteString(strings.Repeat(" ", indent) + a.paint.in(faint, line) + "\n")
		}
	}
	return a.printf("%s\n* required\n", b.String())
}

// parameters is what a tool takes, in lines that fit behind the indentation.
func (a *app) parameters(t listed, indent int) string {
	if len(t.Parameters) == 0 {
		return "no parameters"
	}
	words := make([]string, len(t.Parameters))
	for i, p := range t.Parameters {
		mark := ""
		if p.Required {
			mark = "*"
		}
		words[i] = p.Name + mark + "\u00a0" + p.Type // not to be parted by the end of a line
	}
	lines := ansi.Wordwrap(strings.Join(words, ", "), max(a.paint.width-indent, 20), "")
	return strings.ReplaceAll(lines, "\u00a0", " ")
}
