package front

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
)

const (
	// alias is a second prefix of all paths, which the original daemon has over TCP.
	alias = "/api"

	healthPath = "/" + grpchealth.HealthV1ServiceName + "/"

	// slack is room in a request for what is neither stdin nor args.
	slack = 64 << 10

	// compressFrom is from how many bytes on an answer is compressed for a client
	// that takes it so.
	compressFrom = 4 << 10
)

// Handler serves gRPC, gRPC-Web and Connect, the last also as JSON over HTTP/1.1.
// gRPC needs HTTP/2 of its server. Whoever has no token of an agent or the
// operator is answered HTTP 401; only the health check is served to them, too,
// unless it is said otherwise.
func (f *Front) Handler(requireTokenForHealth bool) http.Handler {
	g := &gate{front: f, healthToken: requireTokenForHealth, routes: map[string]route{}}
	few := f.requestLimit(0)
	many := f.requestLimit(f.MaxStdin)
	g.routes[jobsdpb.SubmitPath] = route{many, connect.NewUnaryHandler(jobsdpb.SubmitPath, unary(f, f.submit), f.options(many)...)}
	g.routes[jobsdpb.GetPath] = route{few, connect.NewUnaryHandler(jobsdpb.GetPath, unary(f, f.get), f.options(few)...)}
	g.routes[jobsdpb.ListPath] = route{few, connect.NewUnaryHandler(jobsdpb.ListPath, unary(f, f.list), f.options(few)...)}
	g.routes[jobsdpb.CancelPath] = route{few, connect.NewUnaryHandler(jobsdpb.CancelPath, unary(f, f.cancel), f.options(few)...)}
	g.routes[jobsdpb.WatchPath] = route{few, connect.NewServerStreamHandler(jobsdpb.WatchPath, f.watch, f.options(few)...)}
	_, g.health = grpchealth.NewHandler(health{f}, f.options(few)...)
	return g
}

// requestLimit is how long a request is read. In JSON text is longer than itself:
// mostly by less than this, and what is not is refused by its size.
func (f *Front) requestLimit(stdin int) int { return 2*(stdin+f.MaxArgs) + slack }

func (f *Front) options(limit int) []connect.HandlerOption {
	return append(codecs(),
		connect.WithReadMaxBytes(limit),
		connect.WithCompressMinBytes(compressFrom),
		connect.WithRecover(func(_ context.Context, spec connect.Spec, _ http.Header, p any) error {
			f.Logger.Error("a call panicked", zap.String("call", path.Base(spec.Procedure)), zap.Any("panic", p), zap.Stack("stack"))
			return refusal(connect.CodeInternal, "the daemon met an error of its own, which its log tells")
		}),
	)
}

// route is a call, and how many bytes of a request it reads.
type route struct {
	limit   int
	handler http.Handler
}

// gate checks tokens before anything of gRPC, as the original daemon does.
type gate struct {
	front       *Front
	routes      map[string]route
	health      http.Handler
	healthToken bool
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, alias+"/") {
		http.StripPrefix(alias, http.HandlerFunc(g.serve)).ServeHTTP(w, r)
		return
	}
	g.serve(w, r)
}

func (g *gate) serve(w http.ResponseWriter, r *http.Request) {
	checks := strings.HasPrefix(r.URL.Path, healthPath)
	if checks && !g.healthToken {
		g.health.ServeHTTP(w, r)
		return
	}
	who, known := g.front.authenticate(r.Header.Values("Authorization"))
	target, found := g.routes[r.URL.Path]
	switch {
	case !known:
		g.front.Observer.Call(name(r.URL.Path, found), connect.CodeUnauthenticated.String(), 0)
		unauthorized(w)
	case checks:
		g.health.ServeHTTP(w, r)
	case !found:
		g.front.Observer.Call(name(r.URL.Path, found), connect.CodeUnimplemented.String(), 0)
		http.NotFound(w, r)
	default:
		g.call(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, who)), who, target)
	}
}

// unauthorized answers as the original does, which gRPC clients show as
// Unauthenticated.
func unauthorized(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("WWW-Authenticate", "Bearer")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, `{"code":"unauthenticated","message":"missing or invalid bearer token"}`)
}

