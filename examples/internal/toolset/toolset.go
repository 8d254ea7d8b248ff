// Package toolset gathers the tools that a program of this module offers: the
// programs of the tools file, jobs where a daemon is named, and the Pilot network
// where pilotctl is installed. It makes nothing up: what is not there is left out.
package toolset

import (
	"slices"

	"charm.land/fantasy"
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/tool"
)

// Options say where the tools come from. The zero value is the built-in tools
// file in the current directory.
type Options struct {
	ToolsFile string           // "": the built-in one
	WorkDir   string           // programs run, and files are sent, in it; "": the current one
	Logger    *zap.Logger      // nil: nothing is logged
	Note      func(why string) // is told of each thing that is left out; nil: nobody is
}

// Set is the tools, by where they come from.
type Set struct {
	Programs []fantasy.AgentTool
	Jobs     []fantasy.AgentTool // of the daemon that OTTERSD_URL and OTTERS_AGENT_TOKEN name
	Pilot    []fantasy.AgentTool

	client *jobsclient.Client
}

// Load makes the tools. Nothing is dialled and nothing is run by it.
func Load(o Options) (*Set, error) {
	note := o.Note
	if note == nil {
		note = func(string) {}
	}
	entries, err := toolfile.Installed(o.ToolsFile, note)
	if err != nil {
		return nil, err
	}
	set := &Set{}
	if set.Programs, err = tool.LoadTools(toolfile.Defs(entries), o.WorkDir, o.Logger); err != nil {
		return nil, err
	}
	if config, ok := jobsclient.FromEnv(); ok {
		config.Logger = o.Logger
		set.client = jobsclient.New(config)
		set.Jobs = tool.NewJobTools(set.client)
	} else {
		note(jobsclient.EnvDaemonURL + " and " + jobsclient.EnvAgentToken + " are not both set; there are no tools for jobs")
	}
	if pilot.BuildTools() != nil {
		set.Pilot = pilot.NewTools(&pilot.Client{FileRoot: o.WorkDir, Logger: o.Logger})
	} else {
		note("pilotctl is not installed; there are no tools for the Pilot network")
	}
	return set, nil
}

// All returns all tools.
func (s *Set) All() []fantasy.AgentTool { return slices.Concat(s.Programs, s.Jobs, s.Pilot) }

// Close ends the connection to the jobs daemon.
func (s *Set) Close() error {
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}
