package main

import (
	"context"
	"encoding/json"
	"flag"

	"github.com/fantasytools/fantasytools/jobsclient"
)

// runLogs prints what a job has written, and with -f what it writes.
func runLogs(ctx context.Context, args []string, out streams) error {
	var o operator
	var follow, asJSON bool
	fs := flag.NewFlagSet("jobsd logs", flag.ContinueOnError)
	o.flags(fs)
	fs.BoolVar(&follow, "f", false, "follow the job until its end; the exit status is 0 if it is done with exit code 0, and else 1")
	fs.BoolVar(&asJSON, "json", false, "print one JSON object a change, each with the output that is new")
	ids, err := parse(fs, about("logs"), args, out)
	if err != nil {
		return err
	}
	if len(ids) != 1 {
		return wrongUsage("jobsd logs takes the id of one job; jobsd jobs lists them")
	}
	client, err := o.connect()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // returns nil
	// A watch would wait for a daemon that is not there.
	job, err := client.Get(ctx, ids[0])
	if err != nil {
		return o.explainOf(ids[0], err)
	}
	p := &logPrinter{out: out, json: asJSON}
	if follow && !job.Ended() {
		if job, err = p.follow(ctx, client, ids[0]); err != nil {
			return o.explainOf(ids[0], err)
		}
	} else if err := p.print(job); err != nil {
		return err
	}
	return p.conclude(job, follow)
}

// logPrinter prints what is new in each state of a job.
type logPrinter struct {
	out            streams
	json           bool
	stdout, stderr growing
}

// follow prints the job until its end, which it returns.
func (p *logPrinter) follow(ctx context.Context, client *jobsclient.Client, id string) (*jobsclient.Job, error) {
	var last *jobsclient.Job
	for job, err := range client.Watch(ctx, id) {
		if err != nil {
			return last, err
		}
		if err := p.print(job); err != nil {
			return last, err
		}
		last = job
	}
	return last, nil
}

// change is a state of a job with the output that is new in it.
type change struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Stdout   string `json:"stdout,omitempty"`
	Stderr   string `json:"stderr,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"` // only of a job that is done
	Error    string `json:"error,omitempty"`
}

func (p *logPrinter) print(job *jobsclient.Job) error {
	stdout, stderr := p.stdout.add(job.Stdout), p.stderr.add(job.Stderr)
	if p.json {
		encoder := json.NewEncoder(p.out.stdout)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(change{job.ID, string(job.Status), stdout, stderr, exitCode(job), job.Error})
	}
	if err := show(p.out.stderr, stderr); err != nil {
		return err
	}
	return show(p.out.stdout, stdout)
}

// conclude says how the job ended, if that is not plain.
func (p *logPrinter) conclude(job *jobsclient.Job, follow bool) error {
	good := job.Status == jobsclient.Done && job.ExitCode == 0
	switch {
	case good || p.json:
	case job.Ended():
		p.out.note("%s %s", printable(job.ID), ended(job))
	default:
		p.out.note("%s is still %s; jobsd logs -f follows it", printable(job.ID), printable(string(job.Status)))
	}
	if follow && !good {
		return &failure{status: exitFailed}
	}
	return nil
}
