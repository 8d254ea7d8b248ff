package main

import (
	"flag"
	"path/filepath"
	"regexp"
	"time"

	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
)

// role is one of the commands that run a daemon.
type role struct {
	name, summary string
	daemon        daemon.Role
}

var (
	roleServe  = role{"serve", "take jobs from agents and run them, in one process (the default)", daemon.Both}
	roleFront  = role{"front", "take jobs from agents and leave running them to workers; needs -nats", daemon.Front}
	roleWorker = role{"worker", "run the jobs that fronts have taken; needs -nats", daemon.Worker}
)

func (r role) front() bool  { return r.daemon != daemon.Worker }
func (r role) worker() bool { return r.daemon != daemon.Front }

// options are the command line of a daemon.
type options struct {
	role    role
	state   state
	agents  string
	verbose bool
	logJSON bool
	config  daemon.Config

	output, stdin, args   size
	allRecords, allOutput size
}

// newOptions returns the defaults.
func newOptions(r role) *options {
	return &options{
		role: r, output: 16 << 20, stdin: 16 << 20, args: 256 << 10, allRecords: 1 << 30, allOutput: 8 << 30,
		config: daemon.Config{
			Role: r.daemon, Slots: 10, Drain: 30 * time.Second, MaxRunTime: 24 * time.Hour, Retention: 24 * time.Hour,
			LeaseTTL: 15 * time.Second, MaxQueue: 100_000, Replicas: 1, Prefix: "jobsd",
		},
	}
}

func (o *options) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("jobsd "+o.role.name, flag.ContinueOnError)
	o.state.flags(fs)
	fs.StringVar(&o.agents, "agents", "", "read the agents from this YAML `file` (default: agents.yaml in the state directory)")
	fs.BoolVar(&o.verbose, "v", false, "log every detail")
	fs.BoolVar(&o.logJSON, "log-json", false, "log in JSON, one object a line")
	o.stateFlags(fs)
	o.jobFlags(fs)
	if o.role.front() {
		o.frontFlags(fs)
	}
	if o.role.worker() {
		fs.IntVar(&o.config.Slots, "slots", o.config.Slots, "run this `number` of jobs at once")
	}
	return fs
}

// stateFlags are about where the state is.
func (o *options) stateFlags(fs *flag.FlagSet) {
	c := &o.config
	fs.StringVar(&c.NATS, "nats", "", "keep the state on the NATS servers at this `URL`, several with commas between")
	fs.StringVar(&c.NATSCreds, "nats-creds", "", "show the NATS servers the credentials in this `file`")
	fs.StringVar(&c.Prefix, "prefix", c.Prefix, "let the names of all streams and buckets begin with this `word`")
	fs.IntVar(&c.Replicas, "replicas", c.Replicas, "keep the state on this `number` of the NATS servers, 1 to 5")
	if o.role == roleServe {
		fs.BoolVar(&c.Fsync, "fsync", false, "without -nats: bring every write to the disk before it counts, so that not even a\npower failure loses a job; slower")
	}
	fs.StringVar(&c.Metrics, "metrics", "", "serve /metrics and /healthz on this loopback `address`, as in 127.0.0.1:9464")
	fs.DurationVar(&c.Drain, "drain", c.Drain, "let running jobs go on for this `time` when a signal ends the daemon")
}

// jobFlags are the bounds that fronts and workers share, and so should be given
// alike.
func (o *options) jobFlags(fs *flag.FlagSet) {
	c := &o.config
	fs.DurationVar(&c.MaxRunTime, "max-run-time", c.MaxRunTime, "end a job that runs longer than this `time`")
	fs.DurationVar(&c.Retention, "retention", c.Retention, "keep jobs for this `time` after their end")
	fs.DurationVar(&c.LeaseTTL, "lease", c.LeaseTTL, "count a worker as dead that gives no sign of life for this `time`; its jobs are orphaned")
	fs.Int64Var(&c.MaxQueue, "max-queue", c.MaxQueue, "refuse jobs while this `number` of them is pending or running")
	fs.Var(&o.output, "output-bytes", "keep this `size` of each output stream of a job: half of it from the start, half from the end")
	fs.Var(&o.allRecords, "max-record-bytes", "refuse jobs when the records of all jobs have this `size`")
	fs.Var(&o.allOutput, "max-output-bytes", "drop the oldest output when all that is kept has this `size`")
}

