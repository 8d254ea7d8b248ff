//go:build unix

package embedded

import (
	"context"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// limitFiles lets no file of this process grow beyond so many bytes, as if the disk
// were full, and returns how to end that.
func limitFiles(t *testing.T, size uint64) (end func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limited := before
	limited.Cur = size
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited); err != nil {
		t.Fatal(err)
	}
	end = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	return end
}

func TestAServerWhoseDirectoryCannotBeWrittenToDoesNotStart(t *testing.T) {
	limitFiles(t, 100_000)
	if s, err := Start(Config{Dir: t.TempDir()}); err == nil {
		s.Stop()
		t.Error("it has started")
	}
}

func TestAServerThatCannotWriteIsStartedAnewOnceItCan(t *testing.T) {
	s, err := Start(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	gone, back := make(chan struct{}, 10), make(chan struct{}, 10)
	nc, err := s.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { gone <- struct{}{} }),
		nats.ReconnectHandler(func(*nats.Conn) { back <- struct{}{} }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	stored := uint64(0)
	publish := func() error {
		attempt, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		_, err := js.Publish(attempt, "s", make([]byte, 10_000))
		return err
	}
	unlimited := limitFiles(t, 200_000)
	for publish() == nil {
		if stored++; stored == 100 {
			t.Fatal("it could write in spite of the limit")
		}
	}
	<-gone
	if _, err := s.InProcessConn(); err == nil {
		t.Error("a server that cannot write can be connected to")
	}
	unlimited()
	<-back
	if err := publish(); err != nil {
		t.Errorf("publishing afterwards: %v", err)
	}
	stream, err := js.Stream(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	// The one whose answer did not come may be there or not.
	if n := stream.CachedInfo().State.Msgs; n != stored+1 && n != stored+2 {
		t.Errorf("%d messages are there, and %d were stored", n, stored+1)
	}
}
