// Package embedded runs a NATS server with JetStream inside this process. It
// listens nowhere: who is not this process cannot reach it.
//
// A server that could not write, because the disk is full or has failed, would
// take nothing more until it is started anew, even when there is room again. So it
// is ended then, which connections see as any server's end, and another one is
// started as soon as the directory can be written to.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/zap"
)

// Config says where the server keeps its state.
type Config struct {
	Dir    string      // made if it is not there
	Fsync  bool        // every write reaches the disk before it counts; otherwise a crash of the machine may cost the last minutes
	Logger *zap.Logger // nil: nothing is logged
}

// Server is a running server.
type Server struct {
	config  Config
	lock    *flock.Flock
	kick    chan struct{} // the server has told of an error
	quit    chan struct{}
	stopped sync.Once
	healer  sync.WaitGroup

	mu     sync.Mutex
	server *server.Server // nil: it cannot write, or has ended
}

// ErrLocked says that another process uses the directory.
var ErrLocked = errors.New("the state directory is in use")

// lockPatience is how long a lock may be held by what a dead daemon left.
const lockPatience = time.Second

// readyTimeout bounds the start of the server, which reads what is stored.
const readyTimeout = time.Minute

// Start starts a server. The error is ErrLocked if another process has the
// directory.
func Start(c Config) (*Server, error) {
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	lock := flock.New(filepath.Join(c.Dir, "lock"), flock.SetPermissions(0o600))
	if err := take(lock); errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("%w: another daemon keeps its jobs in %s; stop it, or name another directory with -state", err, c.Dir)
	} else if err != nil {
		return nil, fmt.Errorf("locking the state directory: %w", err)
	}
	if err := tryWriting(c.Dir); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("the state directory cannot be written to; make room on its disk, or name another directory with -state: %w", err)
	}
	s := &Server{config: c, lock: lock, kick: make(chan struct{}, 1), quit: make(chan struct{})}
	if err := s.start(); err != nil {
		s.Stop()
		return nil, err
	}
	s.healer.Go(s.heal)
	return s, nil
}

// take takes a lock. A daemon that was killed may have left it for a moment to a
// child that had not become the program of its job yet.
func take(lock *flock.Flock) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	held, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) || err == nil && !held {
		return ErrLocked
	}
	return err
}

func (s *Server) start() error {
	c := s.config
	ns, err := server.NewServer(&server.Options{
		ServerName: "jobsd",
		DontListen: true,
		JetStream:  true,
		StoreDir:   c.Dir,
		SyncAlways: c.Fsync,
		MaxPayload: 1 << 20,
		NoSigs:     true,
		NoLog:      true,
		// What the disk has is the bound; each stream has its own.
		JetStreamMaxMemory: 64 << 20,
		JetStreamMaxStore:  1 << 50,
	})
	if err != nil {
		return fmt.Errorf("the embedded NATS server: %w", err)
	}
	ns.SetLoggerV2(&logger{c.Logger.Named("nats").Sugar(), s.kick}, false, false, false)
	ns.Start()
	if !ns.ReadyForConnections(readyTimeout) {
		end(ns)
		return fmt.Errorf("the embedded NATS server is not ready after %v", readyTimeout)
	}
	s.replace(ns)
	return nil
}

// replace makes ns, which may be nil, the server, and returns what was before.
func (s *Server) replace(ns *server.Server) (before *server.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.server = s.server, ns
	return before
}

func (s *Server) running() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server
}

func end(ns *server.Server) {
	ns.Shutdown()
	ns.WaitForShutdown()
}

// Connect returns a connection to the server. It connects anew, as the options
// say, after the server was ended because it could not write.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append(options, nats.InProcessServer(s))...)
}

// InProcessConn is of [nats.InProcessConnProvider].
func (s *Server) InProcessConn() (net.Conn, error) {
	ns := s.running()
	if ns == nil {
		return nil, errors.New("the embedded NATS server waits until the state directory can be written to")
	}
	return ns.InProcessConn()
}

// Stop ends the server and waits for it. It may be called more than once.
func (s *Server) Stop() {
	s.stopped.Do(func() { close(s.quit) })
	s.healer.Wait()
	if ns := s.replace(nil); ns != nil {
		end(ns)
	}
	_ = s.lock.Close()
}

// logger passes on what the server says. It says much at info level that only
// its makers need.
type logger struct {
	to   *zap.SugaredLogger
	kick chan<- struct{} // is told, without waiting, of each error
}

func (l *logger) Noticef(format string, v ...any) { l.to.Debugf(format, v...) }
func (l *logger) Warnf(format string, v ...any)   { l.to.Warnf(format, v...) }
func (l *logger) Fatalf(format string, v ...any)  { l.to.Errorf(format, v...) }
func (l *logger) Debugf(format string, v ...any)  { l.to.Debugf(format, v...) }
func (l *logger) Tracef(format string, v ...any)  { l.to.Debugf(format, v...) }

func (l *logger) Errorf(format string, v ...any) {
	l.to.Errorf(format, v...)
	select {
	case l.kick <- struct{}{}:
	default:
	}
}
