package jobstest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

var (
	errNoJob  = status.Error(codes.NotFound, "async job not found")
	errNoID   = status.Error(codes.InvalidArgument, "job_id is required")
	errBinary = status.Error(codes.Internal, "marshal message: string field contains invalid UTF-8")
)

// service makes the gRPC server. It is registered with this server only, so the
// daemon's own registration in the process is not disturbed.
func (d *Daemon) service() *grpc.Server {
	s := grpc.NewServer(grpc.MaxRecvMsgSize(math.MaxInt32))
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: jobspb.Service,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			method(jobspb.Submit, d.submit),
			method(jobspb.Get, d.get),
			method(jobspb.List, d.listJobs),
			method(jobspb.Cancel, d.cancel),
		},
		Streams: []grpc.StreamDesc{{StreamName: jobspb.Watch, ServerStreams: true, Handler: d.watch}},
	}, d)
	return s
}

// method makes a unary call of handle, with whatever fault is in force.
func method[In, Out any](name string, handle func(caller, *In) (*Out, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := new(In)
		if err := decode(in); err != nil {
			return nil, err
		}
		d := srv.(*Daemon)
		d.describe(ctx, in)
		f := d.fault(name)
		if err := f.before(ctx); err != nil {
			return nil, err
		}
		out, err := handle(ctx.Value(callerKey{}).(caller), in)
		if err := f.after(ctx); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}

func cut(ctx context.Context) {
	if w, ok := ctx.Value(wireKey{}).(*wire); ok {
		_ = w.Close()
	}
}

// describe adds what a request asks to the record of calls.
func (d *Daemon) describe(ctx context.Context, request any) {
	call, ok := ctx.Value(callKey{}).(*Call)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch in := request.(type) {
	case *jobspb.JobRequest:
		call.JobID = in.GetJobId()
	case *jobspb.SubmitRequest:
		call.Submit = &jobsclient.SubmitRequest{Bin: in.GetBin(), Args: in.GetArgs(), Stdin: in.GetStdin(), Labels: in.GetLabels()}
	case *jobspb.ListRequest:
		call.List = &jobsclient.ListOptions{Status: jobsclient.Status(in.GetStatus()), Labels: in.GetLabelSelector()}
	}
}

func (c caller) may(capability Capability) error {
	if c.operator || slices.Contains(c.capabilities, capability) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "agent %q does not have the %q capability — operator must grant it via the agent's capabilities", c.agent, capability)
}

func (c caller) sees(j *jobspb.Job) bool { return c.operator || j.GetAgentId() == c.agent }

func (d *Daemon) submit(who caller, in *jobspb.SubmitRequest) (*jobspb.SubmitResponse, error) {
	if err := who.may(CanSubmit); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	ref := who.agent
	if who.operator {
		ref = in.GetAgentRef()
	}
	a, err := d.submitter(ref, in.GetBin())
	if err != nil {
		return nil, err
	}
	r := d.insert(&jobspb.Job{
		Id: "job_" + newUUID(), AgentId: a.ID, Bin: in.GetBin(), Args: in.GetArgs(), Stdin: []byte(in.GetStdin()),
		Status: string(jobsclient.Pending), CreatedAt: time.Now().Unix(), Labels: in.GetLabels(),
	})
	d.queue = append(d.queue, r)
	d.dispatch()
	return &jobspb.SubmitResponse{JobId: r.Id}, nil
}

// submitter finds the agent to run a job, or tells why it cannot.
func (d *Daemon) submitter(ref, bin string) (*Agent, error) {
	if ref == "" {
		return nil, status.Error(codes.InvalidArgument, "agent_ref is required")
	}
	if bin == "" {
		return nil, status.Error(codes.InvalidArgument, "bin is required")
	}
	i := slices.IndexFunc(d.agents, func(a *Agent) bool { return a.ID == ref || a.Name == ref })
	if i < 0 {
		return nil, status.Errorf(codes.NotFound, "agent %q not found", ref)
	}
	a := d.agents[i]
	switch a.state {
	case AgentStopped:
		return nil, status.Errorf(codes.FailedPrecondition, "agent %s is not running — start it before submitting jobs", a.ID)
	case AgentPreparing:
		return nil, status.Errorf(codes.FailedPrecondition, "agent %s is not initialised yet — wait for it to reach running state", a.ID)
	}
	if _, declared := d.options.Bins[bin]; !declared {
		names := strings.Join(slices.Sorted(maps.Keys(d.options.Bins)), ", ")
		if names == "" {
			names = "(none)"
		}
		return nil, status.Errorf(codes.InvalidArgument, "BIN %q is not declared in agent %s — add it to the agent or pick one of: %s", bin, a.ID, names)
	}
	return a, nil
}

