package main

import (
	"strings"

	"charm.land/fantasy"
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
)

// toolset is a group of tools that come from one place.
type toolset struct {
	label   string // of its line in the header
	summary string // for the reader: the tools, and what is behind them
	advice  string // for a model: what the descriptions of the tools cannot say
	tools   []fantasy.AgentTool
	close   func() // ends what the tools need; nil: nothing
}

type toolsets []toolset

// loadTools returns all tools of the agent: the programs of the tools file, jobs
// and, if it is wanted or a script plays, the Pilot network. Add your own here:
// tool.New makes a tool of a Go function.
func loadTools(opts *options, scripted bool, note func(string), logger *zap.Logger) (toolsets, error) {
	entries, err := toolfile.Installed(opts.toolsFile, note)
	if err != nil {
		return nil, err
	}
	var sets toolsets
	for _, load := range []func() (toolset, error){
		func() (toolset, error) { return programTools(entries, opts.workDir, logger) },
		func() (toolset, error) { return jobTools(entries, opts.workDir, logger) },
		func() (toolset, error) { return pilotTools(opts, scripted, note, logger) },
	} {
		set, err := load()
		if err != nil {
			sets.close()
			return nil, err
		}
		if len(set.tools) > 0 {
			sets = append(sets, set)
		}
	}
	return sets, nil
}

func (s toolsets) all() []fantasy.AgentTool {
	var tools []fantasy.AgentTool
	for _, set := range s {
		tools = append(tools, set.tools...)
	}
	return tools
}

// advice is what the system prompt says of the tools.
func (s toolsets) advice() string {
	var b strings.Builder
	for _, set := range s {
		if set.advice != "" {
			b.WriteString("\n" + set.advice)
		}
	}
	return b.String()
}

// close ends what was begun last first.
func (s toolsets) close() {
	for i := range s {
		if end := s[len(s)-1-i].close; end != nil {
			end()
		}
	}
}

func names(tools []fantasy.AgentTool) string {
	list := make([]string, len(tools))
	for i, t := range tools {
		list[i] = t.Info().Name
	}
	return strings.Join(list, ", ")
}
