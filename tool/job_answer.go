package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/text"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// JobResult is the Metadata, as JSON, of an answer that describes a job: what a host
// may want to know and a model need not.
type JobResult struct {
	JobID       string `json:"job_id"`
	Status      string `json:"status"`
	ExitCode    int    `json:"exit_code"`    // valid only when Status is done
	ElapsedMS   int64  `json:"elapsed_ms"`   // time of running, in whole seconds at the daemon
	StdoutBytes int    `json:"stdout_bytes"` // as the process wrote them
	StderrBytes int    `json:"stderr_bytes"`
}

// jobText is a job as the model reads it.
type jobText struct {
	JobID    string `json:"job_id"`
	Status   string `json:"status"`
	ExitCode *int   `json:"exit_code,omitempty"` // of a job that is done
	Elapsed  string `json:"elapsed,omitempty"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	Error    string `json:"error,omitempty"`
	Note     string `json:"note,omitempty"`
}

// runningTail is how many bytes of each stream of a running job are shown.
const runningTail = 2 << 10

// describe answers a job: all of one that has ended, within the bound of a
// binary's output; of one that runs the end of its output.
func describe(job *jobsclient.Job, note string) fantasy.ToolResponse {
	shown := jobText{
		JobID:  shownID(job.ID),
		Status: shownStatus(job),
		Error:  text.Cut(job.Error, runningTail),
		Note:   note,
	}
	if job.Status == jobsclient.Done {
		shown.ExitCode = &job.ExitCode
	}
	elapsed := job.Elapsed(time.Now())
	if !job.Started.IsZero() {
		shown.Elapsed = elapsed.Round(time.Second).String()
	}
	if job.Ended() {
		shown.Stdout, shown.Stderr = bounded(job.Stdout, job.Stderr)
	} else {
		shown.Stdout, shown.Stderr = tail(job.Stdout), tail(job.Stderr)
	}
	return jobAnswer(shown, JobResult{
		JobID: shown.JobID, Status: shown.Status, ExitCode: job.ExitCode, ElapsedMS: elapsed.Milliseconds(),
		StdoutBytes: len(job.Stdout), StderrBytes: len(job.Stderr),
	})
}

// shownStatus is the state of a job as answers repeat it: a newer daemon may have
// states that are not known here.
func shownStatus(job *jobsclient.Job) string { return text.Line(string(job.Status), 100) }

// bounded cuts two streams so that together, as JSON, they are no longer than a
// binary's output may be, notices aside. What one does not need the other gets.
func bounded(stdout, stderr string) (string, string) {
	a, b := window(stdout), window(stderr)
	for limit := text.DefaultMax; ; {
		forA, forB := text.Share(limit, a, b)
		out, errs := a.Cut(forA), b.Cut(forB)
		size := len(encodeJSON(out)) + len(encodeJSON(errs))
		const notices = 256
		if size <= text.DefaultMax+notices || limit < 1024 {
			return out, errs
		}
		limit = min(limit-512, limit*text.DefaultMax/size)
	}
}

// window reads only the ends of a long stream, which is all that can be shown.
func window(s string) *text.Stream {
	const size = 2 * text.DefaultMax
	if notice := notText(s); notice != "" {
		return text.NewStream([]byte(notice), nil, 0)
	}
	if len(s) <= 2*size {
		return text.NewStream([]byte(s), nil, 0)
	}
	return text.NewStream([]byte(s[:size]), []byte(s[len(s)-size:]), int64(len(s)-2*size))
}

// notText announces output that is valid UTF-8 and no text all the same, such as
// NULs; of text it returns "".
func notText(s string) string {
	mediaType := text.BinaryType([]byte(s[:min(len(s), text.SniffLen)]))
	if mediaType == "" {
		return ""
	}
	return fmt.Sprintf("(%d bytes of %s, which is not shown; let the binary write it to a file, or text instead)", len(s), mediaType)
}

// tail returns the end of a stream, and says how much stands before it.
func tail(s string) string {
	if notice := notText(s); notice != "" {
		return notice
	}
	if len(s) <= runningTail {
		return text.Clean(s)
	}
	from := len(s) - runningTail
	for from < len(s) && s[from]&0xC0 == 0x80 {
		from++
	}
	return fmt.Sprintf("[… %d bytes before]\n%s", from, text.Clean(s[from:]))
}

func jobAnswer(content any, result JobResult) fantasy.ToolResponse {
	return fantasy.WithResponseMetadata(fantasy.NewTextResponse(encodeJSON(content)), result)
}

// encodeJSON leaves <, > and & as they are, which models read better.
func encodeJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error() // strings, numbers and maps of them always encode
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

// withoutDeadline returns a context that ends with ctx, but has no deadline, so
// that the client's own limits hold.
func withoutDeadline(ctx context.Context) context.Context { return noDeadline{ctx} }

type noDeadline struct{ context.Context }

func (noDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }
