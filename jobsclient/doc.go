// Package jobsclient hands binaries to a jobs daemon, which runs them as long
// as they take, and reads their results: a gRPC client made for agents that
// live longer than the connection, the daemon's process or their own patience.
//
//	cfg, ok := jobsclient.FromEnv()
//	if !ok {
//		return errors.New("no jobs daemon here")
//	}
//	client := jobsclient.New(cfg)
//	defer client.Close()
//
//	id, err := client.Submit(ctx, jobsclient.SubmitRequest{Bin: "report", Args: []string{"--year", "2025"}})
//	if err != nil {
//		return err
//	}
//	job, err := client.Wait(ctx, id)
//
// # Connections
//
// New opens nothing. The first call connects, and a connection that is lost is
// made anew by the next call, at once and not after a back-off. A call that
// finds the daemon down tries for a second, so that a restart goes unnoticed,
// and then says what is wrong: no socket, nobody listening, not a socket, not
// allowed. The next call starts afresh. Calls with a context without deadline
// end after Config.CallTimeout. Watches get connections of their own when
// there are many; unary calls never queue behind them.
//
// # Jobs
//
// Submit returns an id. Wait and Watch follow the job by that id across
// restarts of the daemon; giving up on them leaves the job alone, and Cancel
// kills it. A job that was running when the daemon died ends as Orphaned. Done
// means that the process ended by itself: look at ExitCode, too.
//
// Submit sends its request once. When the answer is lost, it looks for the job
// by a label of its own and returns the id all the same, or an error that is
// ErrAnswerLost: the job may exist.
//
// # Errors
//
// Each error is one sentence that says what was tried, what went wrong and what
// to do. Branch with errors.Is on the sentinels (ErrNotFound, ErrUnavailable, …)
// and on context.Canceled and context.DeadlineExceeded, which appear only when
// the caller's own context has ended. The daemon's gRPC status, if it answered,
// is what status.FromError finds.
//
// # Limits
//
// A job is read whole: up to Config.MaxReceive (64 MiB) of output and input,
// more is ErrTooLarge. The daemon sends text only, so a job whose output is not
// UTF-8 is ErrUnreadable. Arguments cannot hold NUL. The daemon runs ten jobs at
// once for all agents together; the others wait as Pending.
//
// # Trust
//
// The token is a secret: it is sent with each call and only in the authorization
// header. It goes unencrypted only to a loopback address, a host name without dots
// or host.docker.internal, unless Config.AllowPlaintext is set, and never through a
// proxy of the environment. It is taken out of whatever the daemon answers: of job
// output in its plain form, of errors also in base64, hex or escaped form. Not protected is a token that a binary prints encoded, nor anything
// else a binary prints. The daemon is trusted to run what it is told: whoever
// has the token can run each BIN the agent may, and a daemon, or what listens in
// its place on a socket or port, learns the token.
package jobsclient
