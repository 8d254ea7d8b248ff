package jobsclient

import (
	"context"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// The environment variables in which the daemon hands an agent its address and
// its token.
const (
	EnvDaemonURL  = "OTTERSD_URL"
	EnvAgentToken = "OTTERS_AGENT_TOKEN"
)

// Defaults of Config's fields.
const (
	DefaultCallTimeout      = 15 * time.Second
	DefaultLivenessInterval = 30 * time.Second
	DefaultMaxReceive       = 64 << 20 // bytes
)

// Config says which daemon a Client talks to and within which bounds. Only URL
// and a token are needed.
type Config struct {
	// URL is the daemon's address: unix:///abs/path, unix:/abs/path,
	// http://host[:port] (port 80) or https://host[:port] (port 443, TLS with
	// the system's roots). White space around it is dropped. A socket's path is
	// taken literally, with its blanks and percent signs.
	URL string

	// Token is the agent's token; white space around it is dropped. It is sent
	// with each call and stands in no error, log or result.
	Token string

	// TokenSource, if set, is asked for the token of each call, in place of
	// Token: so a token that changes is followed. It must be safe for
	// concurrent use and should answer from memory.
	TokenSource func(ctx context.Context) (string, error)

	// AllowPlaintext allows http:// to any host. Without it the token goes
	// unencrypted only to a loopback address, to host.docker.internal, and to a
	// host name without dots.
	AllowPlaintext bool

	// DialOptions follow the client's own, so they win: a dialer given here
	// (grpc.WithContextDialer) or transport credentials take the place of what
	// URL says. They are used for every connection the client opens.
	DialOptions []grpc.DialOption

	// Logger hears of lost and resumed watches; nil is silent.
	Logger *zap.Logger

	// CallTimeout bounds a unary call whose context has no deadline, and the
	// time until a Wait or Watch has seen a first state. 0: DefaultCallTimeout
	// (15 s).
	CallTimeout time.Duration

	// LivenessInterval is how long a watch may be silent before the client asks
	// for the job beside it; that question may take a third of it. So a hung daemon
	// is noticed within 4/3 of it. 0: DefaultLivenessInterval (30 s).
	LivenessInterval time.Duration

	// MaxReceive is the largest answer in bytes that is read; a larger one is
	// ErrTooLarge. 0: DefaultMaxReceive (64 MiB).
	MaxReceive int
}

// FromEnv returns the Config that the environment describes, and whether both
// variables are set to more than white space.
func FromEnv() (Config, bool) {
	cfg := Config{
		URL:   strings.TrimSpace(os.Getenv(EnvDaemonURL)),
		Token: strings.TrimSpace(os.Getenv(EnvAgentToken)),
	}
	return cfg, cfg.URL != "" && cfg.Token != ""
}

func (c Config) withDefaults() Config {
	c.URL = strings.TrimSpace(c.URL)
	if c.CallTimeout <= 0 {
		c.CallTimeout = DefaultCallTimeout
	}
	if c.LivenessInterval <= 0 {
		c.LivenessInterval = DefaultLivenessInterval
	}
	if c.MaxReceive <= 0 {
		c.MaxReceive = DefaultMaxReceive
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}
