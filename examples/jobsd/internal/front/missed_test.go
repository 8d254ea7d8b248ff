package front_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// breaks cuts what Run hears changes from, when told to, and drops what comes
// until the next time that it is opened.
type breaks struct {
	mu   sync.Mutex
	deaf bool
	cut  context.CancelCauseFunc
}

func (b *breaks) wrap(changes front.Changes) front.Changes {
	return func(ctx context.Context, begun func(), each func(agent, id string, r *jobsdpb.Record, rev uint64)) error {
		inner, cut := context.WithCancelCause(ctx)
		defer cut(nil)
		b.mu.Lock()
		b.cut, b.deaf = cut, false
		b.mu.Unlock()
		err := changes(inner, begun, func(agent, id string, r *jobsdpb.Record, rev uint64) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if !b.deaf {
				each(agent, id, r, rev)
			}
		})
		if cause := context.Cause(inner); ctx.Err() == nil && cause != nil {
			return cause
		}
		return err
	}
}

func (b *breaks) set(deaf bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deaf = deaf
	if !deaf {
		b.cut(errors.New("cut by the test"))
	}
}

func TestChangesThatWereMissedAreReadAgain(t *testing.T) {
	b := &breaks{}
	r := start(t, setup{changes: b.wrap})
	running, ending, vanishing := r.pending(), r.pending().runs(), r.pending()
	var watches []*watch
	for _, job := range []*live{running, ending, vanishing} {
		watches = append(watches, r.watch(r.as("me"), job.Id))
		watches[len(watches)-1].must()
	}
	b.set(true)
	running.runs()
	ending.writes(store.Stdout, "x").ends(store.Done)
	nc, err := r.nats.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.PublishMsg(purge("$KV.jobsd-jobs.me." + vanishing.Id)); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	b.set(false)
	if got := watches[0].must(); got.GetStatus() != store.Running {
		t.Errorf("the first is %s", got.GetStatus())
	}
	if got := watches[1].until(func(j *jobsdpb.Job) bool { return j.GetStatus() == store.Done }); got.GetStdout() != "x" {
		t.Errorf("the second shows %q", got.GetStdout())
	}
	if _, err := watches[2].next(); err == nil || !strings.Contains(err.Error(), "vanished while watching") {
		t.Errorf("the third: %v", err)
	}
	running.ends(store.Done) // is heard again
	watches[0].until(func(j *jobsdpb.Job) bool { return j.GetStatus() == store.Done })
}

// JetStream may tell a consumer nothing, and not that it does so.
func TestAQuietRecordIsReadAgain(t *testing.T) {
	b := &breaks{}
	r := start(t, setup{changes: b.wrap, quiet: 20 * time.Millisecond})
	job := r.pending()
	w := r.watch(r.as("me"), job.Id)
	w.must()
	b.set(true)
	job.runs()
	if got := w.must(); got.GetStatus() != store.Running {
		t.Errorf("it is %s", got.GetStatus())
	}
}

func TestOldRevisionsAreNotShown(t *testing.T) {
	var again func(agent, id string, r *jobsdpb.Record, rev uint64)
	var old []func()
	var mu sync.Mutex
	r := start(t, setup{changes: func(changes front.Changes) front.Changes {
		return func(ctx context.Context, begun func(), each func(agent, id string, r *jobsdpb.Record, rev uint64)) error {
			again = each
			return changes(ctx, begun, func(agent, id string, r *jobsdpb.Record, rev uint64) {
				mu.Lock()
				defer mu.Unlock()
				old = append(old, func() { again(agent, id, r, rev) })
				each(agent, id, r, rev)
				for _, replay := range old {
					replay()
				}
			})
		}
	}})
	job := r.pending()
	w := r.watch(r.as("me"), job.Id)
	w.must()
	job.runs().ends(store.Done)
	rank := map[string]int{store.Pending: 0, store.Running: 1, store.Done: 2}
	last := 0
	w.until(func(j *jobsdpb.Job) bool {
		if rank[j.GetStatus()] < last {
			t.Errorf("%s comes late", j.GetStatus())
		}
		last = rank[j.GetStatus()]
		return j.GetStatus() == store.Done
	})
	w.ends()
}
