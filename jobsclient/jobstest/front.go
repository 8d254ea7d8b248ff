package jobstest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

// caller is who a request comes from.
type caller struct {
	operator     bool
	agent        string // a UUID
	capabilities []Capability
}

type callerKey struct{}

// front checks tokens before anything of gRPC, as the daemon does: a bad one is
// HTTP 401 with a JSON body, an unknown path 404 with a text.
func (d *Daemon) front(inner *grpc.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.enter() {
			panic(http.ErrAbortHandler)
		}
		defer d.handlers.Done()
		who, text := d.authenticate(r.Header.Values("Authorization"))
		call := d.record(r, text != "")
		if text != "" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":"unauthenticated","message":"` + text + `"}`))
			return
		}
		if !known(r.URL.Path) {
			http.NotFound(w, r)
			return
		}
		ctx := context.WithValue(r.Context(), callerKey{}, who)
		inner.ServeHTTP(w, r.WithContext(context.WithValue(ctx, callKey{}, call)))
	})
}

// enter counts a request, unless the daemon is going down and has begun to wait
// for those that it counted.
func (d *Daemon) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener == nil {
		return false
	}
	d.handlers.Add(1)
	return true
}

type callKey struct{}

func known(path string) bool {
	return slices.Contains([]string{jobspb.SubmitPath, jobspb.GetPath, jobspb.ListPath, jobspb.CancelPath, jobspb.WatchPath}, path)
}

// authenticate reads the first authorization value. Without any, a request over
// TCP is the operator's.
func (d *Daemon) authenticate(values []string) (caller, string) {
	if len(values) == 0 {
		if d.options.Transport == TCP {
			return caller{operator: true}, ""
		}
		return caller{}, errToken.Error()
	}
	token, bearer := strings.CutPrefix(values[0], "Bearer ")
	if !bearer {
		return caller{}, errToken.Error()
	}
	c, err := verify(d.key, strings.TrimSpace(token), time.Now())
	if err != nil {
		return caller{}, err.Error()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.revoked[c.ID] {
		return caller{}, "token has been revoked"
	}
	return caller{operator: c.Agent == "", agent: c.Agent, capabilities: c.Capabilities}, ""
}
