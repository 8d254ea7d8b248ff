package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/internal/text"
	"github.com/fantasytools/fantasytools/jobsclient"
)

const (
	// noJob is the id of no job, and noBin the name of no BIN: the daemon refuses
	// paths. What it says of them tells what the token allows.
	noJob = "job_00000000-0000-0000-0000-000000000000"
	noBin = "toolbox/doctor"

	// doctorLabel selects no job, so that listing them costs nothing.
	doctorLabel = "io.fantasytools.doctor"
)

// checkJobs looks at the two variables, the daemon that they name, and what its
// token allows.
func (a *app) checkJobs(ctx context.Context, r *report) {
	cfg, ok := jobsclient.FromEnv()
	if swapped(cfg) {
		r.fault(jobsclient.EnvDaemonURL, "the address and the token stand in each other's variable, or one stands in both", "set "+jobsclient.EnvDaemonURL+" to the address, such as unix:///path/of/socket, and "+jobsclient.EnvAgentToken+" to the token")
		return
	}
	if !ok {
		halfSet(cfg, r)
		return
	}
	cfg.CallTimeout, cfg.Logger = a.opts.wait, a.logger
	client := jobsclient.New(cfg)
	defer client.Close() //nolint:errcheck // only asked
	d := &daemonCheck{cfg: cfg, client: client, report: r}
	d.run(ctx)
}

// halfSet reports variables that are not both set.
func halfSet(cfg jobsclient.Config, r *report) {
	const get = "a jobs daemon sets both for the agents that it runs: export what it gives out for this agent, or start one (examples/jobsd of this module)"
	set, unset := jobsclient.EnvDaemonURL, jobsclient.EnvAgentToken
	switch {
	case cfg.URL == "" && cfg.Token == "":
		if os.Getenv(set) != "" || os.Getenv(unset) != "" {
			r.fault(set, "it holds only white space, and so does, or is not set, "+unset, get)
			return
		}
		r.missing(set, set+" and "+unset+" are not set, so there are no tools for jobs", get)
		return
	case cfg.URL == "":
		set, unset = unset, set
	}
	r.fault(unset, fmt.Sprintf("it is not set or holds only white space, but %s is set; there are no tools for jobs", set), "set it too, or unset the other; "+get)
}

// swapped reports whether an address stands where the token belongs, or a token
// where the address does: it would be printed with the address.
func swapped(cfg jobsclient.Config) bool {
	token := strings.ToLower(cfg.Token)
	for _, scheme := range []string{"unix:", "http:", "https:"} {
		if strings.HasPrefix(token, scheme) {
			return true
		}
	}
	return cfg.URL != "" && cfg.URL == cfg.Token || strings.HasPrefix(cfg.URL, "eyJ") // as every JSON Web Token begins
}

// daemonCheck asks one daemon.
type daemonCheck struct {
	cfg    jobsclient.Config
	client *jobsclient.Client
	report *report
}

// run asks for a list first: whatever is wrong with the address, the daemon or
// the token shows there, once.
func (d *daemonCheck) run(ctx context.Context) {
	_, err := d.client.List(ctx, jobsclient.ListOptions{Labels: map[string]string{doctorLabel: "none"}})
	if err != nil && !errors.Is(err, jobsclient.ErrPermissionDenied) {
		d.unusable(err)
		return
	}
	d.report.ok(jobsclient.EnvDaemonURL, "the jobs daemon at "+text.Line(d.cfg.URL, 300)+" answers and takes the token")
	d.capability("job_list", "job_list", err)
	_, err = d.client.Get(ctx, noJob)
	d.capability("job_status", "job_status and the waiting for a silent job", err)
	d.capability("job_watch", "job_wait and job_watch", d.watch(ctx))
	d.capability("job_cancel", "job_cancel", d.client.Cancel(ctx, noJob))
	d.submit(ctx)
}

// unusable reports why there is no working with the daemon.
func (d *daemonCheck) unusable(err error) {
	subject, advice := jobsclient.EnvDaemonURL, "start the daemon, or restart it if it hangs, or correct "+jobsclient.EnvDaemonURL
	switch {
	case errors.Is(err, jobsclient.ErrInvalidArgument):
		advice = "set it to unix:///path/of/socket, http://127.0.0.1:PORT or https://HOST"
	case errors.Is(err, jobsclient.ErrUnauthenticated):
		subject = jobsclient.EnvAgentToken
		advice = "set it to the agent's current token, whole; the daemon issues a new one when the agent's capabilities change, and revokes the one before"
		if strings.HasPrefix(d.cfg.Token, jobsdToken) {
			advice = `set it to a token of this daemon: eval "$(jobsd token AGENT)" makes a new one`
		}
		d.report.fault(subject, "the jobs daemon refuses the token: "+tokenProblem(d.cfg.Token, time.Now()), advice)
		return
	}
	found := strings.TrimSuffix(strings.TrimPrefix(d.text(err), "listing the jobs: "), "; try again once it is back")
	d.report.fault(subject, found, advice)
}

