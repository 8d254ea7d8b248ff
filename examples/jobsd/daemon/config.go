package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// Role is which part of a daemon runs in this process.
type Role int

// The roles.
const (
	Both   Role = iota // front and worker
	Front              // answers clients; needs Config.NATS
	Worker             // runs jobs; needs Config.NATS
)

// Defaults of Config.
const (
	DefaultSlots    = 10
	DefaultDrain    = 30 * time.Second
	DefaultMaxStdin = 16 << 20
	DefaultMaxArgs  = 256 << 10
)

// Config says how a daemon runs. The zero value of a field is its default.
type Config struct {
	Role   Role
	Agents *agents.Registry // who may submit jobs, and what they may run; required

	// StateDir holds the embedded server's store, the socket, the operator's token
	// and the addresses. It is made with mode 0700. Required.
	StateDir string

	// NATS is the URL of servers with JetStream, several of them with commas
	// between. "": one in this process that keeps its state in StateDir.
	NATS      string
	NATSCreds string // a credentials file for NATS
	Prefix    string // of all names in JetStream; "": "jobsd"
	Replicas  int    // of all state in JetStream; 0: 1
	Fsync     bool   // of the embedded server: every write reaches the disk before it counts

	// Socket is the path of the unix socket, mode 0600. "": jobsd.sock in StateDir;
	// "-": none.
	Socket string
	// Listen is a TCP address. "": none. Any other than loopback needs TLSCert and
	// TLSKey, PEM files.
	Listen          string
	TLSCert, TLSKey string
	// Memory makes DialOptions lead to this daemon without any socket.
	Memory bool
	// Metrics is a loopback TCP address for /metrics and /healthz. "": none.
	Metrics string

	Slots int           // jobs that run at once; 0: 10
	Drain time.Duration // how long running jobs may go on after Shutdown; 0: 30 s

	MaxRunTime     time.Duration // of a job; 0: 24 h
	Retention      time.Duration // of ended jobs; 0: 24 h
	LeaseTTL       time.Duration // after which a silent worker counts as dead; 0: 15 s
	MaxQueue       int64         // jobs that are pending or running; 0: 100,000
	MaxRecordBytes int64         // of all records of jobs; 0: 1 GiB
	MaxOutputBytes int64         // of all long output; the oldest is dropped; 0: 8 GiB
	OutputHead     int           // bytes kept of the start of each stream of a job; 0: 8 MiB
	OutputTail     int           // and of its end; 0: 8 MiB
	MaxStdin       int           // bytes of a job's standard input; 0: 16 MiB
	MaxArgs        int           // bytes of a job's arguments and labels; 0: 256 KiB

	Logger *zap.Logger // nil: nothing is logged
}

func (c Config) withDefaults() Config {
	c.Socket = cmp.Or(c.Socket, filepath.Join(c.StateDir, "jobsd.sock"))
	c.Slots = cmp.Or(c.Slots, DefaultSlots)
	c.Drain = cmp.Or(c.Drain, DefaultDrain)
	c.MaxRunTime = cmp.Or(c.MaxRunTime, 24*time.Hour)
	c.MaxStdin = cmp.Or(c.MaxStdin, DefaultMaxStdin)
	c.MaxArgs = cmp.Or(c.MaxArgs, DefaultMaxArgs)
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// check refuses what cannot work or would be less safe than it looks.
func (c Config) check() error {
	switch {
	case c.Agents == nil:
		return errors.New("no agents are configured")
	case c.StateDir == "":
		return errors.New("no state directory is named")
	case c.Role != Both && c.NATS == "":
		return errors.New("a front and a worker that run apart share their state on NATS servers; name them with -nats, or run both in one process with jobsd serve")
	case c.NATS == "" && c.Replicas > 1:
		return fmt.Errorf("the embedded server is one, so there are no %d replicas; -nats names servers that have them", c.Replicas)
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("a certificate needs its key and a key its certificate")
	case c.Listen != "" && !hasPort(c.Listen):
		return fmt.Errorf("-listen is host:port, as in 127.0.0.1:5500 or [::1]:5500, and not %q", c.Listen)
	case c.Metrics != "" && !hasPort(c.Metrics):
		return fmt.Errorf("-metrics is host:port, as in 127.0.0.1:9464, and not %q", c.Metrics)
	case c.Listen != "" && c.TLSCert == "" && !loopback(c.Listen):
		return fmt.Errorf("%s can be reached from other machines, where tokens would be readable on the way; listen on 127.0.0.1 or give a certificate and its key", c.Listen)
	case c.Metrics != "" && !loopback(c.Metrics):
		return fmt.Errorf("metrics are served without a token, so only on loopback, as on 127.0.0.1:9464; %s is not", c.Metrics)
	}
	return nil
}

func hasPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port != ""
}

// loopback tells whether only this machine reaches an address. A name may lead
// anywhere, save localhost.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c Config) store() store.Config {
	return store.Config{
		Prefix: c.Prefix, Replicas: c.Replicas, Retention: c.Retention, MaxRunTime: c.MaxRunTime, MaxQueue: c.MaxQueue,
		MaxRecordBytes: c.MaxRecordBytes, MaxOutputBytes: c.MaxOutputBytes, HeadBytes: c.OutputHead, TailBytes: c.OutputTail,
		LeaseTTL: c.LeaseTTL, Logger: c.Logger,
	}
}
