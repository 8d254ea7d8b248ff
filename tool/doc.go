// Package tool makes tools for agents written with [charm.land/fantasy]: out of
// binaries, out of a jobs daemon, and out of Go functions.
//
// # Binaries as tools
//
// A [Def] names a binary and describes it to the model; [LoadTools] checks a
// list of them and makes a tool of each:
//
//	tools, err := tool.LoadTools([]tool.Def{{
//		Name:        "git",
//		Description: "Runs git in the project's working copy.",
//		Binary:      "git",
//		Args:        []string{"--no-pager"},
//	}}, workDir, logger)
//	agent := fantasy.NewAgent(model, fantasy.WithTools(tools...), fantasy.WithRepairToolCall(tool.RepairToolCall))
//
// The model sends an [Input]: arguments, text for standard input, or both. The
// program is started without a shell, so each argument arrives as it was sent.
// It runs in workDir with the null device as standard input unless the call
// brings one, and in a process group of its own, without a terminal.
//
// # What the model reads
//
// A program that exits with 0 answers what it wrote to stdout. If that is blank
// the answer is stderr, under that label, and if both are blank
// "(exit 0, no output)". Everything else is an error answer: its first line is
// the exit code, the signal, or "timed out after …", and both streams follow
// under their labels.
//
// The answer holds at most MaxOutput bytes of output. Of a longer stream the
// head and the tail are kept, and a notice between them says how many bytes, as
// the program wrote them, are missing. On failure both streams share the bound;
// what one does not need the other gets. Memory does not grow with the output.
//
// Text is made fit for a model: ANSI sequences are removed, a line that was
// redrawn with carriage returns or backspaces keeps its last state, invalid
// UTF-8 becomes U+FFFD, NUL is dropped. A PNG, JPEG, GIF or WebP image of at most
// [MaxImage] bytes on stdout becomes an image; a larger one and other binary
// output are announced with type and size.
//
// What a host may want besides is in the answer's metadata: see [Result].
//
// # How a call ends
//
// When its Timeout is over, or the context ends, the process group is sent
// SIGTERM, and SIGKILL two seconds later. When the program has ended, whatever it
// left in its group is killed; a background child that keeps a pipe open neither
// delays the answer nor turns success into failure. Run returns a Go error only
// if the caller's context has ended, and then the context's own. Everything else
// is an error answer, which the agent goes on from.
//
// On Windows, which has no SIGTERM, the program and its children are ended at
// once, save a child that it started in the instant before it was put into its job
// object. Batch files are refused there, because a shell would read their
// arguments.
//
// # What a program sees
//
// A child inherits the environment of this process, as it is at the time of the
// call, without the variables whose names look like credentials: those in which a
// part between underscores is KEY, TOKEN, SECRET, PASSWORD, PASSWD or
// CREDENTIALS, in any case. OPENAI_API_KEY, OTTERS_AGENT_TOKEN and
// AWS_ACCESS_KEY_ID go; MONKEY stays. A Def passes one on by naming it in Env, or
// sets a variable of its own there. The directory usr/bin below workDir stands in
// front of PATH, unless the name of workDir holds the separator of PATH, and PWD is
// workDir.
//
// # Trust
//
// A Def grants the model everything its binary can do with any arguments, as the
// user this process runs as. A Def of sh, python, git or find grants that user's
// whole account; there is no such thing as a harmless argument list that this
// package could check for you. What it does protect:
//
//   - No shell reads the arguments, and no argument is split, joined or lost.
//   - A bare name is never looked up in the current directory, and a binary is
//     resolved once, when the tools are loaded.
//   - Variables that look like credentials are not passed to the child. Others
//     are: a name such as PGPASS is not caught.
//   - Output cannot exhaust memory or the model's context, and cannot be blank,
//     invalid or carry terminal sequences.
//   - Nothing in the child's process group that this user may kill outlives the
//     call.
//
// What it does not protect:
//
//   - workDir is where a program starts, not a sandbox. It can read and write
//     whatever the user can.
//   - A program that runs as the same user can still find secrets: in files such
//     as ~/.netrc, and on Linux in /proc/<pid>/environ, where the environment that
//     this process was started with can be read. What a program prints is not
//     searched for secrets.
//   - usr/bin below workDir comes before PATH, for the lookup of bare names at load
//     and for what a program starts. Whoever can write there decides what runs: let
//     it be writable by nobody the model acts for, or give absolute paths, which
//     settle the first lookup only.
//   - A program that makes itself a daemon (a session or group of its own) lives
//     on; it only cannot delay the answer.
//   - A program that runs as another user, such as sudo or su, cannot be killed.
//     It is given up some seconds after it should have ended, which the answer
//     and [Result] say, and is watched by a goroutine until it ends.
//   - There is no limit on the child's own memory, CPU time, disk or network.
//   - Output is the words of a program, or of whoever wrote the files it read. A
//     model may take them for instructions.
//
// An agent of fantasy completes calls whose JSON was cut off and runs them
// shorter than the model meant them, unless it is given [RepairToolCall].
//
// To ask a person or a policy before a call, wrap the tools with [Guard].
//
// # Jobs on a daemon
//
// Where the environment names a jobs daemon in OTTERSD_URL and OTTERS_AGENT_TOKEN,
// [BuildJobTools] returns job_submit, job_status and job_wait. Elsewhere it returns
// nil; if only one of the two is set, zap's global logger gets a warning.
// [NewJobTools] adds job_cancel, job_list and job_watch, on a client that you own:
//
//	client := jobsclient.New(cfg)
//	defer client.Close()
//	agent := fantasy.NewAgent(model, fantasy.WithTools(tool.NewJobTools(client)...))
//	result, err := agent.Generate(tool.WithSession(ctx, sessionID), call)
//
// All tools of a set share the client, which connects at the first call. Jobs of a
// context with [WithSession] carry its session as a label, whatever the model says,
// and job_list shows these jobs unless it is asked for those of all sessions.
//
// Answers are JSON. job_submit returns the job's id at once; job_status and job_wait
// return state, time of running, exit code and output, within the bound of a
// binary's output and cleaned like it. Of a job that runs only the last 2 KiB of
// each stream are shown. A job that failed, or was cancelled, is no error answer:
// its state says it. An error answer means that the request was invalid, refused, or
// did not reach the daemon. If the answer to a submission is lost, the job is looked for, and the
// model gets its id or reads that the job may exist. The metadata of an answer
// that describes a job is a [JobResult], that of job_list a [ListResult].
//
// A wait ends with the job, also across restarts of the daemon. After [MaxWait], and
// a second before the context's deadline, it answers that the job is still running,
// and the job goes on. A context that is cancelled during job_wait cancels the job,
// within two seconds; during job_watch it does not. A deadline never cancels a job.
//
// The daemon decides what runs: whoever calls job_submit can run each BIN that the
// token's agent may, with any arguments. The token is taken out of errors and, as it
// is, of output; see package jobsclient for how it is sent, and what is not
// protected. Output is the words of a program here, too.
//
// # Tools from functions
//
// [New] and [NewParallel] make a tool of a Go function whose input is a struct.
// The model sees every field's full description, and the function runs only with
// input that the schema allows. Use them instead of fantasy.NewAgentTool, which
// shows no jsonschema tags, takes a map for a property named "*", and drops
// unknown keys.
package tool
