//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/jobsclient"
)

// TestASecondWorkerNearlyDoublesTheThroughput has jobs that sleep, so that the
// machine is not what they wait for. A moment in which it is busy otherwise may
// spoil a measurement: the best of three counts.
func TestASecondWorkerNearlyDoublesTheThroughput(t *testing.T) {
	s := newSite(t)
	_, urls := s.cluster(1)
	s.daemon("front", "front", "-nats", urls)
	c := s.client("front")
	sleep := func() time.Duration {
		began := time.Now()
		var ids []string
		for range 50 {
			id, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "sh", Args: []string{"-c", "sleep 0.5"}})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		for i, j := range waitAll(t, c, ids) {
			if j.Status != jobsclient.Done {
				t.Errorf("job %d is %s", i, j.Status)
			}
		}
		return time.Since(began)
	}
	var best float64
	for range 3 {
		first := s.daemon("w1", "worker", "-nats", urls, "-slots", "5")
		one := sleep()
		second := s.daemon("w2", "worker", "-nats", urls, "-slots", "5")
		two := sleep()
		first.stop(t)
		second.stop(t)
		best = max(best, one.Seconds()/two.Seconds())
		t.Logf("one worker: %v, two: %v", one, two)
		if best >= 1.8 {
			return
		}
	}
	t.Errorf("a second worker raised the throughput %.2f times, and 1.8 is wanted", best)
}
