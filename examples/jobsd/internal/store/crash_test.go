package store_test

import (
	"errors"
	"os"
	"testing"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// crash returns a copy of a running server's directory: what a kill would leave.
func crash(t *testing.T, dir string) string {
	t.Helper()
	left := t.TempDir() + "/left"
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return left
}

func TestADroppedJobDoesNotComeBackWithACrash(t *testing.T) {
	dir := t.TempDir()
	s := open(t, serve(t, dir), store.Config{})
	ctx := testContext(t)
	submit(t, s, job(), "")
	if err := next(t, s).Done(); err != nil {
		t.Fatal(err)
	}
	ended := submit(t, s, job(), "")
	d := next(t, s)
	rev := claim(t, s, d, "w")
	d.Record.Status = store.Done
	if _, err := s.Update(ctx, d.Record, rev); err != nil {
		t.Fatal(err)
	}
	if err := d.Done(); err != nil {
		t.Fatal(err)
	}
	cancelled := submit(t, s, job(), "")
	r, rev := get(t, s, cancelled.GetId())
	r.Status = store.Cancelled
	if _, err := s.Update(ctx, r, rev); err != nil {
		t.Fatal(err)
	}
	s.Dequeue(ctx, cancelled.GetId())
	if err := errors.Join(s.Drop(ctx, ended), s.Drop(ctx, cancelled)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what a crash leaves, and what one leaves after that
		dir = crash(t, dir)
		s = open(t, serve(t, dir), store.Config{})
		if err := s.TakeOver(ctx); err != nil {
			t.Fatal(err)
		}
		for name, id := range map[string]string{"ended": ended.GetId(), "cancelled": cancelled.GetId()} {
			if r, _, err := s.Get(ctx, "", id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the job that was %s: %v, %v", name, r, err)
			}
		}
		if n, err := s.Queued(ctx); err != nil || n != 1 {
			t.Errorf("%d jobs are queued, %v; want the one that is pending", n, err)
		}
	}
}
