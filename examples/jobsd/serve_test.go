package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// fakeServer is a daemon whose end the test decides.
type fakeServer struct {
	draining chan struct{} // closed by Shutdown
	drained  chan error    // what Shutdown returns
	done     chan struct{}
	err      error
}

func newFakeServer() *fakeServer {
	return &fakeServer{draining: make(chan struct{}), drained: make(chan error, 1), done: make(chan struct{})}
}

func (s *fakeServer) Done() <-chan struct{} { return s.done }
func (s *fakeServer) Err() error            { return s.err }

func (s *fakeServer) Shutdown(ctx context.Context) error {
	close(s.draining)
	select {
	case err := <-s.drained:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// served runs serve and returns its end and what it says.
func served(s *fakeServer, signals chan os.Signal) (chan error, *strings.Builder) {
	var said strings.Builder
	ended := make(chan error, 1)
	go func() {
		ended <- serve(s, signals, "30s", func(format string, args ...any) { said.WriteString(fmt.Sprintf(format, args...) + "\n") })
	}()
	return ended, &said
}

func TestASignalDrains(t *testing.T) {
	s, signals := newFakeServer(), make(chan os.Signal, 2)
	ended, said := served(s, signals)
	signals <- syscall.SIGTERM
	<-s.draining
	s.drained <- nil
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if want := "terminated: running jobs have 30s to end; another signal cancels them at once\nstopped\n"; said.String() != want {
		t.Errorf("said %q", said)
	}
}

func TestASecondSignalCancelsTheRunningJobs(t *testing.T) {
	s, signals := newFakeServer(), make(chan os.Signal, 2)
	ended, said := served(s, signals)
	signals <- os.Interrupt
	<-s.draining
	signals <- os.Interrupt
	var f *failure
	if err := <-ended; !errors.As(err, &f) || f.status != exitInterrupted {
		t.Errorf("ended with %v", err)
	}
	if !strings.HasSuffix(said.String(), "interrupt: the running jobs are cancelled\n") {
		t.Errorf("said %q", said)
	}
}

func TestADaemonThatFailsEndsTheProgram(t *testing.T) {
	s := newFakeServer()
	s.err = errors.New("the disk is full")
	close(s.done)
	ended, _ := served(s, make(chan os.Signal))
	if err := <-ended; !errors.Is(err, s.err) {
		t.Errorf("ended with %v", err)
	}
	s = newFakeServer()
	signals := make(chan os.Signal, 1)
	ended, _ = served(s, signals)
	signals <- syscall.SIGTERM
	<-s.draining
	s.drained <- errors.New("the disk is full")
	if err := <-ended; err == nil || err.Error() != "the disk is full" {
		t.Errorf("ended with %v", err)
	}
}

func TestNotesGoWhereTheLogGoesIfThatIsJSON(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	var stderr strings.Builder
	notes(streams{stderr: &stderr}, zap.New(core), true)("%d jobs", 3)
	if got := logs.All(); len(got) != 1 || got[0].Message != "3 jobs" || stderr.String() != "" {
		t.Errorf("logged %v, said %q", got, stderr.String())
	}
	notes(streams{stderr: &stderr}, zap.New(core), false)("%d jobs", 3)
	if stderr.String() != "jobsd: 3 jobs\n" || logs.Len() != 1 {
		t.Errorf("said %q", stderr.String())
	}
}
