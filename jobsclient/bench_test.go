package jobsclient_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

// bare is what a generated stub does, with the token as it must be.
type bare struct {
	cc  *grpc.ClientConn
	ctx context.Context
}

func newBare(b *testing.B, d *jobstest.Daemon) bare {
	b.Helper()
	cc, err := grpc.NewClient(d.URL(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cc.Close() })
	return bare{cc, metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+d.Token())}
}

func (s bare) submit() error {
	return s.cc.Invoke(s.ctx, jobspb.SubmitPath, &jobspb.SubmitRequest{Bin: "true"}, &jobspb.SubmitResponse{})
}

func (s bare) get(id string) error {
	return s.cc.Invoke(s.ctx, jobspb.GetPath, &jobspb.JobRequest{JobId: id}, &jobspb.JobResponse{})
}

// BenchmarkBesideAStub makes each call in turn by the client and by a bare stub,
// at the same daemon, and reports how much longer the client takes.
func BenchmarkBesideAStub(b *testing.B) {
	d := jobstest.New(b, jobstest.Options{Bins: map[string]jobstest.Bin{"true": jobstest.Prints("", 0)}, ForgetCalls: true})
	c := jobsclient.New(d.Config())
	b.Cleanup(func() { _ = c.Close() })
	stub := newBare(b, d)
	ctx := context.Background()
	id := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: "42 rows\n"})
	b.Run("Get", func(b *testing.B) {
		compare(b, func() error { _, err := c.Get(ctx, id); return err }, func() error { return stub.get(id) })
	})
	b.Run("Submit", func(b *testing.B) {
		compare(b, func() error {
			_, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "true"})
			return err
		}, stub.submit)
	})
}

// compare reports the medians, since a pause of the collector or the scheduler
// may hit either.
func compare(b *testing.B, ours, theirs func() error) {
	var a, z []time.Duration
	for i := 0; b.Loop(); i++ {
		// Each goes first every other time: the first finds the caches colder.
		if i%2 == 0 {
			a = append(a, timed(b, ours))
		}
		z = append(z, timed(b, theirs))
		if i%2 == 1 {
			a = append(a, timed(b, ours))
		}
	}
	slices.Sort(a)
	slices.Sort(z)
	client, stub := a[len(a)/2], z[len(z)/2]
	b.ReportMetric(float64(client.Nanoseconds()), "client-ns")
	b.ReportMetric(float64(stub.Nanoseconds()), "stub-ns")
	b.ReportMetric(float64(client)/float64(stub), "client/stub")
}

func timed(b *testing.B, call func() error) time.Duration {
	begin := time.Now()
	if err := call(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

// BenchmarkTenThousandSubmits comes from 64 goroutines over one client.
func BenchmarkTenThousandSubmits(b *testing.B) {
	d := jobstest.New(b, jobstest.Options{Bins: map[string]jobstest.Bin{"true": jobstest.Prints("", 0)}, ForgetCalls: true})
	c := jobsclient.New(d.Config())
	b.Cleanup(func() { _ = c.Close() })
	for b.Loop() {
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for range 10_000/64 + 1 {
					if _, err := c.Submit(context.Background(), jobsclient.SubmitRequest{Bin: "true"}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	if n := d.Accepts(); n != 1 {
		b.Errorf("%d connections", n)
	}
}

// BenchmarkFromEndToWait measures from a job's end at the daemon to the answer of
// Wait, where the daemon tells its watches at once.
func BenchmarkFromEndToWait(b *testing.B) {
	d := jobstest.New(b, jobstest.Options{ForgetCalls: true})
	c := jobsclient.New(d.Config())
	b.Cleanup(func() { _ = c.Close() })
	var took []time.Duration
	for b.Loop() {
		id := d.AddJob(d.Agent(), jobsclient.Job{})
		var end time.Time
		for job, err := range c.Watch(context.Background(), id) {
			if err != nil {
				b.Fatal(err)
			}
			if job.Status == jobsclient.Running {
				end = time.Now()
				d.Finish(id, "ok", 0)
			}
		}
		took = append(took, time.Since(end))
		d.Forget(id)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
}
