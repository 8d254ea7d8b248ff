package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/fantasytools/fantasytools/jobsclient"
)

// cancelWait is how long a job that was told to stop is waited for.
const cancelWait = 10 * time.Second

// runCancel cancels jobs and says what became of each.
func runCancel(ctx context.Context, args []string, out streams) error {
	var o operator
	var asJSON bool
	fs := flag.NewFlagSet("jobsd cancel", flag.ContinueOnError)
	o.flags(fs)
	fs.BoolVar(&asJSON, "json", false, "print one JSON object a job")
	ids, err := parse(fs, about("cancel"), args, out)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return wrongUsage("jobsd cancel takes the ids of jobs; jobsd jobs lists them")
	}
	client, err := o.connect()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // returns nil
	failed := false
	for _, id := range ids {
		r, err := cancel(ctx, client, id)
		if ctx.Err() != nil || errors.Is(err, jobsclient.ErrUnauthenticated) || errors.Is(err, jobsclient.ErrUnavailable) {
			return o.explain(err) // nor would the next one fare better
		}
		if err != nil {
			r = cancelled{ID: id, Message: o.explainOf(id, err).Error()}
		}
		failed = failed || !r.Cancelled
		if err := r.print(out, asJSON); err != nil {
			return err
		}
	}
	if failed {
		return &failure{status: exitFailed}
	}
	return nil
}

// cancelled is what became of a job that was to be cancelled.
type cancelled struct {
	ID        string `json:"id"`
	Cancelled bool   `json:"cancelled"` // or about to be
	Status    string `json:"status,omitempty"`
	Message   string `json:"message"`
}

func (r cancelled) print(out streams, asJSON bool) error {
	switch {
	case asJSON:
		encoder := json.NewEncoder(out.stdout)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(r)
	case !r.Cancelled:
		out.note("%s", r.Message)
		return nil
	}
	_, err := fmt.Fprintln(out.stdout, r.Message)
	return err
}

func cancel(ctx context.Context, client *jobsclient.Client, id string) (cancelled, error) {
	err := client.Cancel(ctx, id)
	if errors.Is(err, jobsclient.ErrNotRunning) {
		return notRunning(ctx, client, id)
	}
	if err != nil {
		return cancelled{}, err
	}
	waiting, stop := context.WithTimeout(ctx, cancelWait)
	defer stop()
	job, err := client.Wait(waiting, id)
	r := cancelled{ID: id, Cancelled: true}
	if job != nil {
		r.Status = string(job.Status)
	}
	switch {
	case ctx.Err() != nil:
		return r, err
	case err != nil:
		r.Message = id + " is told to stop, and has not stopped yet"
	case job.Status == jobsclient.Cancelled:
		r.Message = id + " is cancelled"
	default:
		r.Cancelled = false
		r.Message = id + " was just ending by itself: it " + ended(job)
	}
	return r, nil
}

// notRunning tells why a job cannot be cancelled.
func notRunning(ctx context.Context, client *jobsclient.Client, id string) (cancelled, error) {
	job, err := client.Get(ctx, id)
	if err != nil {
		return cancelled{}, err
	}
	r := cancelled{ID: id, Status: string(job.Status)}
	if job.Ended() {
		r.Message = fmt.Sprintf("%s has ended already: it %s", id, ended(job))
	} else {
		r.Message = fmt.Sprintf("%s is %s, and the daemon does not cancel it now; try again", id, job.Status)
	}
	return r, nil
}
