package daemon

import (
	"net"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// Store returns where the daemon keeps its state.
func (d *Daemon) Store() *store.Store { return d.store }

// CloseNATS closes the connection as a server's refusal does.
func (d *Daemon) CloseNATS() { d.nc.Close() }

// AtMost is atMost.
func AtMost(n int, l net.Listener) net.Listener { return atMost(n, l) }
