//go:build unix

package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func startDaemon(t *testing.T, transport jobstest.Transport) *jobstest.Daemon {
	t.Helper()
	machine(t, "sh")
	d := jobstest.New(t, jobstest.Options{Transport: transport, Bins: map[string]jobstest.Bin{
		"jq": jobstest.Prints("", 0), "report": jobstest.Prints("", 0),
	}})
	d.Setenv(t)
	return d
}

func TestDoctorFindsTheDaemonAndItsBins(t *testing.T) {
	for _, transport := range []jobstest.Transport{jobstest.Unix, jobstest.TCP} {
		d := startDaemon(t, transport)
		findings := doctored(t)
		expect(t, findings,
			wanted{"jobs", "OTTERSD_URL", statusOK, d.URL() + " answers and takes the token", ""},
			wanted{"jobs", "job_submit", statusOK, "these BINs: jq, report", ""})
		if len(of("jobs", findings)) != 2 {
			t.Errorf("%+v", findings)
		}
		if jobs := d.Jobs(); len(jobs) != 0 {
			t.Errorf("doctor has submitted %+v", jobs)
		}
	}
}

func TestDoctorNamesWhatIsWrongWithTheVariables(t *testing.T) {
	machine(t, "sh")
	const token = "eyJhbGciOiJIUzI1NiJ9.eyJzZWNyZXQiOjF9.c2VjcmV0"
	for _, tc := range []struct {
		name, url, token string
		want             wanted
	}{
		{"only the address", "unix:///run/x.sock", "", wanted{"jobs", "OTTERS_AGENT_TOKEN", statusFault, "it is not set or holds only white space, but OTTERSD_URL is set", "set it too"}},
		{"only the token", "", token, wanted{"jobs", "OTTERSD_URL", statusFault, "but OTTERS_AGENT_TOKEN is set", "set it too"}},
		{"white space", " ", "\n", wanted{"jobs", "OTTERSD_URL", statusFault, "only white space", ""}},
		{"an address without a scheme", "localhost:5500", token, wanted{"jobs", "OTTERSD_URL", statusFault, "none of the schemes", "unix:///path/of/socket"}},
		{"a relative socket", "unix://d.sock", token, wanted{"jobs", "OTTERSD_URL", statusFault, "is not absolute", "unix:///path/of/socket"}},
		{"a password in the address", "http://me:hunter2@localhost", token, wanted{"jobs", "OTTERSD_URL", statusFault, "must not hold a user name", ""}},
		{"plaintext over the network", "http://example.com", token, wanted{"jobs", "OTTERSD_URL", statusFault, "unencrypted", "https://"}},
		{"both in the other's variable", token, "unix:///run/x.sock", wanted{"jobs", "OTTERSD_URL", statusFault, "stand in each other's variable", "set OTTERSD_URL to the address"}},
		{"the token in both", token, token, wanted{"jobs", "OTTERSD_URL", statusFault, "one stands in both", ""}},
		{"a token with a blank", "unix:///run/x.sock", "eyJ hunter2", wanted{"jobs", "OTTERS_AGENT_TOKEN", statusFault, "it has a blank, a line break", ""}},
		{"a token of two lines", "unix:///run/x.sock", "hunter2\nhunter2", wanted{"jobs", "OTTERS_AGENT_TOKEN", statusFault, "it has a blank, a line break", ""}},
		{"a token that is in many words", "unix:///run/x.sock", "e", wanted{"jobs", "OTTERSD_URL", statusFault, "the jobs daemon is not running", ""}},
		{"an address that steers the terminal", "unix:///run/\x1b[2J\nx.sock", token, wanted{"jobs", "OTTERSD_URL", statusFault, "is not running", ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(jobsclient.EnvDaemonURL, tc.url)
			t.Setenv(jobsclient.EnvAgentToken, tc.token)
			findings := doctored(t)
			expect(t, findings, tc.want)
			if len(of("jobs", findings)) != 1 {
				t.Errorf("more than one finding: %+v", findings)
			}
			if shown := fmt.Sprint(findings); strings.Contains(shown, "eyJ") || strings.Contains(shown, "hunter2") {
				t.Errorf("a secret is shown: %s", shown)
			}
		})
	}
}

