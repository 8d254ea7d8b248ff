package jobsclient_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

// waiting starts a Wait for a running job, and returns once the daemon serves
// its watch.
func waiting(t *testing.T, d *jobstest.Daemon, cfg jobsclient.Config) (id string, done func() (*jobsclient.Job, error)) {
	t.Helper()
	c := newClient(t, cfg)
	id = d.AddJob(d.Agent(), jobsclient.Job{Stdout: "begun\n"})
	seen := make(chan struct{})
	type result struct {
		job *jobsclient.Job
		err error
	}
	ended := make(chan result, 1)
	go func() {
		var r result
		for job, err := range c.Watch(context.Background(), id) {
			if r.job == nil && job != nil {
				close(seen)
			}
			if err != nil {
				r.err = err
				break
			}
			r.job = job
		}
		ended <- r
	}()
	within(t, func() { <-seen })
	return id, func() (*jobsclient.Job, error) {
		t.Helper()
		var r result
		within(t, func() { r = <-ended })
		return r.job, r.err
	}
}

func TestAWaitOutlivesTheDaemonsDeath(t *testing.T) {
	t.Run("the job is done when it is back", func(t *testing.T) {
		d := jobstest.New(t, echo)
		id, done := waiting(t, d, d.Config())
		d.Kill()
		d.Finish(id, "all of it\n", 3)
		restart(t, d)
		job, err := done()
		if err != nil || job.Status != jobsclient.Done || job.Stdout != "all of it\n" || job.ExitCode != 3 {
			t.Errorf("got %+v, %v", job, err)
		}
	})
	t.Run("the job is orphaned when it is back", func(t *testing.T) {
		d := jobstest.New(t, echo)
		_, done := waiting(t, d, d.Config())
		restart(t, d)
		job, err := done()
		if err != nil || job.Status != jobsclient.Orphaned || job.Stdout != "begun\n" {
			t.Errorf("got %+v, %v", job, err)
		}
	})
	t.Run("the job is gone when it is back", func(t *testing.T) {
		d := jobstest.New(t, echo)
		id, done := waiting(t, d, d.Config())
		d.Kill()
		d.Forget(id)
		restart(t, d)
		job, err := done()
		if !errors.Is(err, jobsclient.ErrNotFound) || !strings.Contains(err.Error(), id) || job.Status != jobsclient.Running {
			t.Errorf("got %+v, %v", job, err)
		}
		plain(t, err)
	})
	t.Run("the token is revoked when it is back", func(t *testing.T) {
		d := jobstest.New(t, echo)
		_, done := waiting(t, d, d.Config())
		d.Kill()
		d.Agent().Rotate()
		restart(t, d)
		if _, err := done(); !errors.Is(err, jobsclient.ErrUnauthenticated) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("it was terminated in an orderly way and cancelled the job", func(t *testing.T) {
		d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"sleep": jobstest.Blocks(nil, "")}})
		c := newClient(t, d.Config())
		id, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "sleep"})
		if err != nil {
			t.Fatal(err)
		}
		for job, err := range c.Watch(testContext(t), id) {
			if err != nil {
				t.Fatal(err)
			}
			if job.Status == jobsclient.Running {
				d.Stop()
				restart(t, d)
			} else if job.Status != jobsclient.Cancelled {
				t.Errorf("ended as %s", job.Status)
			}
		}
	})
}

func restart(t *testing.T, d *jobstest.Daemon) {
	t.Helper()
	if err := d.Restart(); err != nil {
		t.Error(err)
	}
}

func TestAWaitThatEndsWithItsContextLeavesTheJobAndReturnsTheLastState(t *testing.T) {
	t.Parallel()
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	id := d.AddJob(d.Agent(), jobsclient.Job{Stdout: "so far"})
	timed, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	job, err := c.Wait(timed, id)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("got %v", err)
	}
	if job == nil || job.Stdout != "so far" {
		t.Errorf("the last state is %+v", job)
	}
	if st, _ := status.FromError(err); st.Code() != codes.DeadlineExceeded {
		t.Errorf("the status is %v", st)
	}
	plain(t, err)
	if n := len(d.CallsOf(jobstest.MethodCancel)); n != 0 {
		t.Errorf("cancelled %d times", n)
	}
	if held, _ := d.Job(id); held.Status != jobsclient.Running {
		t.Errorf("the job is %s", held.Status)
	}
}

