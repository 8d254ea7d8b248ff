package main

import (
	"fmt"
	"strings"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/examples/internal/toolset"
)

// load makes the tools; close them in the end. What is left out is told where it
// matters, by tellNotes.
func (a *app) load() (*toolset.Set, error) {
	note := func(why string) { a.notes = append(a.notes, why) }
	set, err := toolset.Load(toolset.Options{ToolsFile: a.opts.toolsFile, WorkDir: a.opts.workDir, Logger: a.logger, Note: note})
	if err != nil {
		a.tellNotes()
		return nil, refused(fmt.Errorf("%w; toolbox doctor tells more", err))
	}
	return set, nil
}

// tellNotes says on standard error what was left out.
func (a *app) tellNotes() {
	for _, why := range a.notes {
		a.note(why)
	}
}

// find returns the tool of a name.
func (a *app) find(set *toolset.Set, name string) (fantasy.AgentTool, error) {
	t, err := find(set.All(), name)
	if err != nil {
		a.tellNotes()
	}
	return t, err
}

// source is the tools that come from one place.
type source struct {
	name  string
	tools []fantasy.AgentTool
}

func sources(set *toolset.Set) []source {
	return []source{{"programs", set.Programs}, {"jobs", set.Jobs}, {"pilot", set.Pilot}}
}

// find is the search, by the exact name.
func find(tools []fantasy.AgentTool, name string) (fantasy.AgentTool, error) {
	names := make([]string, len(tools))
	for i, t := range tools {
		if names[i] = t.Info().Name; names[i] == name {
			return t, nil
		}
	}
	f := &failure{status: exitUsage, near: near(name, names)}
	advice := "toolbox list names all"
	if len(f.near) > 0 {
		advice = "did you mean " + strings.Join(f.near, " or ") + "?"
	}
	f.err = fmt.Errorf("there is no tool %q; %s", name, advice)
	return nil, f
}
