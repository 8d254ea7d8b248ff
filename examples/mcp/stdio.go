package main

import (
	"context"
	"crypto/rand"
	"io"
	"time"
)

// lastWords is how long the server waits, when it ends, for a client to read the
// answers that are left.
const lastWords = 5 * time.Second

// serveStdio serves one client until it closes its end or ctx ends, and ends what
// its calls started. The error is what the connection failed with.
func serveStdio(ctx context.Context, s *service, in io.ReadCloser, out io.Writer) error {
	s.requests.only = "mcp-" + rand.Text()[:12]
	transport := newLines(in, out)
	session, err := s.server.Connect(context.WithoutCancel(ctx), transport, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended: // the output is broken
		s.bridge.Close()
		return err
	case <-transport.eof:
	case <-ctx.Done():
	}
	s.bridge.Close() // first, for a session waits for its calls and answers none when it closes
	late, cancel := context.WithTimeout(context.Background(), s.lastWords)
	defer cancel()
	select {
	case <-transport.silence():
	case err = <-ended:
		return err
	case <-late.Done():
	}
	close(transport.release)
	go func() { _ = session.Close() }()
	select {
	case err = <-ended:
		return err
	case <-late.Done(): // nobody reads: the answers have nowhere to go
		return nil
	}
}
