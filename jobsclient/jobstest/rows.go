package jobstest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

// row is a job as the daemon's database holds it.
type row struct {
	*jobspb.Job
	seq     int
	version int  // counts what a watch reports
	run     *run // its process, while there is one
}

// snapshot returns the row for sending. Output only ever grows at its end, so
// the bytes can be shared.
func (r *row) snapshot() *jobspb.Job {
	return &jobspb.Job{
		Id: r.Id, AgentId: r.AgentId, Bin: r.Bin, Args: r.Args, Stdin: r.Stdin, Status: r.Status, Handle: r.Handle,
		ExitCode: r.ExitCode, Stdout: r.Stdout, Stderr: r.Stderr, Error: r.Error,
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Labels: r.Labels,
	}
}

// sendable tells whether the row is text all through, as protobuf wants it.
func sendable(j *jobspb.Job) bool {
	return utf8.Valid(j.Stdin) && utf8.Valid(j.Stdout) && utf8.Valid(j.Stderr) && utf8.Valid(j.Error)
}

func (r *row) terminal() bool { return jobsclient.Status(r.Status).Terminal() }

// changed tells the watches. The daemon's mutex is held, as in all lower-case
// methods of this file.
func (d *Daemon) changed() {
	close(d.change)
	d.change = make(chan struct{})
}

// row returns the job, or nil.
func (d *Daemon) row(id string) *row { return d.byID[id] }

func (d *Daemon) insert(job *jobspb.Job) *row {
	d.created++
	r := &row{Job: job, seq: d.created}
	d.rows = append(d.rows, r)
	d.byID[job.GetId()] = r
	return r
}

// delete removes the jobs that gone names.
func (d *Daemon) delete(gone func(*row) bool) {
	d.rows = slices.DeleteFunc(d.rows, func(r *row) bool {
		if gone(r) {
			delete(d.byID, r.Id)
			return true
		}
		return false
	})
	d.changed()
}

// list sorts as the daemon does: by creation in whole seconds, the newest first.
// Within a second the newest comes first only if a status was asked for;
// otherwise jobs stand by status, the oldest first.
func (d *Daemon) list(keep func(*jobspb.Job) bool, byStatus bool) []*jobspb.Job {
	var chosen []*row
	for _, r := range d.rows {
		if keep(r.Job) {
			chosen = append(chosen, r)
		}
	}
	slices.SortFunc(chosen, func(a, b *row) int {
		if byStatus {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), b.seq-a.seq)
		}
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.Status, b.Status), a.seq-b.seq)
	})
	jobs := make([]*jobspb.Job, 0, len(chosen))
	for _, r := range chosen {
		jobs = append(jobs, r.snapshot())
	}
	return jobs
}

// AddJob puts a job into the daemon's database as it stands, without a process;
// Update changes it. An empty ID becomes a new one, an empty status Running,
// and Created now. It returns the id.
func (d *Daemon) AddJob(a *Agent, j jobsclient.Job) string {
	j.ID = cmp.Or(j.ID, "job_"+newUUID())
	j.Status = cmp.Or(j.Status, jobsclient.Running)
	if j.Created.IsZero() {
		j.Created = time.Now()
	}
	if j.Started.IsZero() && j.Status != jobsclient.Pending {
		j.Started = j.Created
	}
	if j.Finished.IsZero() && j.Status.Terminal() {
		j.Finished = j.Created
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.insert(&jobspb.Job{Id: j.ID, AgentId: a.ID})
	r.set(j)
	d.changed()
	return j.ID
}

// Update changes a job in the daemon's database, in whatever state the daemon
// is; the ID stays. It panics if there is no such job.
func (d *Daemon) Update(id string, change func(*jobsclient.Job)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.row(id)
	if r == nil {
		panic(fmt.Sprintf("jobstest: there is no job %q", id))
	}
	j := r.job()
	change(&j)
	r.set(j)
	d.changed()
}

// Finish ends a job: done, with this output and exit code.
func (d *Daemon) Finish(id, stdout string, code int) {
	d.Update(id, func(j *jobsclient.Job) {
		j.Status, j.Stdout, j.ExitCode, j.Finished = jobsclient.Done, stdout, code, time.Now()
	})
}

// Forget deletes a job.
func (d *Daemon) Forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delete(func(r *row) bool { return r.Id == id })
}

// Job returns a job as the daemon holds it, with all labels, and whether there
// is such a job.
func (d *Daemon) Job(id string) (jobsclient.Job, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.row(id); r != nil {
		return r.job(), true
	}
	return jobsclient.Job{}, false
}

// Jobs returns all jobs, the oldest first.
func (d *Daemon) Jobs() []jobsclient.Job {
	d.mu.Lock()
	defer d.mu.Unlock()
	jobs := make([]jobsclient.Job, 0, len(d.rows))
	for _, r := range d.rows {
		jobs = append(jobs, r.job())
	}
	return jobs
}

// AwaitJob returns the job once it is as ready wants it, or the context's error.
func (d *Daemon) AwaitJob(ctx context.Context, id string, ready func(jobsclient.Job) bool) (jobsclient.Job, error) {
	for {
		d.mu.Lock()
		change := d.change
		r := d.row(id)
		var j jobsclient.Job
		if r != nil {
			j = r.job()
		}
		d.mu.Unlock()
		if r != nil && ready(j) {
			return j, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return j, ctx.Err()
		}
	}
}

func (r *row) job() jobsclient.Job {
	return jobsclient.Job{
		ID: r.Id, Bin: r.Bin, Args: slices.Clone(r.Args), Status: jobsclient.Status(r.Status), ExitCode: int(r.ExitCode),
		Stdout: string(r.Stdout), Stderr: string(r.Stderr), Error: string(r.Error), Labels: maps.Clone(r.Labels),
		Created: timeOf(r.CreatedAt), Started: timeOf(r.StartedAt), Finished: timeOf(r.FinishedAt),
	}
}

func (r *row) set(j jobsclient.Job) {
	r.Bin, r.Args, r.Status, r.ExitCode = j.Bin, slices.Clone(j.Args), string(j.Status), int32(max(0, j.ExitCode))
	r.Stdout, r.Stderr, r.Error = replaced(r.Stdout, j.Stdout), replaced(r.Stderr, j.Stderr), replaced(r.Error, j.Error)
	r.Labels = maps.Clone(j.Labels)
	r.CreatedAt, r.StartedAt, r.FinishedAt = seconds(j.Created), seconds(j.Started), seconds(j.Finished)
	r.version++
}

func replaced(old []byte, s string) []byte {
	if string(old) == s {
		return old
	}
	return bytes.Clone([]byte(s))
}

func timeOf(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