func (d *Daemon) get(who caller, in *jobspb.JobRequest) (*jobspb.JobResponse, error) {
	if err := who.may(CanGet); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.row(in.GetJobId())
	if r == nil || !who.sees(r.Job) {
		return nil, errNoJob
	}
	job := r.snapshot()
	if !sendable(job) {
		return nil, errBinary
	}
	return &jobspb.JobResponse{Job: job}, nil
}

func (d *Daemon) listJobs(who caller, in *jobspb.ListRequest) (*jobspb.ListResponse, error) {
	if err := who.may(CanList); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	jobs := d.list(func(j *jobspb.Job) bool {
		return who.sees(j) && (!who.operator || in.GetAgentId() == "" || in.GetAgentId() == j.GetAgentId()) &&
			(in.GetStatus() == "" || in.GetStatus() == j.GetStatus()) && selected(j.GetLabels(), in.GetLabelSelector())
	}, in.GetStatus() != "")
	for _, job := range jobs {
		if !sendable(job) {
			return nil, errBinary
		}
	}
	return &jobspb.ListResponse{Jobs: jobs}, nil
}

// selected tells whether labels hold all of selector. The daemon's query cannot
// find a key with a double quote in it.
func selected(labels, selector map[string]string) bool {
	for key, want := range selector {
		got, ok := labels[key]
		if !ok || got != want || strings.Contains(key, `"`) {
			return false
		}
	}
	return true
}

func (d *Daemon) cancel(who caller, in *jobspb.JobRequest) (*jobspb.CancelResponse, error) {
	if err := who.may(CanCancel); err != nil {
		return nil, err
	}
	if in.GetJobId() == "" {
		return nil, errNoID
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.row(in.GetJobId())
	switch {
	case r == nil || !who.sees(r.Job):
		return nil, errNoJob
	case r.Status != string(jobsclient.Running) || r.run != nil && r.run.cancelled:
		return nil, status.Error(codes.FailedPrecondition, "async job not currently running")
	case r.run == nil: // a job of AddJob, without a process to wait for
		r.Status, r.FinishedAt = string(jobsclient.Cancelled), time.Now().Unix()
		r.version++
		d.changed()
	default:
		r.run.cancelled = true
		r.run.kill()
	}
	return &jobspb.CancelResponse{}, nil
}

func (d *Daemon) watch(_ any, stream grpc.ServerStream) error {
	d.watches.Add(1)
	defer d.watches.Add(-1)
	in := &jobspb.JobRequest{}
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	ctx := stream.Context()
	who := ctx.Value(callerKey{}).(caller)
	d.describe(ctx, in)
	f := d.fault(jobspb.Watch)
	if err := f.before(ctx); err != nil {
		return err
	}
	if err := who.may(CanWatch); err != nil {
		return err
	}
	if in.GetJobId() == "" {
		return errNoID
	}
	return d.follow(stream, who, in.GetJobId(), f)
}

// follow sends the whole row first and after each change, until the job ends.
func (d *Daemon) follow(stream grpc.ServerStream, who caller, id string, f *fault) error {
	ctx := stream.Context()
	for sent, version := 0, -1; ; {
		d.mu.Lock()
		r, change := d.row(id), d.change
		if r == nil || !who.sees(r.Job) {
			d.mu.Unlock()
			return vanished(id, sent)
		}
		job, now := r.snapshot(), r.version
		d.mu.Unlock()
		if now != version {
			if !sendable(job) {
				return errBinary
			}
			if err := stream.SendMsg(&jobspb.JobResponse{Job: job}); err != nil {
				return err
			}
			version = now
			sent++
			if f != nil && f.CutAfter == sent {
				return d.breakOff(ctx)
			}
		}
		if jobsclient.Status(job.GetStatus()).Terminal() {
			return nil
		}
		if err := d.pause(ctx, change); err != nil {
			return err
		}
	}
}

func vanished(id string, sent int) error {
	if sent == 0 {
		return errNoJob
	}
	return status.Error(codes.NotFound, fmt.Sprintf("job %q vanished while watching — likely the agent was removed", id))
}

// breakOff cuts the connection once what was sent has gone out.
func (d *Daemon) breakOff(ctx context.Context) error {
	w, ok := ctx.Value(wireKey{}).(*wire)
	if !ok {
		return nil
	}
	// The HTTP/2 server writes in a goroutine of its own and does not tell when
	// it has: give it the time a message takes.
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	_ = w.Close()
	return status.Error(codes.Unavailable, "cut")
}

// pause waits for a change, or for the next look.
func (d *Daemon) pause(ctx context.Context, change <-chan struct{}) error {
	if d.options.WatchInterval > 0 {
		timer := time.NewTimer(d.options.WatchInterval)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ended(ctx)
		}
	}
	select {
	case <-change:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}
