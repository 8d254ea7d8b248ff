//go:build unix

package daemon_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/natstest"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// relay leads connections to a server until they are to hang: they stay then, and
// nothing comes through. Later ones do.
type relay struct {
	net.Listener
	to string

	mu      sync.Mutex
	open    []net.Conn // to the server
	running sync.WaitGroup
}

func startRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l, to: to}
	r.running.Go(r.accept)
	t.Cleanup(func() {
		_ = l.Close()
		r.hang()
		r.running.Wait()
	})
	return r
}

func (r *relay) accept() {
	for {
		client, err := r.Accept()
		if err != nil {
			return
		}
		behind, err := net.Dial("tcp", r.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		r.open = append(r.open, behind)
		r.mu.Unlock()
		r.running.Go(func() { _, _ = io.Copy(client, behind) })
		r.running.Go(func() {
			_, _ = io.Copy(behind, client)
			_, _ = io.Copy(io.Discard, client)
			_, _ = client.Close(), behind.Close()
		})
	}
}

func (r *relay) hang() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.open {
		_ = c.Close()
	}
	r.open = nil
}

func TestAServerThatHangsIsLeftBeforeTheLeaseLapses(t *testing.T) {
	way := startRelay(t, natstest.Server(t).Addr().String())
	r := registry(t, shell("me"))
	d := start(t, daemon.Config{Agents: r, NATS: "nats://" + way.Addr().String(), LeaseTTL: 6 * time.Second})
	c := client(t, d, r)
	id := submit(t, c, "sleep 3")
	begun(t, c, id)
	way.hang()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if job, err := c.Wait(ctx, id); err != nil || job.Status != jobsclient.Done {
		t.Errorf("the job that ran: %+v, %v", job, err)
	}
}
