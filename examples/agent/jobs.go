package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
	"github.com/fantasytools/fantasytools/tool"
)

// jobTools returns the tools for jobs on the daemon that the environment names.
// Where it names none there is one in this process: it is a fake, made for tests,
// but its jobs are real processes. They end with the agent.
func jobTools(entries []toolfile.Entry, workDir string) (toolset, error) {
	if tools := tool.BuildJobTools(); tools != nil {
		return toolset{label: "jobs", summary: names(tools) + "; on the daemon of " + jobsclient.EnvDaemonURL, tools: tools}, nil
	}
	dir, err := filepath.Abs(workDir)
	if err != nil {
		return toolset{}, err
	}
	bins := map[string]jobstest.Bin{}
	var binNames []string
	for _, e := range entries {
		bins[e.Name] = jobstest.Bin{Path: program(e.Binary, dir), Args: e.Args, Env: jobEnvironment(e.Env), Dir: dir}
		binNames = append(binNames, e.Name)
	}
	daemon, err := jobstest.Start(jobstest.Options{Transport: jobstest.Memory, Bins: bins})
	if err != nil {
		return toolset{}, fmt.Errorf("starting a jobs daemon in this process: %w", err)
	}
	client := jobsclient.New(daemon.Config())
	tools := tool.NewJobTools(client)
	return toolset{
		label:   "jobs",
		summary: names(tools) + "; a daemon in this process runs the programs above",
		advice:  "Jobs run one of these BINs: " + strings.Join(binNames, ", ") + ". They end when you do.",
		tools:   tools,
		close: func() {
			_ = client.Close()
			daemon.Close()
		},
	}, nil
}

// program is where [tool.LoadTools] finds a binary, so that a job runs the same
// one as the tool of its name.
func program(binary, workDir string) string {
	if filepath.IsAbs(binary) {
		return binary
	}
	if strings.ContainsAny(binary, `/\`) {
		return filepath.Join(workDir, binary)
	}
	if path, err := exec.LookPath(filepath.Join(workDir, "usr", "bin", binary)); err == nil {
		return path
	}
	return binary
}

// jobVariables are what a job sees of this process's environment: no key of a
// service, unless the tools file names it.
var jobVariables = []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT"}

func jobEnvironment(entries []string) []string {
	var env []string
	for _, entry := range slices.Concat(jobVariables, entries) {
		if strings.Contains(entry, "=") {
			env = append(env, entry)
		} else if value, ok := os.LookupEnv(entry); ok {
			env = append(env, entry+"="+value)
		}
	}
	return env
}
