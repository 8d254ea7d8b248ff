package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
)

// maxStreams is how many calls one connection may have at a time.
const maxStreams = 10_000

// maxSocketPath is what the shortest of the systems' limits, macOS's of 103, leaves
// for the name under which a socket is made.
const maxSocketPath = 98

// listenUnix listens on a socket that only this user may use. A socket that a dead
// daemon left is replaced, one that answers is not.
func listenUnix(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the socket has %d bytes, and systems allow %d; name a shorter one with -socket: %s", len(path), maxSocketPath, path)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("looking for the socket: %w", err)
	case info.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("%s is there and is no socket; move it away or name another path with -socket", path)
	default:
		if err := removeStale(path); err != nil {
			return nil, err
		}
	}
	l, err := listenPrivately(path)
	if err != nil {
		return nil, fmt.Errorf("listening on the socket: %w", err)
	}
	return l, nil
}

func removeStale(path string) error {
	nc, err := net.DialTimeout("unix", path, 2*time.Second)
	switch {
	case err == nil:
		_ = nc.Close()
		return fmt.Errorf("another daemon listens on %s; stop it, or give this one another socket with -socket and another state directory with -state", path)
	case !nobodyListens(err): // it may be of another user, or have no room for one more connection
		return fmt.Errorf("whether another daemon listens on the socket is not known: %w; name another path with -socket, or remove it", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the socket that a daemon left: %w", err)
	}
	return nil
}

func listenTCP(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w; if another program has the port, name another with -listen", address, err)
	}
	return l, nil
}

// server makes a server for the calls: HTTP/2 with and without TLS, and HTTP/1.1.
func server(h http.Handler, logger *zap.Logger, config *tls.Config) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(config == nil)
	return &http.Server{
		Handler:   h,
		Protocols: &protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: front.StreamWindow, MaxReceiveBufferPerConnection: front.ConnectionWindow,
		},
		TLSConfig:         config,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       0, // clients of the original rely on connections that stay
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          zap.NewStdLog(logger.Named("http")),
	}
}

func tlsConfig(cert, key string) (*tls.Config, error) {
	if cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// serve answers on l until the server is shut down.
func serve(s *http.Server, l net.Listener) error {
	var err error
	if s.TLSConfig != nil {
		err = s.ServeTLS(l, "", "")
	} else {
		err = s.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// shutdown ends a server: idle connections at once, calls when they end or the
// context does.
func shutdown(ctx context.Context, s *http.Server) {
	if s.Shutdown(ctx) != nil {
		_ = s.Close()
	}
}
