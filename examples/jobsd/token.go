package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// formats are how runToken prints a variable, by the name of the format.
var formats = map[string]func(name, value string) string{
	"env":  func(name, value string) string { return "export " + name + "=" + shellQuoted(value) },
	"fish": func(name, value string) string { return "set -gx " + name + " '" + fishEscapes.Replace(value) + "'" },
	"powershell": func(name, value string) string {
		return "$env:" + name + " = '" + strings.ReplaceAll(value, "'", "''") + "'"
	},
}

var fishEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// shellQuoted is a word as a POSIX shell reads it.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// runToken makes a token and prints what an agent's environment needs.
func runToken(_ context.Context, args []string, out streams) error {
	var st state
	var file, url, format string
	fs := flag.NewFlagSet("jobsd token", flag.ContinueOnError)
	st.flags(fs)
	fs.StringVar(&file, "agents", "", "add the token to this YAML `file` (default: agents.yaml in the state directory)")
	fs.StringVar(&url, "url", "", "print this `address` (default: that of the daemon of the state directory)")
	fs.StringVar(&format, "format", "env", "print for a `shell`: env (POSIX shells), fish or powershell; or json")
	others, err := parse(fs, about("token"), args, out)
	if err != nil {
		return err
	}
	if len(others) != 1 {
		return wrongUsage("jobsd token takes the name of one agent, as in jobsd token me")
	}
	if _, known := formats[format]; !known && format != "json" {
		return wrongUsage("-format is env, fish, powershell or json, and not %q", format)
	}
	if err := st.resolve(); err != nil {
		return err
	}
	if url == "" {
		url = st.address()
	} else if err := checkURL(url); err != nil {
		return err
	}
	path, err := st.agentsFile(file, true, out.note)
	if err != nil {
		return err
	}
	token, err := agents.AddToken(path, others[0])
	if err != nil {
		return err
	}
	if err := printVariables(out, format, url, token); err != nil {
		return fmt.Errorf("the token could not be printed, and its hash is the last one of agent %s in %s: delete it there (%w)", others[0], path, err)
	}
	return nil
}

func printVariables(out streams, format, url, token string) error {
	if format == "json" {
		return json.NewEncoder(out.stdout).Encode(map[string]string{jobsclient.EnvDaemonURL: url, jobsclient.EnvAgentToken: token})
	}
	line := formats[format]
	_, err := fmt.Fprintf(out.stdout, "%s\n%s\n", line(jobsclient.EnvDaemonURL, url), line(jobsclient.EnvAgentToken, token))
	return err
}
