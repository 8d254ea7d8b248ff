package front

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
)

const (
	// MaxExcerpt is how many bytes of stdin and of each output stream a row of a
	// list shows. Get shows all.
	MaxExcerpt = 4 << 10

	// MaxList is how many bytes of rows a list has until the older ones come
	// without stdin and output, and with few args.
	MaxList = 32 << 20

	// mostList is how many bytes a list has in any case: clients read 64 MiB.
	mostList = 56 << 20
)

// list answers a caller's jobs, the newest first.
func (f *Front) list(ctx context.Context, who caller, in *jobsdpb.ListRequest) (*jobsdpb.ListResponse, error) {
	if err := who.may(agents.List); err != nil {
		return nil, err
	}
	agent := who.scope()
	if who.operator() {
		agent = in.GetAgentId()
	}
	if err := f.reserve(ctx, 2*MaxList); err != nil {
		return nil, err
	}
	inner, cancel := context.WithTimeout(ctx, f.limits.store)
	defer cancel()
	var l listing
	err := f.Store.List(inner, agent, func(r *jobsdpb.Record, _ uint64) bool {
		if selected(r, in) {
			l.add(r, shownTo(who, excerpt(r)))
		}
		return l.bare <= f.limits.list
	})
	switch {
	case err != nil:
		return nil, f.answer(ctx, "listing jobs", err)
	case l.bare > f.limits.list:
		return nil, refusal(connect.CodeResourceExhausted, "the list is longer than %d bytes even without output: narrow it by a status or by labels", f.limits.list)
	}
	jobs := l.jobs()
	inHand(ctx).keep(l.size)
	return &jobsdpb.ListResponse{Jobs: jobs}, nil
}

// selected tells whether a job is of the status, if one is asked for, and has all
// of the labels.
func selected(r *jobsdpb.Record, in *jobsdpb.ListRequest) bool {
	if in.GetStatus() != "" && in.GetStatus() != r.GetStatus() {
		return false
	}
	for key, want := range in.GetLabelSelector() {
		if got, labelled := r.GetLabels()[key]; !labelled || got != want {
			return false
		}
	}
	return true
}

// excerpt makes a job's row of its record alone.
func excerpt(r *jobsdpb.Record) *jobsdpb.Job {
	row := newRow(r)
	row.Stdin = part(r.GetStdin(), r.GetStdinSize())
	row.Stdout = part(r.GetStdout().GetInline(), r.GetStdout().GetSize())
	row.Stderr = part(r.GetStderr().GetInline(), r.GetStderr().GetSize())
	if r.GetStarted() != 0 && r.GetStdout() == nil {
		row.Stdout = "[Get shows the output so far]"
	}
	return row
}

// part shows so many bytes as a list has room for: the start and the end.
func part(inline []byte, size int64) string {
	const half = MaxExcerpt / 2
	if int64(len(inline)) < size {
		return unshown(size)
	}
	limit := bounds{half, half}
	if len(inline) <= MaxExcerpt {
		if s := valid(inline); len(s) <= MaxExcerpt {
			return s
		}
	}
	end := limit.prefix(inline)
	start := end + limit.suffix(inline[end:])
	if start == end {
		return valid(inline)
	}
	return fmt.Sprintf("%s\n[%d bytes are left out here; Get shows them]\n%s", valid(inline[:end]), start-end, valid(inline[start:]))
}

// unshown is the line that stands in for a text of which nothing is shown.
func unshown(size int64) string {
	if size == 0 {
		return ""
	}
	return fmt.Sprintf("[%d bytes; Get shows them]", size)
}

// listing gathers rows within bounds: whenever they have got too many bytes the
// older ones are shortened. What is shortened stays so, since newer rows only make
// less room.
type listing struct {
	rows []listed
	size int // bytes of the rows as they are
	bare int // bytes of the rows if all were shortened
}

type listed struct {
	job     *jobsdpb.Job
	created int64        // nanoseconds
	short   *jobsdpb.Job // nil: job is
	size    int          // of job
	bare    int          // of short
	cut     bool         // job was shortened
}

func (l *listing) add(r *jobsdpb.Record, job *jobsdpb.Job) {
	row := listed{job: job, created: r.GetCreated(), short: shortened(r, job), size: sizeOf(job)}
	row.bare = sizeOf(row.short)
	if row.bare >= row.size {
		row.short, row.bare = nil, row.size
	}
	l.rows = append(l.rows, row)
	l.size += row.size
	l.bare += row.bare
	if l.size > 2*MaxList+l.bare {
		l.shorten()
	}
}

// sizeOf is how many bytes a row takes in an answer.
func sizeOf(job *jobsdpb.Job) int { return proto.Size(job) + 8 }

// shorten sorts the rows, and shortens those for which there is no room.
func (l *listing) shorten() {
	slices.SortFunc(l.rows, func(a, b listed) int {
		return cmp.Or(cmp.Compare(b.created, a.created), strings.Compare(b.job.GetId(), a.job.GetId()))
	})
	l.size = l.bare
	full := false
	for i := range l.rows {
		row := &l.rows[i]
		if row.short == nil {
			full = full || row.cut
			continue
		}
		if more := row.size - row.bare; !full && l.size+more <= MaxList {
			l.size += more
			continue
		}
		full = true
		row.job, row.short, row.size, row.cut = row.short, nil, row.bare, true
	}
}

func (l *listing) jobs() []*jobsdpb.Job {
	l.shorten()
	jobs := make([]*jobsdpb.Job, len(l.rows))
	for i, row := range l.rows {
		jobs[i] = row.job
	}
	return jobs
}

// shortened is a row without stdin and output, and with few args.
func shortened(r *jobsdpb.Record, job *jobsdpb.Job) *jobsdpb.Job {
	short := newRow(r)
	short.Labels = job.GetLabels()
	short.Args = few(job.GetArgs())
	short.Stdin, short.Stdout, short.Stderr = unshown(r.GetStdinSize()), unshown(r.GetStdout().GetSize()), unshown(r.GetStderr().GetSize())
	if r.GetStdout() == nil {
		short.Stdout = job.GetStdout()
	}
	return short
}

// few is as many args as are short together, and one that says what is missing.
func few(args []string) []string {
	const room = 512
	size := 0
	for i, arg := range args {
		if size += len(arg) + 1; size > room {
			return append(slices.Clip(args[:i]), fmt.Sprintf("[%d more args; Get shows them]", len(args)-i))
		}
	}
	return args
}
