package pilot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// TestManySendsAtOnceAllArrive: the daemon refuses what is more than ten
// connections a second.
func TestManySendsAtOnceAllArrive(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, g pilottest.Generation) {
		s.Answer("bob", pilottest.Script{})
		s.SetSpeed(1)
		s.SetRateLimit(pilottest.RateLimit{Refuse: true})
		want := map[string]bool{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 64 {
			text := fmt.Sprintf("message %d", i)
			want[text] = true
			all.Go(func() {
				got, err := s.client.Send(t.Context(), SendInput{Peer: "bob", Message: text})
				mu.Lock()
				defer mu.Unlock()
				if err != nil || got.Outcome != Delivered {
					t.Errorf("%s: %+v, %v", text, got, err)
				}
			})
		}
		all.Wait()
		got := map[string]bool{}
		for _, m := range s.Inbox("bob") {
			got[m.Text] = true
		}
		if !maps.Equal(want, got) {
			t.Errorf("%d of %d messages are stored", len(got), len(want))
		}
	})
}

func TestNoMorePilotctlsRunThanAllowed(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	s.client.MaxConcurrent = 3
	s.Fault(pilottest.Fault{Verb: "peers", Delay: 4 * time.Second}) // 0.2 s of real time
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if _, err := s.client.Peers(t.Context(), PeersInput{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	calls := s.CallsOf("peers")
	for _, a := range calls {
		beside := 0
		for _, b := range calls {
			if !b.Started.After(a.Started) && b.Started.Add(b.Took).After(a.Started) {
				beside++
			}
		}
		if beside > 3 {
			t.Errorf("%d at once", beside)
		}
	}
	if len(calls) != 12 {
		t.Errorf("%d calls", len(calls))
	}
}

func TestACallThatWaitsForAPlaceEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	s.client.MaxConcurrent = 1
	s.Fault(pilottest.Fault{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, call := range []func() error{
		func() error { _, err := s.client.Peers(ctx, PeersInput{}); return err },
		func() error { _, err := s.client.Pending(ctx, PendingInput{}); return err },
		func() error { _, err := s.client.Send(ctx, SendInput{Peer: "bob", Message: "a"}); return err },
		func() error { _, err := s.client.Send(ctx, SendInput{Peer: "bob", Message: "b"}); return err },
		func() error {
			_, err := s.client.Help(ctx, HelpInput{Agent: "bob"})
			return err
		},
		func() error {
			_, err := s.client.Help(ctx, HelpInput{Agent: "bob"})
			return err
		},
	} {
		all.Go(func() {
			if err := call(); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	s.until("one runs", func() bool { return len(s.Running()) > 0 })
	cancel()
	all.Wait()
	s.gone()
	if n := len(s.Calls()); n != 1 {
		t.Errorf("%d ran", n)
	}
	if places := s.client.places(); len(places) != 0 {
		t.Errorf("%d places are still taken", len(places))
	}
	for name, l := range s.client.lanes {
		if l.users+len(l.turn)+len(l.sends)+len(l.asks) != 0 {
			t.Errorf("the lane of %s is still used", name)
		}
	}
}

func TestAPeerHasOneLaneHoweverItIsCalled(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	if _, err := s.client.Send(t.Context(), SendInput{Peer: "bob", Message: "m"}); err != nil {
		t.Fatal(err)
	}
	var lanes []*lane
	for _, name := range []string{"bob", "BOB", "2", "0:0000.0000.0002", "9:0009.0000.0002"} {
		l := s.client.enter(name)
		defer s.client.leave(l)
		lanes = append(lanes, l)
	}
	if lanes = slices.Compact(lanes); len(lanes) != 1 {
		t.Errorf("%d lanes", len(lanes))
	}
	for i := range 3 * maxNames {
		s.client.learn(fmt.Sprintf("host-%d", i), "0:0000.0000.0009")
	}
	if n := len(s.client.names); n > maxNames {
		t.Errorf("%d names are kept", n)
	}
}

func TestLanesAreForgotten(t *testing.T) {
	t.Parallel()
	c := &Client{}
	for i := range 100 {
		c.leave(c.enter(fmt.Sprint(i)))
	}
	c.leave(c.enter("last"))
	if names := slices.Collect(maps.Keys(c.lanes)); len(names) != 1 {
		t.Errorf("%d lanes are kept", len(names))
	}
}
