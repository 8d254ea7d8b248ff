package jobsclient

import (
	"maps"
	"slices"
	"time"
	"unsafe"

	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

// Status is where a job is in its life.
type Status string

// The states of a job. The last four are final.
const (
	Pending   Status = "pending"   // waits for one of the daemon's slots
	Running   Status = "running"   // the process runs
	Done      Status = "done"      // the process ended by itself, whatever its exit code
	Failed    Status = "error"     // the process could not be started, or the daemon lost it; Job.Error tells why
	Cancelled Status = "cancelled" // the process was killed by a cancel or by the daemon's own end
	Orphaned  Status = "orphaned"  // the daemon died meanwhile and does not know how the process ended
)

// Terminal tells whether a job in this state will not change any more.
func (s Status) Terminal() bool {
	return s == Done || s == Failed || s == Cancelled || s == Orphaned
}

// Job is a binary that runs, or ran, at the daemon.
type Job struct {
	ID   string
	Bin  string
	Args []string

	Status Status

	// ExitCode is the process's, valid only when Status is Done.
	// The daemon reports a process that a signal killed as 0 where it runs
	// processes itself, and as 128 plus the signal where it runs containers.
	ExitCode int

	// Stdout and Stderr are what the process wrote so far, whole. The token is
	// taken out of them; apart from that they are as the process wrote them.
	Stdout, Stderr string

	// Error tells why a job is Failed.
	Error string

	Labels map[string]string

	// Times in whole seconds; the zero time: not yet.
	Created, Started, Finished time.Time
}

// Ended tells whether the job will not change any more: its Status is terminal,
// or one that this package does not know and it has a time of its end.
func (j *Job) Ended() bool {
	return j.Status.Terminal() || j.Status != Pending && j.Status != Running && !j.Finished.IsZero()
}

// Elapsed is how long the job has been running at now, or ran, without the time
// it was queued; 0 if it was never started.
func (j *Job) Elapsed(now time.Time) time.Duration {
	switch {
	case j.Started.IsZero():
		return 0
	case !j.Finished.IsZero():
		return max(0, j.Finished.Sub(j.Started))
	}
	return max(0, now.Sub(j.Started))
}

// jobFrom takes over a row. The label with which Submit marks a job is dropped:
// it is the client's, not the caller's.
func jobFrom(row *jobspb.Job, r redactor) *Job {
	labels := make(map[string]string, len(row.GetLabels()))
	for key, value := range row.GetLabels() {
		labels[r.plain(key)] = r.plain(value)
	}
	delete(labels, SubmitLabel)
	args := slices.Clone(row.GetArgs())
	for i := range args {
		args[i] = r.plain(args[i])
	}
	return &Job{
		ID:       r.plain(row.GetId()),
		Bin:      r.plain(row.GetBin()),
		Args:     args,
		Status:   Status(r.plain(row.GetStatus())),
		ExitCode: int(row.GetExitCode()),
		Stdout:   r.plain(textOf(row.GetStdout())),
		Stderr:   r.plain(textOf(row.GetStderr())),
		Error:    r.text(textOf(row.GetError())),
		Labels:   labels,
		Created:  unixTime(row.GetCreatedAt()),
		Started:  unixTime(row.GetStartedAt()),
		Finished: unixTime(row.GetFinishedAt()),
	}
}

// textOf returns the bytes of a received message as a string. It does not copy
// them: output may be large, and nobody else holds the message.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

func withLabel(labels map[string]string, key, value string) map[string]string {
	marked := make(map[string]string, len(labels)+1)
	maps.Copy(marked, labels)
	marked[key] = value
	return marked
}
