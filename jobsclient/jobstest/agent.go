package jobstest

import (
	"slices"
	"time"
)

// Capability is what an agent's token allows.
type Capability string

// The capabilities, one a call. An agent of the real daemon has none at first.
const (
	CanSubmit Capability = "job_submit"
	CanGet    Capability = "job_status"
	CanList   Capability = "job_list"
	CanCancel Capability = "job_cancel"
	CanWatch  Capability = "job_watch"
)

// AllCapabilities returns every capability.
func AllCapabilities() []Capability {
	return []Capability{CanSubmit, CanGet, CanList, CanCancel, CanWatch}
}

// AgentState is whether the daemon can run jobs for an agent.
type AgentState int

// The states of an agent.
const (
	AgentReady     AgentState = iota
	AgentPreparing            // Submit: "… is not initialised yet …"
	AgentStopped              // Submit: "… is not running …", as of an agent that was not started since the daemon was
)

// Agent is an agent of the daemon: the owner of jobs, and the holder of one
// token. Its methods are safe for concurrent use.
type Agent struct {
	ID   string // a UUID
	Name string

	daemon *Daemon
	// Guarded by the daemon's mutex.
	token        string
	claims       claims
	capabilities []Capability
	state        AgentState
	removed      bool
}

// AddAgent makes another agent, which has exactly these capabilities.
func (d *Daemon) AddAgent(name string, capabilities ...Capability) *Agent {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := &Agent{ID: newUUID(), Name: name, daemon: d, capabilities: capabilities}
	a.issue(10 * 365 * 24 * time.Hour)
	d.agents = append(d.agents, a)
	return a
}

// Token returns the agent's current token.
func (a *Agent) Token() string {
	a.daemon.mu.Lock()
	defer a.daemon.mu.Unlock()
	return a.token
}

// Grant sets the agent's capabilities. As at the real daemon, that issues a new
// token, which is returned, and revokes the one before.
func (a *Agent) Grant(capabilities ...Capability) string {
	a.daemon.mu.Lock()
	defer a.daemon.mu.Unlock()
	a.capabilities = capabilities
	return a.reissue(10 * 365 * 24 * time.Hour)
}

// Rotate issues a new token and revokes the one before.
func (a *Agent) Rotate() string { return a.RotateFor(10 * 365 * 24 * time.Hour) }

// RotateFor is Rotate for a token that expires after d; if d is negative, it
// has expired already.
func (a *Agent) RotateFor(d time.Duration) string {
	a.daemon.mu.Lock()
	defer a.daemon.mu.Unlock()
	return a.reissue(d)
}

// SetState says whether jobs can run for the agent.
func (a *Agent) SetState(s AgentState) {
	a.daemon.mu.Lock()
	defer a.daemon.mu.Unlock()
	a.state = s
}

// Remove removes the agent with its jobs and revokes its token. As at the real
// daemon, processes that run for it go on.
func (a *Agent) Remove() {
	d := a.daemon
	d.mu.Lock()
	defer d.mu.Unlock()
	a.removed = true
	d.revoked[a.claims.ID] = true
	d.agents = slices.DeleteFunc(d.agents, func(other *Agent) bool { return other == a })
	d.delete(func(r *row) bool { return r.AgentId == a.ID })
}

func (a *Agent) reissue(lifetime time.Duration) string {
	a.daemon.revoked[a.claims.ID] = true
	a.issue(lifetime)
	return a.token
}

func (a *Agent) issue(lifetime time.Duration) {
	now := time.Now()
	a.claims = claims{
		Issuer: "ottersd:agent", ID: newUUID(), Issued: now.Unix(), Expires: now.Add(lifetime).Unix(),
		Agent: a.ID, Capabilities: slices.Clone(a.capabilities),
	}
	a.token = sign(a.daemon.key, jwtHeader, a.claims)
}

// OperatorToken returns a token of the operator, who sees the jobs of all
// agents and needs no capability.
func (d *Daemon) OperatorToken() string {
	now := time.Now()
	return sign(d.key, jwtHeader, claims{Issuer: "ottersd", ID: newUUID(), Issued: now.Unix(), Expires: now.AddDate(1, 0, 0).Unix()})
}
