package store_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/natstest"
)

// hanging returns a connection to a server of the test's own, and how to make the
// server hang: the connection stays, and nothing is answered any more.
func hanging(t *testing.T) (nc *nats.Conn, hang func()) {
	t.Helper()
	client, ours := net.Pipe()
	behind, err := net.Dial("tcp", natstest.Server(t).Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(behind, ours) })
	copying.Go(func() { _, _ = io.Copy(ours, behind) })
	t.Cleanup(func() { _, _ = ours.Close(), behind.Close(); copying.Wait() })
	nc, err = nats.Connect("", nats.InProcessServer(one{client}), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, func() {
		_ = behind.Close()
		copying.Go(func() { _, _ = io.Copy(io.Discard, ours) }) // what is asked is still taken
	}
}

// one is a server with one connection.
type one struct{ net.Conn }

func (c one) InProcessConn() (net.Conn, error) { return c.Conn, nil }
