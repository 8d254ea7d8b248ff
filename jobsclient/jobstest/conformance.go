package jobstest

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

// Target is a daemon for Conformance to ask.
type Target struct {
	URL         string
	DialOptions []grpc.DialOption

	// NewAgent makes an agent with exactly these capabilities, for which jobs can
	// run and which has a BIN named Shell, and returns its token.
	NewAgent func(t testing.TB, capabilities ...Capability) string

	// Shell is the name of a BIN that is a POSIX shell.
	Shell string

	// Corrected says that the daemon is not the original and does two things right
	// that the original does wrong: a process that a signal ended is an "error" that
	// names the signal, and output that is not UTF-8 is answered, with U+FFFD in its
	// place. Each daemon is held to what it says here.
	Corrected bool
}

// Conformance checks what clients rely on in a jobs daemon: codes, texts, order,
// and what happens to jobs. It asks by bare gRPC calls, so it can be run against
// any daemon, and shows whether this package still answers like it.
func Conformance(t *testing.T, target Target) {
	t.Helper()
	for _, check := range conformanceChecks {
		t.Run(check.name, func(t *testing.T) {
			p := &prober{T: t, target: target, cc: target.dial(t)}
			p.as(target.NewAgent(t, AllCapabilities()...))
			check.run(p)
		})
	}
}

var conformanceChecks = []struct {
	name string
	run  func(*prober)
}{
	{"a job runs and its row tells how", checkLife},
	{"done is whatever the exit code", checkExitCode},
	{"a process that a signal killed", checkSignal},
	{"without stdin a process reads its end at once", checkNoStdin},
	{"tokens are checked before gRPC", checkTokens},
	{"each call needs its capability", checkCapabilities},
	{"an agent sees its own jobs only", checkScope},
	{"unknown and empty ids", checkIDs},
	{"submissions that are refused", checkRefusals},
	{"lists filter by status and all labels", checkList},
	{"a watch begins with the row and ends after the terminal one", checkWatch},
	{"a cancel kills, and once only", checkCancel},
	{"output that is not UTF-8", checkBinary},
	{"messages above 4 MiB go both ways", checkLarge},
	{"a call that does not exist", checkUnknownCall},
}

// prober makes bare calls as one agent.
type prober struct {
	*testing.T
	target Target
	cc     *grpc.ClientConn
	ctx    context.Context
}

func (target Target) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	address := target.URL
	if u, err := url.Parse(target.URL); err == nil && u.Scheme == "http" {
		address = "passthrough:///" + u.Host
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20)),
	}
	cc, err := grpc.NewClient(address, append(options, target.DialOptions...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

func (p *prober) as(token string) { p.authorize("Bearer " + token) }

func (p *prober) authorize(values ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p.Cleanup(cancel)
	p.ctx = metadata.NewOutgoingContext(ctx, metadata.MD{"authorization": values})
}

func (p *prober) submit(in *jobspb.SubmitRequest) (string, error) {
	out := &jobspb.SubmitResponse{}
	err := p.cc.Invoke(p.ctx, jobspb.SubmitPath, in, out)
	return out.GetJobId(), err
}

// shell submits a script and returns the job's id.
func (p *prober) shell(script string) string {
	p.Helper()
	return p.mustSubmit(&jobspb.SubmitRequest{Args: []string{"-c", script}})
}

func (p *prober) mustSubmit(in *jobspb.SubmitRequest) string {
	p.Helper()
	in.Bin = p.target.Shell
	id, err := p.submit(in)
	if err != nil {
		p.Fatalf("submitting: %v", err)
	}
	return id
}

func (p *prober) get(id string) (*jobspb.Job, error) {
	out := &jobspb.JobResponse{}
	err := p.cc.Invoke(p.ctx, jobspb.GetPath, &jobspb.JobRequest{JobId: id}, out)
	return out.GetJob(), err
}

func (p *prober) cancel(id string) error {
	return p.cc.Invoke(p.ctx, jobspb.CancelPath, &jobspb.JobRequest{JobId: id}, &jobspb.CancelResponse{})
}

func (p *prober) list(in *jobspb.ListRequest) ([]*jobspb.Job, error) {
	out := &jobspb.ListResponse{}
	err := p.cc.Invoke(p.ctx, jobspb.ListPath, in, out)
	return out.GetJobs(), err
}

// watch returns all messages of a watch, and its error unless it is a clean end.
func (p *prober) watch(id string, each func(*jobspb.Job)) ([]*jobspb.Job, error) {
	stream, err := p.cc.NewStream(p.ctx, &grpc.StreamDesc{ServerStreams: true}, jobspb.WatchPath)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(&jobspb.JobRequest{JobId: id}); err != nil {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	var jobs []*jobspb.Job
	for {
		out := &jobspb.JobResponse{}
		if err := stream.RecvMsg(out); errors.Is(err, io.EOF) {
			return jobs, nil
		} else if err != nil {
			return jobs, err
		}
		jobs = append(jobs, out.GetJob())
		if each != nil {
			each(out.GetJob())
		}
	}
}

// end waits for a job's end and returns its row.
func (p *prober) end(id string) *jobspb.Job {
	p.Helper()
	jobs, err := p.watch(id, nil)
	if err != nil {
		p.Fatalf("watching: %v", err)
	}
	return jobs[len(jobs)-1]
}

func (p *prober) refused(what string, err error, code codes.Code, text string) {
	p.Helper()
	st := status.Convert(err)
	if st.Code() != code || !strings.Contains(st.Message(), text) {
		p.Errorf("%s: got %v %q, want %v %q", what, st.Code(), st.Message(), code, text)
	}
	if len(st.Details()) > 0 {
		p.Errorf("%s: has details", what)
	}
}

func (p *prober) equal(what string, got, want any) {
	p.Helper()
	if got != want {
		p.Errorf("%s is %v, want %v", what, got, want)
	}
}