func TestAWaitEndsWithItsContextWhileTheDaemonIsDown(t *testing.T) {
	d := jobstest.New(t, echo)
	core, logs := observer.New(zapcore.InfoLevel)
	cfg := d.Config()
	cfg.Logger = zap.New(core)
	c := newClient(t, cfg)
	id := d.AddJob(d.Agent(), jobsclient.Job{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, err := range c.Watch(ctx, id) {
		if err == nil {
			go func() {
				for logs.FilterMessage("watch of a job lost, trying again").Len() == 0 {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			d.Kill()
			continue
		}
		if !errors.Is(err, context.Canceled) || !errors.Is(err, jobsclient.ErrUnavailable) || !strings.Contains(err.Error(), "could not be reached") {
			t.Errorf("got %v", err)
		}
		plain(t, err)
	}
}

func TestAWaitForADaemonThatWasNeverReachedFailsAfterTheCallTimeout(t *testing.T) {
	d := jobstest.New(t, echo)
	cfg := d.Config()
	cfg.CallTimeout = 1500 * time.Millisecond
	d.Kill()
	within(t, func() {
		err := wait(context.Background(), "job_1")(newClient(t, cfg))
		if !errors.Is(err, jobsclient.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		plain(t, err)
	})
}

func TestAHungDaemonBehindASilentWatchIsNoticed(t *testing.T) {
	t.Run("and the watch goes on at the one that takes its place", func(t *testing.T) {
		d := jobstest.New(t, echo)
		cfg := d.Config()
		cfg.LivenessInterval, cfg.CallTimeout = 150*time.Millisecond, time.Second
		id, done := waiting(t, d, cfg)
		d.Hang()
		accepts := d.Accepts()
		// The hung connections stay: only a client that gives them up connects anew.
		eventually(t, func() bool { return d.Accepts() > accepts })
		d.Resume()
		d.Finish(id, "ok", 0)
		job, err := done()
		if err != nil || job.Stdout != "ok" {
			t.Errorf("got %+v, %v", job, err)
		}
	})
	t.Run("by the default limits within 45 seconds", func(t *testing.T) {
		if limit := jobsclient.DefaultLivenessInterval * 4 / 3; limit > 45*time.Second {
			t.Errorf("noticed after %v", limit)
		}
	})
}

func TestAnEndThatTheWatchDoesNotBringIsLearntByAsking(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{WatchInterval: time.Hour})
	cfg := d.Config()
	cfg.LivenessInterval = 100 * time.Millisecond
	id, done := waiting(t, d, cfg)
	d.Finish(id, "ok", 0)
	job, err := done()
	if err != nil || job.Stdout != "ok" {
		t.Errorf("got %+v, %v", job, err)
	}
}

func TestASilentWatchOfAnAgentThatMayNotGetGoesOn(t *testing.T) {
	t.Parallel()
	d := jobstest.New(t, echo)
	a := d.AddAgent("watcher", jobstest.CanWatch)
	cfg := d.Config()
	cfg.Token, cfg.LivenessInterval = a.Token(), time.Second
	c := newClient(t, cfg)
	id := d.AddJob(a, jobsclient.Job{})
	for job, err := range c.Watch(testContext(t), id) {
		if err != nil {
			t.Fatal(err)
		}
		if job.Status == jobsclient.Running {
			go func() {
				for len(d.CallsOf(jobstest.MethodGet)) < 3 {
					time.Sleep(time.Millisecond)
				}
				d.Finish(id, "", 0)
			}()
		}
	}
	if n := len(d.CallsOf(jobstest.MethodWatch)); n != 1 {
		t.Errorf("watched %d times", n)
	}
}

func TestAStreamThatIsCutAfterEachMessageLosesNoStateAndRepeatsNone(t *testing.T) {
	d := jobstest.New(t, echo)
	d.Inject(jobstest.Fault{Method: jobstest.MethodWatch, CutAfter: 1})
	c := newClient(t, d.Config())
	id := d.AddJob(d.Agent(), jobsclient.Job{Status: jobsclient.Pending})
	var got []string
	for job, err := range c.Watch(testContext(t), id) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(job.Status, job.Stdout))
		switch len(got) {
		case 1:
			d.Update(id, func(j *jobsclient.Job) { j.Status = jobsclient.Running })
		case 2, 3:
			d.Update(id, func(j *jobsclient.Job) { j.Stdout += "." })
		case 4:
			d.Finish(id, "..!", 0)
		}
	}
	if diff := cmp.Diff([]string{"pending", "running", "running.", "running..", "done..!"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAChangeThatAJobDoesNotShowIsNotYielded(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	id := d.AddJob(d.Agent(), jobsclient.Job{})
	n := 0
	for _, err := range c.Watch(testContext(t), id) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			d.Update(id, func(*jobsclient.Job) {}) // sends the row again, as a new handle does
			time.AfterFunc(50*time.Millisecond, func() { d.Finish(id, "", 0) })
		}
	}
	if n != 2 {
		t.Errorf("%d states, want 2", n)
	}
}

func TestAPassingHalfCharacterDoesNotEndAWatchButBinaryOutputOfAnEndedJobDoes(t *testing.T) {
	d := jobstest.New(t, echo)
	t.Run("the other half comes", func(t *testing.T) {
		id, done := waiting(t, d, d.Config())
		d.Update(id, func(j *jobsclient.Job) { j.Stdout += "\xc3" })
		eventually(t, func() bool { return len(d.CallsOf(jobstest.MethodList)) > 0 })
		d.Finish(id, "ü", 0)
		if job, err := done(); err != nil || job.Stdout != "ü" {
			t.Errorf("got %+v, %v", job, err)
		}
	})
	t.Run("the job ends with it", func(t *testing.T) {
		id, done := waiting(t, d, d.Config())
		d.Update(id, func(j *jobsclient.Job) { j.Stdout += "\xc3" })
		lists := len(d.CallsOf(jobstest.MethodList))
		eventually(t, func() bool { return len(d.CallsOf(jobstest.MethodList)) > lists })
		d.Finish(id, "\xc3", 0)
		_, err := done()
		if !errors.Is(err, jobsclient.ErrUnreadable) || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("got %v", err)
		}
		plain(t, err)
	})
	t.Run("the agent may not list", func(t *testing.T) {
		a := d.AddAgent("watcher", jobstest.CanWatch)
		cfg := d.Config()
		cfg.Token = a.Token()
		id := d.AddJob(a, jobsclient.Job{Stdout: "\xff"})
		within(t, func() {
			if err := wait(context.Background(), id)(newClient(t, cfg)); !errors.Is(err, jobsclient.ErrUnreadable) {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestAFaultOfTheDaemonIsRetriedAFewTimes(t *testing.T) {
	d := jobstest.New(t, echo)
	id, done := waiting(t, d, d.Config())
	d.Inject(jobstest.Fault{Method: jobstest.MethodWatch, Err: status.Error(codes.Internal, "database is locked")})
	d.Cut()
	job, err := done()
	if err == nil || !strings.Contains(err.Error(), "database is locked") || job.ID != id {
		t.Errorf("got %v", err)
	}
	plain(t, err)
	if n := len(d.CallsOf(jobstest.MethodWatch)); n < 3 || n > 8 {
		t.Errorf("watched %d times", n)
	}
}

func TestFaultsOfTheDaemonThatAreFarApartDoNotAddUp(t *testing.T) {
	t.Parallel()
	d := jobstest.New(t, echo)
	core, logs := observer.New(zapcore.InfoLevel)
	cfg := d.Config()
	cfg.LivenessInterval, cfg.Logger = time.Second, zap.New(core)
	id, done := waiting(t, d, cfg)
	const rounds = 8
	for range rounds {
		d.Inject(jobstest.Fault{Method: jobstest.MethodWatch, Times: 1, Err: status.Error(codes.Internal, "database is locked")})
		watches := len(d.CallsOf(jobstest.MethodWatch))
		d.Cut()
		eventually(t, func() bool { return len(d.CallsOf(jobstest.MethodWatch)) >= watches+2 })
		// A question beside the watch shows that it has stood for its interval.
		gets := len(d.CallsOf(jobstest.MethodGet))
		eventually(t, func() bool { return len(d.CallsOf(jobstest.MethodGet)) > gets })
	}
	d.Finish(id, "ok", 0)
	job, err := done()
	if err != nil || job.Stdout != "ok" {
		t.Errorf("got %+v, %v", job, err)
	}
	if n := logs.FilterMessage("watch of a job resumed").Len(); n != rounds {
		t.Errorf("resumed %d times by the log, want %d", n, rounds)
	}
}

func TestAWaitThatResumedWithTheSameStateDoesNotSayThatTheDaemonIsOutOfReach(t *testing.T) {
	d := jobstest.New(t, echo)
	core, logs := observer.New(zapcore.InfoLevel)
	cfg := d.Config()
	cfg.Logger = zap.New(core)
	c := newClient(t, cfg)
	id := d.AddJob(d.Agent(), jobsclient.Job{})
	d.Inject(jobstest.Fault{Method: jobstest.MethodWatch, Times: 1, CutAfter: 1})
	ctx, cancel := context.WithCancel(context.Background())
	answer := make(chan error, 1)
	go func() {
		_, err := c.Wait(ctx, id)
		answer <- err
	}()
	eventually(t, func() bool { return logs.FilterMessage("watch of a job resumed").Len() == 1 })
	cancel()
	within(t, func() {
		if err := <-answer; !errors.Is(err, context.Canceled) || errors.Is(err, jobsclient.ErrUnavailable) || strings.Contains(err.Error(), "reached") {
			t.Errorf("got %v", err)
		}
	})
}

func TestAStateThatIsNotKnownEndsAWaitOnceTheJobHasATimeOfItsEnd(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	id := d.AddJob(d.Agent(), jobsclient.Job{Status: "paused"})
	for job, err := range c.Watch(testContext(t), id) {
		if err != nil {
			t.Fatal(err)
		}
		if job.Status == "paused" {
			d.Update(id, func(j *jobsclient.Job) { j.Status, j.Finished = "expired", time.Now() })
		}
	}
}

func TestLeavingAWatchEarlyEndsItAtTheDaemon(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	id := d.AddJob(d.Agent(), jobsclient.Job{})
	within(t, func() {
		for _, err := range c.Watch(context.Background(), id) {
			if err != nil {
				t.Error(err)
			}
			break
		}
	})
	eventually(t, func() bool { return d.Watches() == 0 })
	if held, _ := d.Job(id); held.Status != jobsclient.Running {
		t.Errorf("the job is %s", held.Status)
	}
}
