package front_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/embedded"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
	"github.com/fantasytools/fantasytools/jobsclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const operatorToken = "operator-of-the-test"

// setup is what a test changes of a rig.
type setup struct {
	store       store.Config
	front       front.Config
	healthToken bool
	changes     func(front.Changes) front.Changes
	patience    time.Duration // with the store; 0: as usual
	quiet       time.Duration // until a record is read again; 0: as usual
	list        int           // bytes of a list at most; 0: as usual
	hand        int64         // bytes that a caller may have in hand; 0: as usual
	move        time.Duration // that a client may take for a message; 0: as usual
}

// rig is a front with a state of its own behind a real socket. No worker runs: a
// test lives the jobs' lives itself.
type rig struct {
	testing.TB
	nats     *embedded.Server
	nc       *nats.Conn
	store    *store.Store
	front    *front.Front
	agents   *agents.Registry
	socket   string
	cc       *grpc.ClientConn
	handler  atomic.Pointer[http.Handler] // that answers on socket
	shutdown func()                       // ends Run, and waits for it
}

func start(t testing.TB, s setup) *rig {
	t.Helper()
	r := &rig{TB: t}
	r.openStore(s.store)
	r.openAgents()
	s.front.Store, s.front.Agents, s.front.OperatorToken = r.store, r.agents, operatorToken
	r.front = front.New(s.front)
	if s.changes != nil {
		r.front.WrapChanges(s.changes)
	}
	r.front.Shorten(s.patience, s.patience, s.quiet, s.list)
	r.front.Narrow(s.hand, s.move)
	r.run()
	r.serve(r.front.Handler(s.healthToken))
	r.cc = r.dial()
	return r
}

func (r *rig) openStore(c store.Config) {
	r.Helper()
	var err error
	if r.nats, err = embedded.Start(embedded.Config{Dir: r.TempDir()}); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(r.nats.Stop)
	if r.nc, err = r.nats.Connect(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(r.nc.Close)
	if r.store, err = store.Open(r.ctx(), r.nc, c); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) openAgents() {
	r.Helper()
	exe, err := os.Executable()
	if err != nil {
		r.Fatal(err)
	}
	bins := func() map[string]*agents.Bin {
		return map[string]*agents.Bin{"cat": {Path: exe}, "sh": {Path: exe}}
	}
	r.agents, err = agents.New(
		agents.Agent{Name: "me", Bins: bins()},
		agents.Agent{Name: "other", Bins: bins()},
		agents.Agent{Name: "poor"},
	)
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.front.Run(ctx) }()
	done := false
	r.shutdown = func() {
		if done {
			return
		}
		done = true
		cancel()
		if err := <-ended; err != nil {
			r.Errorf("Run: %v", err)
		}
	}
	r.Cleanup(r.shutdown)
}

func (r *rig) serve(h http.Handler) {
	r.Helper()
	dir, err := os.MkdirTemp("", "front") // a path that a socket's name may have
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = os.RemoveAll(dir) })
	r.socket = filepath.Join(dir, "sock")
	l, err := net.Listen("unix", r.socket)
	if err != nil {
		r.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	r.handler.Store(&h)
	current := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { (*r.handler.Load()).ServeHTTP(w, q) })
	server := &http.Server{Handler: current, Protocols: &protocols, HTTP2: &http.HTTP2Config{
		MaxConcurrentStreams: 10_000, MaxReceiveBufferPerStream: front.StreamWindow, MaxReceiveBufferPerConnection: front.ConnectionWindow,
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			r.Errorf("serving: %v", err)
		}
	}()
	r.Cleanup(func() {
		_ = server.Close()
		<-done
	})
}

func (r *rig) dial(options ...grpc.DialOption) *grpc.ClientConn {
	r.Helper()
	defaults := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20))}
	cc, err := grpc.NewClient("unix:"+r.socket, append(defaults, options...)...)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = cc.Close() })
	return cc
}

// client is the library's client, as the agent me.
func (r *rig) client() *jobsclient.Client {
	r.Helper()
	c := jobsclient.New(jobsclient.Config{URL: "unix://" + r.socket, Token: r.token("me")})
	r.Cleanup(func() { _ = c.Close() })
	return c
}

// token is one of an agent's; of "" it is the operator's.
func (r *rig) token(agent string) string {
	r.Helper()
	if agent == "" {
		return operatorToken
	}
	token, err := r.agents.Token(agent)
	if err != nil {
		r.Fatal(err)
	}
	return token
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	r.Cleanup(cancel)
	return ctx
}

// as is a context of a bare call by an agent.
func (r *rig) as(agent string) context.Context {
	return authorized(r.ctx(), "Bearer "+r.token(agent))
}

func authorized(ctx context.Context, values ...string) context.Context {
	return metadata.NewOutgoingContext(ctx, metadata.MD{"authorization": values})
}

// call makes a bare call.
func call[Out any, P interface {
	*Out
	proto.Message
}](r *rig, ctx context.Context, path string, in proto.Message) (P, error) {
	out := P(new(Out))
	return out, r.cc.Invoke(ctx, path, in, out)
}

func (r *rig) submit(ctx context.Context, in *jobsdpb.SubmitRequest) (string, error) {
	out, err := call[jobsdpb.SubmitResponse](r, ctx, jobsdpb.SubmitPath, in)
	return out.GetJobId(), err
}