// call refuses a request that says that it is too long before any of it is read,
// in words of ours. One that does not say so meets the same limit while it is read.
func (g *gate) call(w http.ResponseWriter, r *http.Request, who *caller, target route) {
	f := g.front
	inTime(w, r, f.limits.move)
	size := announced(r)
	if size > int64(target.limit) {
		g.refuse(w, r, f.tooLong(r.URL.Path, size, target.limit))
		return
	}
	if size < 0 {
		size = int64(target.limit)
	}
	b := f.budgets.find(who.scope(), f.limits.hand)
	h := &hand{of: b.calls, size: f.limits.hand}
	defer func() { h.keep(0) }()
	if err := f.receive(r.Context(), b, h, int(size)); err != nil {
		g.refuse(w, r, err)
		return
	}
	deadline := http.NewResponseController(w)
	ctx := context.WithValue(r.Context(), handKey{}, h)
	if r.URL.Path == jobsdpb.WatchPath {
		h.keep(0)
		h.of = b.watches
		ctx = context.WithValue(ctx, deadlineKey{}, deadline)
	} else {
		// Where the client reads nothing the answer waits for it.
		_ = deadline.SetWriteDeadline(time.Now().Add(2*f.limits.move + f.limits.store))
		defer deadline.SetWriteDeadline(time.Time{}) //nolint:errcheck // as above
	}
	target.handler.ServeHTTP(w, r.WithContext(ctx))
}

func (f *Front) tooLong(path string, size int64, limit int) error {
	err := fmt.Errorf("the request has %d bytes, of which the daemon reads at most %d", size, limit)
	if path == jobsdpb.SubmitPath {
		err = fmt.Errorf("%w: stdin may have %d bytes, args and labels together %d", err, f.MaxStdin, f.MaxArgs)
	}
	return connect.NewError(connect.CodeInvalidArgument, err)
}

// refuse answers a request that was not read.
func (g *gate) refuse(w http.ResponseWriter, r *http.Request, why error) {
	g.front.Observer.Call(name(r.URL.Path, true), connect.CodeOf(why).String(), 0)
	if err := connect.NewErrorWriter().Write(w, r, why); err != nil {
		g.front.Logger.Debug("refusing a request", zap.Error(err))
	}
}

// announced is how many bytes a request says that it has; negative if it does not
// say, or is compressed. Of gRPC and Connect's streams the message's own prefix
// tells.
func announced(r *http.Request) int64 {
	kind := r.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "application/grpc") && !strings.HasPrefix(kind, "application/connect+") {
		if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
			return -1
		}
		return r.ContentLength
	}
	var prefix [5]byte // flags, and four bytes of length
	n, err := io.ReadFull(r.Body, prefix[:])
	rest := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(prefix[:n]), rest), rest}
	switch {
	case err != nil:
		return 0
	case prefix[0]&1 != 0: // compressed
		return -1
	}
	return int64(binary.BigEndian.Uint32(prefix[1:]))
}

// name is what a call is named in metrics. A path that is none of ours may be
// anything, and is not shown.
func name(procedure string, found bool) string {
	if !found {
		return "unknown"
	}
	return strings.TrimSuffix(strings.TrimSuffix(path.Base(procedure), "AsyncJob"), "AsyncJobs")
}

// unary makes a call of what answers it.
func unary[In, Out any](f *Front, answer func(context.Context, caller, *In) (*Out, error)) func(context.Context, *connect.Request[In]) (*connect.Response[Out], error) {
	return func(ctx context.Context, r *connect.Request[In]) (*connect.Response[Out], error) {
		started := time.Now()
		out, err := answer(ctx, callerOf(ctx), r.Msg)
		f.observe(r.Spec().Procedure, err, started)
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(out), nil
	}
}

func (f *Front) observe(procedure string, err error, started time.Time) {
	code := "ok"
	if err != nil {
		code = connect.CodeOf(err).String()
	}
	f.Observer.Call(name(procedure, true), code, time.Since(started))
}

// health answers grpc.health.v1.
type health struct{ front *Front }

var errNoService = connect.NewError(connect.CodeNotFound, errors.New("unknown service"))

func (h health) Check(_ context.Context, r *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	if r.Service != "" && r.Service != jobsdpb.Service {
		return nil, errNoService
	}
	status := grpchealth.StatusServing
	if h.front.draining.Load() || h.front.Store.Ready() != nil {
		status = grpchealth.StatusNotServing
	}
	return &grpchealth.CheckResponse{Status: status}, nil
}
