package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/embedded"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect returns a connection to a server of the test's own.
func connect(t testing.TB) *nats.Conn {
	t.Helper()
	return serve(t, t.TempDir())
}

// serve starts a server on a directory and returns a connection to it.
func serve(t testing.TB, dir string) *nats.Conn {
	t.Helper()
	s, err := embedded.Start(embedded.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func open(t testing.TB, nc *nats.Conn, c store.Config) *store.Store {
	t.Helper()
	if _, ok := t.(*testing.T); ok {
		c.Logger = zaptest.NewLogger(t)
	}
	s, err := store.Open(testContext(t), nc, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
