// Package embedded runs a NATS server with JetStream inside this process. It
// listens nowhere: who is not this process cannot reach it.
package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	server *server.Server
	lock   *flock.Flock
}

// ErrLocked says that another process uses the directory.
var ErrLocked = errors.New("the state directory is in use")

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
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the state directory: %w", err)
	}
	if !held {
		return nil, fmt.Errorf("%w: another daemon keeps its jobs in %s; stop it, or name another directory with -state", ErrLocked, c.Dir)
	}
	s := &Server{lock: lock}
	if err := s.start(c); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(c Config) error {
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
	s.server = ns
	ns.SetLoggerV2(&logger{c.Logger.Named("nats").Sugar()}, false, false, false)
	ns.Start()
	if !ns.ReadyForConnections(readyTimeout) {
		return fmt.Errorf("the embedded NATS server is not ready after %v", readyTimeout)
	}
	return nil
}

// Connect returns a connection to the server.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append(options, nats.InProcessServer(s.server))...)
}

// Stop ends the server and waits for it.
func (s *Server) Stop() {
	if s.server != nil {
		s.server.Shutdown()
		s.server.WaitForShutdown()
	}
	_ = s.lock.Close()
}

// logger passes on what the server says. It says much at info level that only
// its makers need.
type logger struct{ to *zap.SugaredLogger }

func (l *logger) Noticef(format string, v ...any) { l.to.Debugf(format, v...) }
func (l *logger) Warnf(format string, v ...any)   { l.to.Warnf(format, v...) }
func (l *logger) Fatalf(format string, v ...any)  { l.to.Errorf(format, v...) }
func (l *logger) Errorf(format string, v ...any)  { l.to.Errorf(format, v...) }
func (l *logger) Debugf(format string, v ...any)  { l.to.Debugf(format, v...) }
func (l *logger) Tracef(format string, v ...any)  { l.to.Debugf(format, v...) }