func TestDoctorNamesWhatIsWrongWithTheDaemon(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(t *testing.T, d *jobstest.Daemon)
		want wanted
	}{
		{"it was stopped", func(_ *testing.T, d *jobstest.Daemon) { d.Stop() },
			wanted{"jobs", "OTTERSD_URL", statusFault, "is not running: there is no socket at ", "start the daemon"}},
		{"its socket is dead", func(_ *testing.T, d *jobstest.Daemon) { d.Kill() },
			wanted{"jobs", "OTTERSD_URL", statusFault, "is not running: nothing listens at ", "start the daemon"}},
		{"the path is a file", func(t *testing.T, _ *jobstest.Daemon) {
			t.Setenv(jobsclient.EnvDaemonURL, "unix://"+writeFile(t, filepath.Join(t.TempDir(), "f"), ""))
		}, wanted{"jobs", "OTTERSD_URL", statusFault, "is not a socket", ""}},
		{"something else listens", func(t *testing.T, _ *jobstest.Daemon) {
			t.Setenv(jobsclient.EnvDaemonURL, "http://"+greeter(t, "220 mail\r\n"))
		}, wanted{"jobs", "OTTERSD_URL", statusFault, "gRPC server", ""}},
		{"nothing listens at the port", func(t *testing.T, _ *jobstest.Daemon) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			_ = l.Close()
			t.Setenv(jobsclient.EnvDaemonURL, "http://"+l.Addr().String())
		}, wanted{"jobs", "OTTERSD_URL", statusFault, "is not running: nothing listens at http://127.0.0.1:", "start the daemon"}},
		{"the token is of another daemon", func(t *testing.T, _ *jobstest.Daemon) {
			t.Setenv(jobsclient.EnvAgentToken, jobstest.New(t, jobstest.Options{}).Token())
		}, wanted{"jobs", "OTTERS_AGENT_TOKEN", statusFault, "refuses the token: it is wrong, of another daemon, or revoked", "current token"}},
		{"the token was revoked", func(_ *testing.T, d *jobstest.Daemon) { d.Agent().Rotate() },
			wanted{"jobs", "OTTERS_AGENT_TOKEN", statusFault, "or revoked", "revokes the one before"}},
		{"the token has expired", func(t *testing.T, d *jobstest.Daemon) {
			t.Setenv(jobsclient.EnvAgentToken, d.Agent().RotateFor(-time.Hour))
		}, wanted{"jobs", "OTTERS_AGENT_TOKEN", statusFault, "it expired on ", ""}},
		{"the token is of another jobsd", func(t *testing.T, _ *jobstest.Daemon) {
			t.Setenv(jobsclient.EnvAgentToken, "jobsd_0123456789")
		}, wanted{"jobs", "OTTERS_AGENT_TOKEN", statusFault, "it is wrong, cut, of another daemon", "jobsd token AGENT"}},
		{"the token was not copied whole", func(t *testing.T, d *jobstest.Daemon) {
			t.Setenv(jobsclient.EnvAgentToken, d.Token()[:40])
		}, wanted{"jobs", "OTTERS_AGENT_TOKEN", statusFault, "not been copied whole", ""}},
		{"the token is the operator's", func(t *testing.T, d *jobstest.Daemon) {
			t.Setenv(jobsclient.EnvAgentToken, d.OperatorToken())
		}, wanted{"jobs", "OTTERS_AGENT_TOKEN", statusFault, "it is the operator's token", "token of an agent"}},
		{"the agent has no capability", func(t *testing.T, d *jobstest.Daemon) {
			t.Setenv(jobsclient.EnvAgentToken, d.Agent().Grant())
		}, wanted{"jobs", "job_submit", statusFault, "lacks the capability job_submit", "grant it"}},
		{"the agent has no BIN", func(t *testing.T, _ *jobstest.Daemon) { jobstest.New(t, jobstest.Options{}).Setenv(t) },
			wanted{"jobs", "job_submit", statusFault, "no BIN is declared", "add BINs"}},
		{"the database fails", func(_ *testing.T, d *jobstest.Daemon) {
			d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, Err: grpcstatus.Error(codes.InvalidArgument, "database is locked")})
		}, wanted{"jobs", "job_submit", statusOK, "of a BIN that does not exist it says: database is locked", ""}},
		{"the agent does not run", func(_ *testing.T, d *jobstest.Daemon) { d.Agent().SetState(jobstest.AgentStopped) },
			wanted{"jobs", "job_submit", statusFault, "is not running", "start the agent"}},
		{"the agent is being prepared", func(_ *testing.T, d *jobstest.Daemon) { d.Agent().SetState(jobstest.AgentPreparing) },
			wanted{"jobs", "job_submit", statusFault, "is not initialised yet", "start the agent"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := startDaemon(t, jobstest.Unix)
			tc.make(t, d)
			wait := "10s"
			if strings.Contains(tc.want.finding, "nothing listens") || strings.Contains(tc.want.finding, "no socket") {
				wait = "300ms" // for a daemon that comes back
			}
			findings := diagnosed(t, "-wait", wait)
			expect(t, findings, tc.want)
			for _, token := range []string{d.Token(), d.Agent().Token(), d.OperatorToken()} {
				if shown := fmt.Sprint(findings); strings.Contains(shown, token) || strings.Contains(shown, strings.Split(token, ".")[2]) {
					t.Errorf("a token is shown: %s", shown)
				}
			}
		})
	}
}

