package daemon

import "github.com/fantasytools/fantasytools/examples/jobsd/internal/store"

// Store returns where the daemon keeps its state.
func (d *Daemon) Store() *store.Store { return d.store }