// watch reads the first state of a job that does not exist.
func (d *daemonCheck) watch(ctx context.Context) error {
	for _, err := range d.client.Watch(ctx, noJob) {
		return err
	}
	return nil
}

// capability reports what the error of a call says about what the token allows.
// That there is no such job is as it should be.
func (d *daemonCheck) capability(name, tools string, err error) {
	switch {
	case err == nil, errors.Is(err, jobsclient.ErrNotFound), errors.Is(err, jobsclient.ErrNotRunning), errors.Is(err, jobsclient.ErrInvalidArgument):
	case errors.Is(err, jobsclient.ErrPermissionDenied):
		d.report.fault(name, fmt.Sprintf("the agent lacks the capability %s, which %s need", name, tools),
			"let the operator of the daemon grant it; the agent then has a new token for "+jobsclient.EnvAgentToken)
	default:
		d.report.fault(name, d.text(err), "look at the daemon: it answered before")
	}
}

// submit asks for a job of a BIN that cannot exist. The refusal tells whether
// jobs may be submitted, and which BINs there are.
func (d *daemonCheck) submit(ctx context.Context) {
	id, err := d.client.Submit(ctx, jobsclient.SubmitRequest{Bin: noBin})
	switch {
	case err == nil:
		_ = d.client.Cancel(ctx, id) // no daemon that checks its BINs comes here
		d.report.fault("job_submit", "the daemon took a job for a BIN that is not declared", "check what listens at "+jobsclient.EnvDaemonURL)
	case errors.Is(err, jobsclient.ErrNotRunning), errors.Is(err, jobsclient.ErrNotFound):
		d.report.fault("job_submit", d.text(err), "start the agent at the daemon; jobs are submitted for an agent that runs")
	case strings.Contains(err.Error(), "agent_ref is required"):
		d.report.fault(jobsclient.EnvAgentToken, "it is the operator's token and no agent's: jobs of all agents are seen, and none can be submitted", "set it to the token of an agent")
	case errors.Is(err, jobsclient.ErrInvalidArgument):
		d.bins(err)
	default:
		d.capability("job_submit", "job_submit", err)
	}
}

// bins reports what can be run, if all else is as it should be.
func (d *daemonCheck) bins(refusal error) {
	_, list, listed := strings.Cut(refusal.Error(), "pick one of: ")
	switch {
	case listed && strings.TrimSpace(list) == "(none)":
		d.report.fault("job_submit", "no BIN is declared for the agent, so no job can be submitted", "let the operator of the daemon add BINs to the agent")
	case listed:
		d.report.ok("job_submit", "jobs may run these BINs: "+text.Line(list, 300))
	default:
		said := strings.TrimPrefix(d.text(refusal), "submitting the job: the jobs daemon refused the request: ")
		d.report.ok("job_submit", "the daemon takes submissions, and of a BIN that does not exist it says: "+said)
	}
}

// minSecret is how many bytes a token has at least that is looked for in what is
// printed: a shorter one is in many words, and no secret.
const minSecret = 8

// text is an error without the token, which may stand in what a server repeats.
func (d *daemonCheck) text(err error) string {
	said := err.Error()
	if len(d.cfg.Token) >= minSecret {
		said = strings.ReplaceAll(said, d.cfg.Token, "[token]")
	}
	return text.Line(said, 600)
}

// jobsdToken is how the tokens of examples/jobsd begin.
const jobsdToken = "jobsd_"

// tokenProblem says what can be seen of a refused token: a daemon answers the same
// to one that is wrong, expired and revoked. Nothing of the token is repeated.
func tokenProblem(token string, now time.Time) string {
	parts := strings.Split(token, ".")
	var claims struct {
		Expires int64 `json:"exp"`
	}
	var body []byte
	err := errors.New("not of three parts")
	if len(parts) == 3 {
		if body, err = base64.RawURLEncoding.DecodeString(parts[1]); err == nil {
			err = json.Unmarshal(body, &claims)
		}
	}
	switch {
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "it has a blank, a line break or a character that no token has"
	case strings.HasPrefix(token, jobsdToken):
		return "it is wrong, cut, of another daemon, or revoked"
	case err != nil:
		return "it is no JSON Web Token, as if it had not been copied whole"
	case claims.Expires != 0 && now.Unix() >= claims.Expires:
		return "it expired on " + time.Unix(claims.Expires, 0).UTC().Format(time.RFC1123)
	}
	return "it is wrong, of another daemon, or revoked"
}
