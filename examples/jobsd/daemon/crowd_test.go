package daemon_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
)

func TestConnectionsBeyondTheBoundAreClosedAtOnce(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := daemon.AtMost(2, plain)
	accepted := make(chan net.Conn, 10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			_, _ = nc.Write([]byte("x"))
			accepted <- nc
		}
	}()
	welcome := func() bool {
		nc, err := net.Dial("tcp", plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		_ = nc.SetReadDeadline(time.Now().Add(time.Minute))
		_, err = io.ReadFull(nc, make([]byte, 1))
		return err == nil
	}
	if first, second := welcome(), welcome(); !first || !second {
		t.Fatal("within the bound one is refused")
	}
	if welcome() {
		t.Error("one beyond the bound is welcome")
	}
	first := <-accepted
	_, _ = first.Close(), first.Close() // the second time makes no more room
	if !welcome() {
		t.Error("who comes after one has left is refused")
	}
	if welcome() {
		t.Error("a connection closed twice has made room for two")
	}
	_ = l.Close()
	<-done
	close(accepted)
	for nc := range accepted {
		_ = nc.Close()
	}
}
