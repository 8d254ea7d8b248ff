package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/zap"
)

const (
	// checkInterval is how often the server is asked whether it can write, beside
	// whenever it tells of an error.
	checkInterval = 10 * time.Second

	// tryInterval is how often it is tried whether the directory can be written to
	// again, at first; longestTry, in the end.
	tryInterval = time.Second
	longestTry  = 15 * time.Second

	// sayAgain is how often the log is told of a trouble that lasts.
	sayAgain = time.Minute

	// spare is how many bytes there must be room for.
	spare = 4 << 20
)

// heal ends a server that cannot write and starts another one as soon as there is
// a point in that, until Stop.
func (s *Server) heal() {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-s.kick:
		case <-ticker.C:
		}
		trouble := troubleOf(s.running())
		if trouble == nil {
			continue
		}
		s.config.Logger.Error("the state directory cannot be written to: no job is taken and no end of one is stored until it can; jobs that run go on",
			zap.String("dir", s.config.Dir), zap.Error(trouble))
		end(s.replace(nil))
		if !s.startAgain() {
			return
		}
		s.config.Logger.Info("the state directory can be written to again")
	}
}

// startAgain returns when there is a server again, or, false, because of Stop.
func (s *Server) startAgain() bool {
	said := time.Now()
	for wait := tryInterval; ; wait = min(2*wait, longestTry) {
		select {
		case <-s.quit:
			return false
		case <-time.After(wait):
		}
		err := tryWriting(s.config.Dir)
		if err == nil {
			err = s.start()
		}
		if err == nil {
			return true
		}
		if time.Since(said) >= sayAgain {
			said = time.Now()
			s.config.Logger.Error("the state directory still cannot be written to", zap.String("dir", s.config.Dir), zap.Error(err))
		}
	}
}

// troubleOf returns why a server cannot write.
func troubleOf(ns *server.Server) error {
	status := ns.Healthz(&server.HealthzOptions{Details: true})
	if !ns.JetStreamEnabled() {
		return errors.New("the server has ended JetStream")
	}
	for _, e := range status.Errors {
		if e.Type == server.HealthzErrorStream && strings.Contains(e.Error, "write error") {
			return errors.New(e.Error)
		}
	}
	return nil
}

// tryWriting returns why nothing can be written to a directory.
func tryWriting(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, ".room"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(make([]byte, spare))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing %d bytes: %w", spare, err)
	}
	return nil
}
