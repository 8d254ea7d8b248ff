package worker

import (
	"cmp"
	"crypto/rand"
	"os"
	"strings"
)

// newID returns a name that no worker had before: the host's, and something
// random.
func newID() string {
	host, _ := os.Hostname()
	return sanitise(host) + "-" + rand.Text()[:12]
}

// sanitise makes a token of NATS of a host's name.
func sanitise(host string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r == '.':
			return '-'
		}
		return -1
	}, host)
	return cmp.Or(clean[:min(len(clean), 64)], "worker")
}
