// Package daemon is a jobs daemon for agents: it runs their long-running programs
// and answers the five calls of jobsclient. All of its state is in NATS JetStream,
// by default in a server inside the process that listens nowhere.
//
//	registry, err := agents…
//	d, err := daemon.Start(ctx, daemon.Config{Agents: registry, StateDir: dir})
//	…
//	err = d.Shutdown(ctx)
package daemon
