package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fantasytools/fantasytools/jobsclient"
)

func statuses() []string {
	return []string{string(jobsclient.Pending), string(jobsclient.Running), string(jobsclient.Done), string(jobsclient.Failed), string(jobsclient.Cancelled), string(jobsclient.Orphaned)}
}

// runJobs lists jobs.
func runJobs(ctx context.Context, args []string, out streams) error {
	var o operator
	var status, agent string
	var limit int
	var asJSON bool
	fs := flag.NewFlagSet("jobsd jobs", flag.ContinueOnError)
	o.flags(fs)
	fs.StringVar(&status, "status", "", "list only jobs in this `state`: "+strings.Join(statuses(), ", "))
	fs.StringVar(&agent, "agent", "", "list only the jobs of the agent with this `name`")
	fs.IntVar(&limit, "limit", 0, "list only this `number` of jobs, the newest; 0: all")
	fs.BoolVar(&asJSON, "json", false, "print one JSON array")
	others, err := parse(fs, about("jobs"), args, out)
	if err != nil {
		return err
	}
	switch {
	case len(others) > 0:
		return noArguments("jobs", others)
	case status != "" && !slices.Contains(statuses(), status):
		return wrongUsage("-status is one of %s, and not %q", strings.Join(statuses(), ", "), status)
	case limit < 0:
		return wrongUsage("-limit is %d; it is at least 0", limit)
	}
	client, err := o.connect()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // returns nil
	jobs, err := client.List(ctx, jobsclient.ListOptions{Status: jobsclient.Status(status)})
	if err != nil {
		return o.explain(err)
	}
	jobs = chosen(jobs, agent, limit)
	if asJSON {
		return printJSON(out, jobs)
	}
	return printTable(out, jobs)
}

// chosen returns the jobs of an agent, if one is named, the newest first.
func chosen(jobs []*jobsclient.Job, agent string, limit int) []*jobsclient.Job {
	if agent != "" {
		jobs = slices.DeleteFunc(jobs, func(j *jobsclient.Job) bool { return j.Labels[agentLabel] != agent })
	}
	slices.SortStableFunc(jobs, func(a, b *jobsclient.Job) int { return b.Created.Compare(a.Created) })
	if limit > 0 && len(jobs) > limit {
		jobs = jobs[:limit]
	}
	return jobs
}

func printTable(out streams, jobs []*jobsclient.Job) error {
	w := tabwriter.NewWriter(out.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tAGENT\tSTATUS\tBIN\tEXIT\tELAPSED\tCREATED")
	now := time.Now()
	for _, j := range jobs {
		exit, elapsed := "-", "-"
		if j.Status == jobsclient.Done {
			exit = fmt.Sprint(j.ExitCode)
		}
		if !j.Started.IsZero() {
			elapsed = j.Elapsed(now).Round(time.Second).String()
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable(j.ID), cmp.Or(printable(j.Labels[agentLabel]), "-"),
			printable(string(j.Status)), printable(j.Bin), exit, elapsed, j.Created.Local().Format(time.DateTime))
	}
	return w.Flush()
}

// jobJSON is a job for programs to read. Times are in UTC and absent while there
// are none.
type jobJSON struct {
	ID        string            `json:"id"`
	Agent     string            `json:"agent,omitempty"`
	Status    string            `json:"status"`
	Bin       string            `json:"bin"`
	Args      []string          `json:"args"`
	ExitCode  *int              `json:"exit_code,omitempty"` // only of a job that is done
	Error     string            `json:"error,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	ElapsedMS int64             `json:"elapsed_ms"`
	Created   *time.Time        `json:"created,omitempty"`
	Started   *time.Time        `json:"started,omitempty"`
	Finished  *time.Time        `json:"finished,omitempty"`
}

func newJobJSON(j *jobsclient.Job) jobJSON {
	row := jobJSON{
		ID: j.ID, Agent: j.Labels[agentLabel], Status: string(j.Status), Bin: j.Bin, Args: append([]string{}, j.Args...),
		ExitCode: exitCode(j), Error: j.Error, ElapsedMS: j.Elapsed(time.Now()).Milliseconds(),
		Created: instant(j.Created), Started: instant(j.Started), Finished: instant(j.Finished), Labels: map[string]string{},
	}
	for key, value := range j.Labels {
		if key != agentLabel {
			row.Labels[key] = value
		}
	}
	return row
}

// exitCode is nil for a job that has none.
func exitCode(j *jobsclient.Job) *int {
	if j.Status != jobsclient.Done {
		return nil
	}
	return &j.ExitCode
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func printJSON(out streams, jobs []*jobsclient.Job) error {
	rows := make([]jobJSON, 0, len(jobs))
	for _, j := range jobs {
		rows = append(rows, newJobJSON(j))
	}
	encoder := json.NewEncoder(out.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(rows)
}
