package jobsclient_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func TestUnaryCallsDoNotWaitBehindThreeHundredWatches(t *testing.T) {
	for name, streams := range map[string]int{"on a daemon that allows 250 streams a connection": 250, "on one that allows 8": 8} {
		t.Run(name, func(t *testing.T) {
			d := jobstest.New(t, jobstest.Options{MaxStreams: streams, Bins: echo.Bins})
			c := newClient(t, d.Config())
			id := d.AddJob(d.Agent(), jobsclient.Job{})
			n := 300
			if streams < 100 {
				n = 20
			}
			var first, all sync.WaitGroup
			first.Add(n)
			for range n {
				all.Go(func() {
					once := sync.OnceFunc(first.Done)
					for _, err := range c.Watch(context.Background(), id) {
						if err != nil {
							t.Error(err)
						}
						once()
					}
				})
			}
			within(t, first.Wait)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			for _, call := range []func(*jobsclient.Client) error{get(ctx, id), list(ctx), submit(ctx, "echo")} {
				if err := call(c); err != nil {
					t.Error(err)
				}
			}
			d.Finish(id, "", 0)
			within(t, all.Wait)
			eventually(t, func() bool { return d.Conns() == 1 })
		})
	}
}

func TestSixtyFourGoroutinesShareAClient(t *testing.T) {
	d := jobstest.New(t, echo)
	c := newClient(t, d.Config())
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			ctx := context.Background()
			id, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "echo", Args: []string{fmt.Sprint(i)}})
			if err != nil {
				t.Error(err)
				return
			}
			job, err := c.Wait(ctx, id)
			if err != nil || job.Stdout != fmt.Sprintf("%d\n", i) {
				t.Errorf("job %d: %+v, %v", i, job, err)
			}
			if _, err := c.Get(ctx, id); err != nil {
				t.Error(err)
			}
			if _, err := c.List(ctx, jobsclient.ListOptions{Status: jobsclient.Running}); err != nil {
				t.Error(err)
			}
			if err := c.Cancel(ctx, id); !errors.Is(err, jobsclient.ErrNotRunning) {
				t.Error(err)
			}
		})
	}
	within(t, all.Wait)
}

func TestCloseBesideCallsOfSixtyFourGoroutinesEndsAllOfThemWithErrClosed(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{"sleep": jobstest.Blocks(nil, "")}, MaxRunning: 1000})
	c := newClient(t, d.Config())
	var all, begun sync.WaitGroup
	begun.Add(64)
	for i := range 64 {
		all.Go(func() {
			once := sync.OnceFunc(begun.Done)
			ctx := context.Background()
			for {
				id, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "sleep"})
				if err == nil && i%2 == 0 {
					once()
					_, err = c.Wait(ctx, id)
				}
				if err == nil {
					_, err = c.List(ctx, jobsclient.ListOptions{Status: jobsclient.Done})
				}
				once()
				if err == nil {
					err = c.Cancel(ctx, id)
				}
				if err != nil {
					if !errors.Is(err, jobsclient.ErrClosed) {
						t.Errorf("ended with %v", err)
					}
					return
				}
			}
		})
	}
	within(t, begun.Wait)
	for range 4 {
		all.Go(func() { _ = c.Close() })
	}
	within(t, all.Wait)
}