// frontFlags are about who connects.
func (o *options) frontFlags(fs *flag.FlagSet) {
	c := &o.config
	fs.StringVar(&c.Socket, "socket", "", "listen on a unix socket at this `path`, or - for none (default: jobsd.sock in the state directory)")
	fs.StringVar(&c.Listen, "listen", "", "listen on this TCP `address`, too, as in 127.0.0.1:5500; others than loopback need a certificate")
	fs.StringVar(&c.TLSCert, "tls-cert", "", "prove who answers on -listen with the certificate in this PEM `file`")
	fs.StringVar(&c.TLSKey, "tls-key", "", "the certificate's key, in this PEM `file`")
	fs.Var(&o.stdin, "max-stdin", "refuse jobs with a larger standard input than this `size`")
	fs.Var(&o.args, "max-args", "refuse jobs whose arguments and labels have more than this `size`")
}

// validPrefix matches what the names of streams, buckets and subjects may begin with.
var validPrefix = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// check refuses what cannot be meant. What the daemon cannot do it says itself.
func (o *options) check() error {
	c := &o.config
	switch {
	case o.role != roleServe && c.NATS == "":
		return wrongUsage("jobsd %s needs -nats: fronts and workers meet on NATS servers; jobsd serve does without", o.role.name)
	case c.NATS == "" && c.NATSCreds != "":
		return wrongUsage("-nats-creds is for the servers of -nats, and there is no -nats")
	case c.NATS == "" && c.Replicas > 1:
		return wrongUsage("-replicas is for the servers of -nats; the built-in one is alone")
	case c.NATS != "" && c.Fsync:
		return wrongUsage("-fsync is for the built-in server; the servers of -nats have a setting of their own")
	case !validPrefix.MatchString(c.Prefix):
		return wrongUsage("-prefix is %q; it is 1 to 32 letters, digits, dashes and underscores", c.Prefix)
	case c.Replicas < 1 || c.Replicas > 5:
		return wrongUsage("-replicas is %d; it is 1 to 5", c.Replicas)
	case c.Slots < 1:
		return wrongUsage("-slots is %d; it is at least 1", c.Slots)
	case c.MaxQueue < 1:
		return wrongUsage("-max-queue is %d; it is at least 1", c.MaxQueue)
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return wrongUsage("-tls-cert and -tls-key belong together")
	case c.TLSCert != "" && c.Listen == "":
		return wrongUsage("-tls-cert is for -listen, and there is no -listen")
	case o.role.front() && c.Socket == "-" && c.Listen == "":
		return wrongUsage("with -socket - and without -listen nobody could reach the daemon")
	}
	return o.checkMore()
}

func (o *options) checkMore() error {
	for name, d := range map[string]time.Duration{"drain": o.config.Drain, "max-run-time": o.config.MaxRunTime, "retention": o.config.Retention} {
		if d <= 0 {
			return wrongUsage("-%s is %v; it is more than 0", name, d)
		}
	}
	if o.config.LeaseTTL < time.Second {
		return wrongUsage("-lease is %v; it is at least 1s, since workers renew it six times in that time", o.config.LeaseTTL)
	}
	for name, s := range map[string]size{
		"output-bytes": o.output, "max-stdin": o.stdin, "max-args": o.args, "max-record-bytes": o.allRecords, "max-output-bytes": o.allOutput,
	} {
		if s <= 0 {
			return wrongUsage("-%s is 0; it is at least a byte", name)
		}
	}
	return nil
}

// settle fills the daemon's Config, save for the agents and the logger.
func (o *options) settle() error {
	if err := o.state.resolve(); err != nil {
		return err
	}
	c := &o.config
	c.StateDir = o.state.dir
	if c.Socket != "" && c.Socket != "-" {
		path, err := filepath.Abs(c.Socket)
		if err != nil {
			return wrongUsage("finding the socket: %w", err)
		}
		c.Socket = path
	}
	c.OutputHead, c.OutputTail = int((o.output+1)/2), int(max(o.output/2, 1))
	c.MaxStdin, c.MaxArgs = int(o.stdin), int(o.args)
	c.MaxRecordBytes, c.MaxOutputBytes = int64(o.allRecords), int64(o.allOutput)
	return nil
}
