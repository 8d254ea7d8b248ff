package daemon

import "github.com/fantasytools/fantasytools/examples/jobsd/internal/store"

// Store returns where the daemon keeps its state.
func (d *Daemon) Store() *store.Store { return d.store }

// CloseNATS closes the connection as a server's refusal does.
func (d *Daemon) CloseNATS() { d.nc.Close() }
