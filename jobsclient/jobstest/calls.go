package jobstest

import (
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

// Names of the daemon's calls, as Call.Method and Fault.Method hold them.
const (
	MethodSubmit = jobspb.Submit
	MethodGet    = jobspb.Get
	MethodList   = jobspb.List
	MethodCancel = jobspb.Cancel
	MethodWatch  = jobspb.Watch
)

// Call is one request that reached the daemon.
type Call struct {
	Method        string
	Time          time.Time
	Conn          int64    // which connection it came on, counted from 1
	Authority     string   // the HTTP/2 :authority
	Authorization []string // the header's values, with the token
	Refused       bool     // its token was refused (HTTP 401)

	JobID  string                    // of Get, Cancel and Watch
	Submit *jobsclient.SubmitRequest // of Submit
	List   *jobsclient.ListOptions   // of List
}

// Calls returns the requests since the start, those of refused tokens too, in
// the order in which they came.
func (d *Daemon) Calls() []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := make([]Call, 0, len(d.calls))
	for _, c := range d.calls {
		calls = append(calls, *c)
	}
	return calls
}

// CallsOf returns the requests of one method.
func (d *Daemon) CallsOf(method string) []Call {
	return slices.DeleteFunc(d.Calls(), func(c Call) bool { return c.Method != method })
}

// Accepts returns how many connections were accepted since the start.
func (d *Daemon) Accepts() int { return int(d.accepts.Load()) }

// Conns returns how many connections are open.
func (d *Daemon) Conns() int {
	d.mu.Lock()
	l := d.listener
	d.mu.Unlock()
	if l == nil {
		return 0
	}
	return l.open()
}

// Watches returns how many watches are open.
func (d *Daemon) Watches() int { return int(d.watches.Load()) }

func (d *Daemon) record(r *http.Request, refused bool) *Call {
	call := &Call{
		Method:        path.Base(r.URL.Path),
		Time:          time.Now(),
		Authority:     r.Host,
		Authorization: slices.Clone(r.Header.Values("Authorization")),
		Refused:       refused,
	}
	if w, ok := r.Context().Value(wireKey{}).(*wire); ok {
		call.Conn = w.number
	}
	if d.options.ForgetCalls {
		return call
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call)
	return call
}
