package tool

import (
	"context"
	_ "embed" // the descriptions
	"os"
	"strings"
	"time"

	"charm.land/fantasy"
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/internal/text"
	"github.com/fantasytools/fantasytools/internal/typed"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// MaxWait is how long job_wait and job_watch wait for a job before they answer
// that it is still running.
const MaxWait = 10 * time.Minute

// SessionLabel is the label that tells which session a job belongs to.
const SessionLabel = "io.openotters.session-id"

const (
	cancelLimit = 2 * time.Second // for the cancel behind a cancelled job_wait
	deadlineGap = time.Second     // between the answer of a wait and the turn's deadline
)

var (
	//go:embed descriptions/job_submit.md
	submitDescription string
	//go:embed descriptions/job_status.md
	statusDescription string
	//go:embed descriptions/job_wait.md
	waitDescription string
	//go:embed descriptions/job_watch.md
	watchDescription string
	//go:embed descriptions/job_cancel.md
	cancelDescription string
	//go:embed descriptions/job_list.md
	listDescription string
)

// BuildJobTools returns job_submit, job_status and job_wait for the daemon that
// the environment names in OTTERSD_URL and OTTERS_AGENT_TOKEN, on one client
// that connects at the first call and lives as long as the process. A token
// that changes in the environment is followed. Without both variables there are
// no tools; if one of them is set, zap's global logger gets a warning that names
// the other.
func BuildJobTools() []fantasy.AgentTool {
	j := jobToolsFromEnv()
	if j == nil {
		return nil
	}
	return j.basic()
}

func jobToolsFromEnv() *jobTools {
	cfg, ok := jobsclient.FromEnv()
	if !ok {
		warnOfHalfAnEnvironment(cfg)
		return nil
	}
	cfg.Logger = zap.L()
	cfg.TokenSource = tokenFromEnv(cfg.Token)
	return newJobTools(jobsclient.New(cfg))
}

// tokenFromEnv follows the environment's token, and keeps to the first one when
// the runtime has taken it out of the environment, as it may to hide it from
// the processes it starts.
func tokenFromEnv(first string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		if now := strings.TrimSpace(os.Getenv(jobsclient.EnvAgentToken)); now != "" {
			return now, nil
		}
		return first, nil
	}
}

func warnOfHalfAnEnvironment(cfg jobsclient.Config) {
	missing, set := jobsclient.EnvAgentToken, jobsclient.EnvDaemonURL
	switch {
	case cfg.URL == "" && cfg.Token == "":
		if os.Getenv(missing) == "" && os.Getenv(set) == "" {
			return
		}
		missing, set = missing+" and "+set, "white space"
	case cfg.URL == "":
		missing, set = set, missing
	}
	zap.L().Warn("no job tools: a variable of the environment is empty", zap.String("missing", missing), zap.String("set", set))
}

// NewJobTools returns job_submit, job_status, job_wait, job_cancel, job_list and
// job_watch on a client that remains the caller's: close it when the tools are
// used no more. It panics if there is no client.
func NewJobTools(c *jobsclient.Client) []fantasy.AgentTool {
	if c == nil {
		panic("tool.NewJobTools: the client is nil")
	}
	return newJobTools(c).all()
}

func (j *jobTools) all() []fantasy.AgentTool {
	j.hasList = true
	return append(j.basic(),
		typed.New("job_cancel", strings.TrimSpace(cancelDescription), jobOptions(false), j.cancel),
		typed.New("job_list", strings.TrimSpace(listDescription), jobOptions(true), j.list),
		typed.New("job_watch", strings.TrimSpace(watchDescription), jobOptions(true), j.watch),
	)
}

// jobTools are the tools of one client.
type jobTools struct {
	client  *jobsclient.Client
	maxWait time.Duration
	hasList bool // whether job_list is among the tools
}

func newJobTools(c *jobsclient.Client) *jobTools {
	return &jobTools{client: c, maxWait: MaxWait}
}

func (j *jobTools) basic() []fantasy.AgentTool {
	return []fantasy.AgentTool{
		typed.New("job_submit", strings.TrimSpace(submitDescription), jobOptions(false), j.submit),
		typed.New("job_status", strings.TrimSpace(statusDescription), jobOptions(true), j.status),
		typed.New("job_wait", strings.TrimSpace(waitDescription), jobOptions(true), j.wait),
	}
}

// jobOptions are those of a tool whose answers are JSON, and bounded where they
// are made: a cut through JSON would break it.
func jobOptions(parallel bool) typed.Options {
	return typed.Options{Parallel: parallel, MaxOutput: -1}
}

// JobIDInput is the input of job_status, job_wait, job_watch and job_cancel.
type JobIDInput struct {
	JobID string `json:"job_id" jsonschema:"description=The job's id, as job_submit or job_list gave it"`
}

// id is the job's id without the white space that models put around it: no id
// has any.
func (in JobIDInput) id() string { return strings.TrimSpace(in.JobID) }

// shownID is an id as answers repeat it: it comes from a model or a daemon, and
// may be anything of any length.
func shownID(id string) string { return text.Line(id, 100) }

type sessionKey struct{}

// WithSession marks a context with a session's id; an empty one is no session. Jobs
// that are submitted with it carry the id as the label SessionLabel, and job_list
// shows only those by default.
func WithSession(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, sessionKey{}, id)
}

func sessionOf(ctx context.Context) string {
	id, _ := ctx.Value(sessionKey{}).(string)
	return id
}
