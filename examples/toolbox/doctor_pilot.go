package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	child "github.com/fantasytools/fantasytools/internal/run"
	"github.com/fantasytools/fantasytools/internal/text"
	"github.com/fantasytools/fantasytools/pilot"
)

// maxQuote is how many bytes of what pilotctl prints a finding repeats.
const maxQuote = 300

// checkPilot looks at pilotctl, its version, and the daemon that it speaks to.
func (a *app) checkPilot(ctx context.Context, r *report) {
	path, err := findPilotctl()
	switch {
	case errors.Is(err, errNoPilotctl):
		r.missing("pilotctl", sentence(err)+", so there are no tools for the Pilot network", installPilot())
		return
	case err != nil:
		r.fault("pilotctl", sentence(err)+whereFrom(), "make it executable, or "+installPilot())
		return
	}
	p := &pilotctl{path: path, wait: a.opts.wait}
	if p.checkVersion(ctx, r) && ctx.Err() == nil {
		p.checkDaemon(ctx, r)
	}
}

// whereFrom names the variable where it chose the program.
func whereFrom() string {
	if name := os.Getenv(pilot.EnvBinary); name != "" {
		return fmt.Sprintf(" (%s is %q)", pilot.EnvBinary, text.Line(name, maxQuote))
	}
	return ""
}

var versionNumber = regexp.MustCompile(`(?m)^\s*(?:pilotctl\s+)?v?(\d{1,6})\.(\d{1,6})\S*`)

// checkVersion reports whether pilotctl runs at all.
func (p *pilotctl) checkVersion(ctx context.Context, r *report) bool {
	res, err := p.run(ctx, "version")
	if err == nil && !res.TimedOut && res.ExitCode > 0 && res.ExitCode <= 2 {
		return p.checkOldVersion(ctx, r) // it does not know the command
	}
	if !p.ran(res, err, "version", r) {
		return false
	}
	out := string(res.Stdout.Head)
	found := versionNumber.FindStringSubmatch(out)
	if found == nil {
		r.ok("pilotctl", fmt.Sprintf("%s, a build without a version number (%s), which is taken for 1.13", p.path, quoted(out)))
		return true
	}
	p.judge(text.Line(found[0], maxQuote), found[1], found[2], r)
	return true
}

// checkOldVersion asks the way in which 1.2 tells its version.
func (p *pilotctl) checkOldVersion(ctx context.Context, r *report) bool {
	res, err := p.run(ctx, "--json", "context")
	if !p.ran(res, err, "context", r) {
		return false
	}
	a, _ := readAnswer(res)
	var data struct {
		Version string `json:"version"`
	}
	_ = json.Unmarshal(a.Data, &data) // what does not fit is no version
	found := versionNumber.FindStringSubmatch(data.Version)
	if found == nil {
		r.fault("pilotctl", p.path+" tells no version: it is older than 1.2, or no pilotctl at all", "install a current Pilot Protocol, or set "+pilot.EnvBinary+" to another pilotctl")
		return false
	}
	p.judge(text.Line(data.Version, maxQuote), found[1], found[2], r)
	return true
}

// judge says what a version means for the tools.
func (p *pilotctl) judge(version, major, minor string, r *report) {
	number := func(s string) int {
		n, _ := strconv.Atoi(s) // the pattern lets only digits through
		return n
	}
	const update = "update the Pilot Protocol to 1.16 or later"
	found := fmt.Sprintf("%s, version %s", p.path, version)
	switch n := number(major)*1_000_000 + number(minor); {
	case n < 1_000_002:
		r.fault("pilotctl", found+": older than 1.2, with which the tools were never tried", update)
	case n < 1_000_013:
		r.add(statusOK, "pilotctl", found+": an old one, which cannot wait for a reply (the tools look into the inbox instead), knows no broadcast, sends no file over 1 MiB, "+
			"and takes only node ids for approve, reject, untrust and lookup", update)
	case n < 1_000_016:
		r.add(statusOK, "pilotctl", found+", which cannot send a message over 128 KiB, nor tell for sure which message a reply answers", update)
	default:
		r.ok("pilotctl", found)
	}
}

// ran reports a run that came to no end of its own.
func (p *pilotctl) ran(res *child.Result, err error, verb string, r *report) bool {
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		r.fault("pilotctl", "it cannot be started: "+sentence(err), "install the Pilot Protocol anew, or set "+pilot.EnvBinary+" to another pilotctl")
	case res.Cancelled:
	case res.TimedOut:
		r.fault("pilotctl", fmt.Sprintf("%s did not end within %v when asked for its %s, and was stopped", p.path, p.wait, verb),
			"run it by hand; it may wait for a file system or be no pilotctl at all")
	case res.ExitCode < 0:
		r.fault("pilotctl", fmt.Sprintf("%s was killed by %s when asked for its %s", p.path, res.Signal, verb), "install the Pilot Protocol anew")
	default:
		return true
	}
	return false
}

// checkDaemon asks the daemon who it is.
func (p *pilotctl) checkDaemon(ctx context.Context, r *report) {
	res, err := p.run(ctx, "--json", "info")
	if err == nil && res.TimedOut {
		r.fault("daemon", fmt.Sprintf("the Pilot daemon did not answer within %v: it takes connections and hangs", p.wait), "restart the daemon")
		return
	}
	if p.ran(res, err, "info", r) {
		p.reportInfo(res, r)
	}
}

// reportInfo reports what pilotctl said of the daemon.
func (p *pilotctl) reportInfo(res *child.Result, r *report) {
	a, found := readAnswer(res)
	switch {
	case found && a.Status == "ok":
		reportNode(a.Data, r)
	case a.Code == "not_running":
		hint := text.Line(a.Hint, maxQuote)
		if hint == "" {
			hint = "start the daemon with: pilotctl daemon start"
		}
		r.fault("daemon", "the Pilot daemon is not running, or its socket is another one or not this user's; every Pilot tool fails until then",
			hint+"; if it does run, set PILOT_SOCKET to its socket and HOME to its user's")
	case found:
		r.fault("daemon", fmt.Sprintf("pilotctl cannot ask the Pilot daemon: %s (%s)", text.Line(a.Message, maxQuote), text.Line(a.Code, 64)),
			strings.TrimSpace(text.Line(a.Hint, maxQuote)+" look into the daemon's log, ~/.pilot/pilot.log"))
	default:
		r.fault("daemon", fmt.Sprintf("pilotctl gave no answer that can be read (exit status %d): %s", res.ExitCode, quoted(string(res.Stdout.Head)+" "+string(res.Stderr.Head))),
			"check that "+p.path+" is pilotctl, and its version")
	}
}

// reportNode reports the node that runs.
func reportNode(data json.RawMessage, r *report) {
	var node struct {
		Address  string `json:"address"`
		Hostname string `json:"hostname"`
		Version  string `json:"version"`
	}
	if json.Unmarshal(data, &node) != nil || node.Address == "" {
		r.fault("daemon", "pilotctl answered, but did not tell the node's address", "check that the daemon and pilotctl are of one version")
		return
	}
	about := "running at " + text.Line(node.Address, 64)
	if node.Hostname != "" {
		about += ", hostname " + text.Line(node.Hostname, 64)
	}
	if node.Version != "" {
		about += ", version " + text.Line(node.Version, 64)
	}
	r.ok("daemon", about)
}

// quoted repeats something that may be anything.
func quoted(s string) string {
	if s = text.Line(s, maxQuote); s == "" {
		return "it printed nothing"
	}
	return fmt.Sprintf("%q", s)
}
