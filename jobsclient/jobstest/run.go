package jobstest

import (
	"context"
	"fmt"
	"time"

	"github.com/fantasytools/fantasytools/jobsclient"
)

// run is one process of a job. Its fields are guarded by the daemon's mutex.
type run struct {
	row       *row
	program   bool // a real one
	kill      context.CancelFunc
	cancelled bool
	lost      bool // its daemon is dead, or its end is already written
}

// lose takes the process away from the daemon's database. A real one lives on,
// a played one has nobody to play for.
func (r *run) lose() {
	r.lost = true
	if !r.program {
		r.kill()
	}
}

// dispatch starts queued jobs while there are slots, unless the daemon is down.
// The daemon's mutex is held.
func (d *Daemon) dispatch() {
	if d.listener == nil {
		return
	}
	for len(d.queue) > 0 && d.running() < d.options.MaxRunning {
		w := d.queue[0]
		d.queue = d.queue[1:]
		if d.row(w.Id) == w && w.Status == string(jobsclient.Pending) && d.options.Bins[w.Bin].runnable() {
			d.start(w)
		}
	}
}

// refuseUnprepared ends the queued jobs that a daemon before this one left, of
// agents that are not ready yet. The daemon's mutex is held.
func (d *Daemon) refuseUnprepared() {
	for _, a := range d.agents {
		if a.state == AgentReady {
			continue
		}
		for _, w := range d.queue {
			if w.AgentId == a.ID && w.Status == string(jobsclient.Pending) {
				w.Status, w.FinishedAt = string(jobsclient.Failed), time.Now().Unix()
				w.Error = fmt.Appendf(nil, "system exec: agent %s not initialized — call Prepare/Run first", a.ID)
				w.version++
			}
		}
	}
	d.changed()
}

func (b Bin) runnable() bool { return b.Run != nil || b.Path != "" }

func (d *Daemon) running() int {
	n := 0
	for r := range d.runs {
		if !r.lost {
			n++
		}
	}
	return n
}

func (d *Daemon) start(w *row) {
	bin := d.options.Bins[w.Bin]
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{row: w, program: bin.Run == nil, kill: cancel}
	w.run = r
	d.runs[r] = struct{}{}
	w.Status, w.StartedAt = string(jobsclient.Running), time.Now().Unix()
	w.version++
	d.changed()
	p := &Process{
		JobID: w.Id, Args: w.Args, Stdin: string(w.Stdin),
		Stdout: writer(func(b []byte) { d.print(r, func() { w.Stdout = append(w.Stdout, b...) }) }),
		Stderr: writer(func(b []byte) { d.print(r, func() { w.Stderr = append(w.Stderr, b...) }) }),
	}
	d.jobs.Go(func() {
		defer cancel()
		code, err := bin.run(ctx, p)
		d.ended(r, code, err)
	})
}

func (d *Daemon) print(r *run, add func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.lost || r.cancelled && !r.program {
		return
	}
	add()
	r.row.version++
	d.changed()
}

func (d *Daemon) ended(r *run, code int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !r.lost {
		d.finish(r, func(w *row) {
			switch {
			case r.cancelled:
				w.Status = string(jobsclient.Cancelled)
			case err != nil:
				w.Status, w.Error = string(jobsclient.Failed), []byte(err.Error())
			default:
				w.Status, w.ExitCode = string(jobsclient.Done), int32(max(0, code))
			}
		})
	}
	delete(d.runs, r)
	d.dispatch()
}

// finish writes the end of a job, unless a test has written another.
func (d *Daemon) finish(r *run, write func(*row)) {
	r.lost = true
	r.row.run = nil
	if r.row.terminal() {
		return
	}
	write(r.row)
	r.row.Handle = "4711"
	r.row.FinishedAt = time.Now().Unix()
	r.row.version++
	d.changed()
}

// orphan marks the jobs that a daemon before this one left running.
func (d *Daemon) orphan() {
	for _, w := range d.rows {
		if w.Status == string(jobsclient.Running) {
			w.Status, w.FinishedAt = string(jobsclient.Orphaned), time.Now().Unix()
			w.version++
		}
		w.run = nil
	}
	d.changed()
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}
