// Package daemon is a jobs daemon for agents: it runs their long-running programs
// and answers the five calls that package jobsclient makes.
//
// # Starting one
//
// A program that wants jobs without a daemon beside it starts one in its own
// process, in memory:
//
//	registry, err := agents.New(agents.Agent{
//		Name: "me",
//		Bins: map[string]*agents.Bin{"sh": {Def: tool.Def{Binary: "sh"}}},
//	})
//	token, err := registry.Token("me")
//	d, err := daemon.Start(ctx, daemon.Config{Agents: registry, StateDir: dir, Socket: "-", Memory: true})
//	defer d.Shutdown(ctx)
//	client := jobsclient.New(jobsclient.Config{URL: d.URL(), Token: token, DialOptions: d.DialOptions()})
//	tools := tool.NewJobTools(client)
//
// With a socket, a TCP address or both, other processes are its clients; see
// [Config]. The zero value of each field is the documented default.
//
// # State
//
// All state is in NATS JetStream, by default on a server inside the process that
// listens nowhere and keeps its files in Config.StateDir, which one daemon uses at
// a time. What it has answered is in a file by then and survives the death of the
// process; with Config.Fsync it survives that of the machine too. Config.NATS names
// servers to use instead: then fronts and workers may run apart, any number of
// each, on as many machines.
//
// # Promises
//
// An accepted job runs at most once. It ends as done, error or cancelled, or, if
// its worker died, as orphaned, within Config.LeaseTTL and about ten seconds more
// while a front is there. What Config bounds is refused with a clear error past the
// bound, or is announced where it is missing. [Daemon.Shutdown] drains.
//
// # Trust
//
// A token lets in whoever has it as its agent: to run the agent's programs with the
// rights of the daemon's user, and to see and cancel that agent's jobs, no others.
// Without a token nothing is served, save health on sockets that only the user can
// reach. Tokens are kept as hashes; no token, environment, standard input or output
// is logged, arguments only at debug level.
//
// Nothing protects the daemon's user from the jobs: a program may read what that
// user may, the operator's token in StateDir among it. Nothing protects the state
// from whoever may write to the account of Config.NATS.
package daemon
