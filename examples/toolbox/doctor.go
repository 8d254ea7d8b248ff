package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/fantasytools/fantasytools/internal/text"
)

// status is how a thing that doctor looked at is.
type status string

const (
	statusOK      status = "ok"
	statusMissing status = "missing" // not set up; what needs it is left out
	statusFault   status = "fault"   // set up and broken
)

// finding is one thing that doctor looked at, as it is printed with -json.
type finding struct {
	Check   string `json:"check"`   // programs, jobs or pilot
	Subject string `json:"subject"` // the tool, variable, capability or program
	Status  status `json:"status"`
	Finding string `json:"finding"` // what was found, one sentence
	Advice  string `json:"advice"`  // what to do; "": nothing
}

// report is told of findings, and prints them when they come.
type report struct {
	app      *app
	findings []finding
	check    string
	err      error // of printing
}

// doctor looks at all that tools are made of. Nothing is changed by it, no job
// is started and no peer is written to.
func (a *app) doctor(ctx context.Context) error {
	r := &report{app: a, findings: []finding{}}
	for _, c := range []struct {
		name  string
		check func(context.Context, *report)
	}{{"programs", a.checkPrograms}, {"jobs", a.checkJobs}, {"pilot", a.checkPilot}} {
		r.begin(c.name)
		c.check(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	if r.count(statusFault) > 0 {
		return errReported
	}
	return nil
}

// begin puts a heading over the findings of a check.
func (r *report) begin(check string) {
	gap := "\n"
	if r.check == "" {
		gap = ""
	}
	r.check = check
	r.printf("%s%s\n", gap, r.app.paint.in(bold, check))
}

func (r *report) ok(subject, found string)              { r.add(statusOK, subject, found, "") }
func (r *report) missing(subject, found, advice string) { r.add(statusMissing, subject, found, advice) }
func (r *report) fault(subject, found, advice string)   { r.add(statusFault, subject, found, advice) }

// maxFinding is how many bytes a finding, or its advice, has at most.
const maxFinding = 2000

// add cleans everything: programs, daemons, files and variables may say anything,
// and the terminal must not do it.
func (r *report) add(s status, subject, found, advice string) {
	subject, found, advice = text.Line(subject, 200), text.Line(found, maxFinding), text.Line(advice, maxFinding)
	r.findings = append(r.findings, finding{Check: r.check, Subject: subject, Status: s, Finding: found, Advice: advice})
	colors := map[status]string{statusOK: green, statusMissing: yellow, statusFault: bold + ";" + red}
	r.printf("  %s %s: %s\n", r.app.paint.in(colors[s], fmt.Sprintf("%-7s", s)), subject, found)
	if advice != "" {
		r.printf("  %-7s %s\n", "", r.app.paint.in(faint, "-> "+advice))
	}
}

func (r *report) end() error {
	if r.app.opts.json {
		return r.app.printJSON(r.findings)
	}
	r.printf("\n%d ok, %d missing, %s\n", r.count(statusOK), r.count(statusMissing), plural(r.count(statusFault), "fault"))
	return r.err
}

func (r *report) count(s status) int {
	n := 0
	for _, f := range r.findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

func (r *report) printf(format string, args ...any) {
	if r.err == nil && !r.app.opts.json {
		r.err = r.app.printf(format, args...)
	}
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// sentence puts several lines of an error into one.
func sentence(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
