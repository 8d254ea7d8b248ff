package pilottest_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// parallel runs count sends to bob at the same time.
func parallel(t *testing.T, n *pilottest.Network, me pilottest.Node, count int) (ok int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() {
			r := run(t, n, me, "send-message", "bob", fmt.Sprintf("--data=%03d", i), "--json")
			mu.Lock()
			defer mu.Unlock()
			if r.status == 0 {
				ok++
			}
		})
	}
	all.Wait()
	return ok
}

func TestManyProcessesWorkOnOneNetwork(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.SetRateLimit(pilottest.RateLimit{PerSecond: -1})
	const count = 64
	if ok := parallel(t, n, me, count); ok != count {
		t.Errorf("%d of %d succeeded", ok, count)
	}
	texts := map[string]bool{}
	for _, m := range n.Inbox("bob") {
		texts[m.Text] = true
	}
	if len(texts) != count || len(n.Calls()) != count {
		t.Errorf("%d stored, %d recorded of %d", len(texts), len(n.Calls()), count)
	}
}

func TestADaemonRefusesMoreThanItsConnectionsASecond(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.SetRateLimit(pilottest.RateLimit{PerSecond: 2, Refuse: true})
	start := time.Now()
	ok := parallel(t, n, me, 12)
	seconds := int(time.Since(start)/time.Second) + 1
	if ok < 2 || ok > 2*seconds {
		t.Errorf("%d of 12 were let in within %d s", ok, seconds)
	}
}

func TestADaemonStallsWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	n, me := smallNetwork(t, pilottest.V116)
	n.SetSpeed(10)
	n.SetRateLimit(pilottest.RateLimit{PerSecond: 1})
	run(t, n, me, "send-message", "bob", "--data=x", "--json").data(t)
	run(t, n, me, "send-message", "bob", "--data=y", "--json").data(t)
	first, second := n.Calls()[0], n.Calls()[1]
	if second.Started.Sub(first.Started) < time.Second && second.Took < 100*time.Millisecond {
		t.Errorf("the second took %s", second.Took)
	}
}

func TestTwoMessagesInOneTickOverwriteEachOtherIn12(t *testing.T) {
	t.Parallel()
	eachGeneration(t, func(t *testing.T, g pilottest.Generation, n *pilottest.Network, me pilottest.Node) {
		n.Behave("bob", pilottest.Behaviour{Tick: 24 * time.Hour})
		run(t, n, me, "send-message", "bob", "--data=one", "--json").data(t)
		run(t, n, me, "send-message", "bob", "--data=two", "--json").data(t)
		want := 2
		if g == pilottest.V12 {
			want = 1
		}
		if mail := n.Inbox("bob"); len(mail) != want || mail[len(mail)-1].Text != "two" {
			t.Errorf("%+v", mail)
		}
	})
}
