package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/tool"
)

// jobTools returns the tools for jobs on the daemon that the environment names.
// Where it names none one runs in this process: jobsd, which can be reached from
// nowhere else. Its jobs and its state end with the agent.
func jobTools(entries []toolfile.Entry, workDir string, logger *zap.Logger) (toolset, error) {
	if tools := tool.BuildJobTools(); tools != nil {
		return toolset{label: "jobs", summary: names(tools) + "; on the daemon of " + jobsclient.EnvDaemonURL, tools: tools}, nil
	}
	client, end, err := ownDaemon(entries, workDir, logger)
	if err != nil {
		return toolset{}, fmt.Errorf("starting a jobs daemon in this process: %w", err)
	}
	tools := tool.NewJobTools(client)
	return toolset{
		label:   "jobs",
		summary: names(tools) + "; a daemon in this process runs the programs above",
		advice:  "Jobs run one of these BINs: " + strings.Join(entryNames(entries), ", ") + ". They end when you do.",
		tools:   tools,
		close:   end,
	}, nil
}

// ownDaemon starts a daemon whose one agent may run the programs of the tools.
func ownDaemon(entries []toolfile.Entry, workDir string, logger *zap.Logger) (client *jobsclient.Client, end func(), err error) {
	me := agents.Agent{Name: "agent", Bins: map[string]*agents.Bin{}}
	for _, def := range toolfile.Defs(entries) {
		def.Timeout = 0 // of a call; a job may take longer
		me.Bins[def.Name] = &agents.Bin{Def: def, Dir: workDir}
	}
	registry, err := agents.New(me)
	if err != nil {
		return nil, nil, err
	}
	token, err := registry.Token(me.Name)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "agent-jobs-")
	if err != nil {
		return nil, nil, err
	}
	d, err := daemon.Start(context.Background(), daemon.Config{Agents: registry, StateDir: dir, Socket: "-", Memory: true, Logger: logger})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	client = jobsclient.New(jobsclient.Config{URL: d.URL(), Token: token, DialOptions: d.DialOptions()})
	return client, func() {
		now, cancel := context.WithCancel(context.Background())
		cancel() // jobs are not waited for
		_ = client.Close()
		_ = d.Shutdown(now)
		_ = os.RemoveAll(dir)
	}, nil
}

func entryNames(entries []toolfile.Entry) []string {
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.Name
	}
	return list
}