func (r *rig) get(ctx context.Context, id string) (*jobsdpb.Job, error) {
	out, err := call[jobsdpb.JobResponse](r, ctx, jobsdpb.GetPath, &jobsdpb.JobRequest{JobId: id})
	return out.GetJob(), err
}

func (r *rig) list(ctx context.Context, in *jobsdpb.ListRequest) ([]*jobsdpb.Job, error) {
	out, err := call[jobsdpb.ListResponse](r, ctx, jobsdpb.ListPath, in)
	return out.GetJobs(), err
}

func (r *rig) cancel(ctx context.Context, id string) error {
	_, err := call[jobsdpb.CancelResponse](r, ctx, jobsdpb.CancelPath, &jobsdpb.JobRequest{JobId: id})
	return err
}

// watch is a bare watch.
type watch struct {
	*rig
	stream grpc.ClientStream
}

func (r *rig) watch(ctx context.Context, id string) *watch {
	r.Helper()
	return r.watchOn(ctx, r.cc, id)
}

func (r *rig) watchOn(ctx context.Context, cc *grpc.ClientConn, id string) *watch {
	r.Helper()
	stream, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, jobsdpb.WatchPath)
	if err != nil {
		r.Fatal(err)
	}
	if err := stream.SendMsg(&jobsdpb.JobRequest{JobId: id}); err != nil {
		r.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		r.Fatal(err)
	}
	return &watch{r, stream}
}

func (w *watch) next() (*jobsdpb.Job, error) {
	out := &jobsdpb.JobResponse{}
	err := w.stream.RecvMsg(out)
	return out.GetJob(), err
}

func (w *watch) must() *jobsdpb.Job {
	w.Helper()
	job, err := w.next()
	if err != nil {
		w.Fatalf("watching: %v", err)
	}
	return job
}

// until takes messages until one is as wanted.
func (w *watch) until(wanted func(*jobsdpb.Job) bool) *jobsdpb.Job {
	w.Helper()
	for {
		if job := w.must(); wanted(job) {
			return job
		}
	}
}

func (w *watch) ends() {
	w.Helper()
	if job, err := w.next(); err == nil || err.Error() != "EOF" {
		w.Errorf("instead of the end there is %v, %v", job.GetStatus(), err)
	}
}

// live is a job whose life a test lives.
type live struct {
	*rig
	*jobsdpb.Record
	rev  uint64
	sent map[store.Stream][]byte
}

// pending submits a job without a client.
func (r *rig) pending(change ...func(*jobsdpb.Record)) *live {
	r.Helper()
	number++
	record := &jobsdpb.Record{Id: "job_" + strconv.Itoa(number), Agent: "me", Bin: "sh", Args: []string{"-c", "true"}}
	for _, c := range change {
		c(record)
	}
	stdin := record.GetStdin()
	record.Stdin = nil
	if err := r.store.Submit(r.ctx(), record, stdin); err != nil {
		r.Fatal(err)
	}
	return r.find(record.GetAgent(), record.GetId())
}

var number int // of the last job; tests of this package do not run in parallel

func (r *rig) find(agent, id string) *live {
	r.Helper()
	record, rev, err := r.store.Get(r.ctx(), agent, id)
	if err != nil {
		r.Fatal(err)
	}
	return &live{r, record, rev, map[store.Stream][]byte{}}
}

func (j *live) update() *live {
	j.Helper()
	rev, err := j.store.Update(j.ctx(), j.Record, j.rev)
	if err != nil {
		j.Fatal(err)
	}
	j.rev = rev
	return j
}

// runs is as a worker claims a job.
func (j *live) runs() *live {
	j.Helper()
	j.Status, j.Worker, j.Started = store.Running, "w1", time.Now().UnixNano()
	return j.update()
}

// writes stores a piece of output.
func (j *live) writes(stream store.Stream, data string) *live {
	j.Helper()
	if _, err := j.store.PutChunk(j.ctx(), j.Id, stream, store.Head, int64(len(j.sent[stream])), []byte(data)); err != nil {
		j.Fatal(err)
	}
	j.sent[stream] = append(j.sent[stream], data...)
	return j
}

// ends is as a worker writes the end.
func (j *live) ends(status string) *live {
	j.Helper()
	j.Status, j.Finished = status, time.Now().UnixNano()
	j.Stdout, j.Stderr = j.output(store.Stdout), j.output(store.Stderr)
	return j.update()
}

func (j *live) output(stream store.Stream) *jobsdpb.Output {
	sent := j.sent[stream]
	out := &jobsdpb.Output{Size: int64(len(sent)), Head: int64(len(sent))}
	if len(sent) <= store.MaxInline {
		out.Inline = sent
	}
	return out
}

// refused checks how a call was refused.
func (r *rig) refused(err error, code codes.Code, text string) {
	r.Helper()
	st := status.Convert(err)
	if st.Code() != code || st.Message() != text {
		r.Errorf("got %v %q\nwant %v %q", st.Code(), st.Message(), code, text)
	}
	if len(st.Details()) > 0 {
		r.Errorf("%v has details", err)
	}
}

// eventually waits for something that nothing announces.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// purge is how a record leaves the bucket.
func purge(subject string) *nats.Msg {
	return &nats.Msg{Subject: subject, Header: nats.Header{"KV-Operation": {"PURGE"}, "Nats-Rollup": {"sub"}}}
}