func TestDoctorDoesNotWaitForADaemonThatHangs(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(d *jobstest.Daemon)
		want wanted
	}{
		{"it reads nothing", func(d *jobstest.Daemon) { d.Hang() },
			wanted{"jobs", "OTTERSD_URL", statusFault, "accepts connections but does not answer", "restart it"}},
		{"it answers no call", func(d *jobstest.Daemon) { d.Inject(jobstest.Fault{Hang: true}) },
			wanted{"jobs", "OTTERSD_URL", statusFault, "did not answer within 1s", "restart it"}},
		{"it answers no submission", func(d *jobstest.Daemon) { d.Inject(jobstest.Fault{Method: jobstest.MethodSubmit, Hang: true}) },
			wanted{"jobs", "job_submit", statusFault, "did not answer", "it answered before"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := startDaemon(t, jobstest.Unix)
			tc.make(d)
			began := time.Now()
			findings := diagnosed(t, "-wait", "1s")
			if took := time.Since(began); took > limit/2 {
				t.Errorf("it took %v", took)
			}
			expect(t, findings, tc.want)
		})
	}
}

// greeter listens and says the same to all that connect, as no gRPC server does.
func greeter(t *testing.T, words string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(words))
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestDoctorNamesEachCapabilityThatIsMissing(t *testing.T) {
	d := startDaemon(t, jobstest.Unix)
	for _, missing := range jobstest.AllCapabilities() {
		rest := slices.DeleteFunc(jobstest.AllCapabilities(), func(c jobstest.Capability) bool { return c == missing })
		t.Setenv(jobsclient.EnvAgentToken, d.Agent().Grant(rest...))
		findings := of("jobs", doctored(t))
		expect(t, findings, wanted{"jobs", string(missing), statusFault, "the agent lacks the capability " + string(missing) + ", which job_", "let the operator"})
		faults := 0
		for _, f := range findings {
			if f.Status == statusFault {
				faults++
			}
		}
		if faults != 1 {
			t.Errorf("without %s: %+v", missing, findings)
		}
	}
}

func TestNoTextOfAServerBringsTheTokenBack(t *testing.T) {
	d := startDaemon(t, jobstest.Unix)
	d.Inject(jobstest.Fault{Method: jobstest.MethodList, Err: errors.New("bad header: Bearer " + d.Token())})
	findings := of("jobs", doctored(t))
	if len(findings) != 1 || findings[0].Status != statusFault || strings.Contains(fmt.Sprint(findings), d.Token()) {
		t.Errorf("%+v", findings)
	}
}

func TestTokenProblem(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	token := func(claims string) string {
		return "eyJ." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
	}
	for _, tc := range []struct{ name, token, want string }{
		{"no token", "hunter2", "it is no JSON Web Token, as if it had not been copied whole"},
		{"three parts that are none", "a.%.c", "it is no JSON Web Token, as if it had not been copied whole"},
		{"claims that are none", token("[]"), "it is no JSON Web Token, as if it had not been copied whole"},
		{"one of jobsd", "jobsd_0123456789", "it is wrong, cut, of another daemon, or revoked"},
		{"no end", token("{}"), "it is wrong, of another daemon, or revoked"},
		{"an end in the future", token(fmt.Sprintf(`{"exp":%d}`, now.Unix()+1)), "it is wrong, of another daemon, or revoked"},
		{"an end that is now", token(fmt.Sprintf(`{"exp":%d}`, now.Unix())), "it expired on Wed, 04 Mar 2026 05:06:07 UTC"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tokenProblem(tc.token, now); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
