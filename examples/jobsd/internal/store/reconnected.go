package store

import "github.com/nats-io/nats.go"

// reconnected returns a channel that tells when the connection to JetStream was
// lost and is there again, until forget is called. A watch by itself goes on as
// if nothing had happened, and hears nothing for another 10 to 20 s: until it
// misses heartbeats.
func (s *Store) reconnected() (again <-chan nats.Status, forget func()) {
	changes := s.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	return changes, func() { s.nc.RemoveStatusListener(changes) }
}
