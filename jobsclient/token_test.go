package jobsclient_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func TestThereIsNoCallWithoutAToken(t *testing.T) {
	d := jobstest.New(t, on(jobstest.TCP, echo))
	for _, token := range []string{"", " \n", "two words", "line\nbreak", "späť"} {
		cfg := d.Config()
		cfg.Token = token
		c := newClient(t, cfg)
		ctx := testContext(t)
		for _, call := range []func(*jobsclient.Client) error{list(ctx), get(ctx, "job_1"), wait(ctx, "job_1"), cancel(ctx, "job_1"), submit(ctx, "x")} {
			err := call(c)
			if !errors.Is(err, jobsclient.ErrUnauthenticated) || !strings.Contains(err.Error(), jobsclient.EnvAgentToken) {
				t.Errorf("token %q: %v", token, err)
			}
			if len(token) > 2 && strings.Contains(err.Error(), token) {
				t.Errorf("the error shows the token: %v", err)
			}
		}
	}
	if n := len(d.Calls()); n != 0 {
		t.Errorf("%d calls arrived", n)
	}
}

func TestTheTokenIsSentTrimmedAndAloneWithEachCall(t *testing.T) {
	d := jobstest.New(t, echo)
	cfg := d.Config()
	cfg.Token = "  " + cfg.Token + "\r\n"
	c := newClient(t, cfg)
	ctx := metadata.AppendToOutgoingContext(testContext(t), "authorization", "Bearer another", "x-secret", "of the caller")
	id, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "true"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(ctx, id); err != nil {
		t.Fatal(err)
	}
	for _, call := range d.Calls() {
		if len(call.Authorization) != 1 || call.Authorization[0] != "Bearer "+d.Token() {
			t.Errorf("%s carried %q", call.Method, call.Authorization)
		}
	}
}

func TestATokenIsNotSentUnencryptedToARemoteHost(t *testing.T) {
	remote := []string{"http://10.0.0.5:5500", "http://daemon.example:5500", "http://0.0.0.0:1", "http://[2001:db8::1]", "http://167772165", "http://0xa000005", "http://127.0.0.1.example"}
	for _, url := range remote {
		err := list(testContext(t))(newClient(t, jobsclient.Config{URL: url, Token: "t0ken"}))
		if !errors.Is(err, jobsclient.ErrInvalidArgument) || !strings.Contains(err.Error(), "AllowPlaintext") {
			t.Errorf("%s: %v", url, err)
		}
	}
	d := jobstest.New(t, on(jobstest.Memory, echo))
	for _, url := range append(remote, "http://host.docker.internal:5500", "http://ottersd:5500") {
		cfg := d.Config()
		cfg.URL, cfg.AllowPlaintext = url, true
		if err := list(testContext(t))(newClient(t, cfg)); err != nil {
			t.Errorf("%s by choice: %v", url, err)
		}
	}
	for _, url := range []string{"http://host.docker.internal:5500", "http://ottersd:5500", "http://[::1]:5500", "http://localhost", "http://127.9.9.9", "http://[::ffff:127.0.0.1]"} {
		cfg := d.Config()
		cfg.URL = url
		if err := list(testContext(t))(newClient(t, cfg)); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestARotatedTokenIsFollowedOrTheErrorSaysHowToRefresh(t *testing.T) {
	d := jobstest.New(t, echo)
	cfg := d.Config()
	fixed := newClient(t, cfg)
	var current atomic.Value
	current.Store(d.Token())
	cfg.TokenSource = func(context.Context) (string, error) { return current.Load().(string) + "\n", nil }
	following := newClient(t, cfg)
	ctx := testContext(t)
	for _, c := range []*jobsclient.Client{fixed, following} {
		if err := list(ctx)(c); err != nil {
			t.Fatal(err)
		}
	}
	current.Store(d.Agent().Rotate())
	if err := list(ctx)(following); err != nil {
		t.Errorf("with a source: %v", err)
	}
	err := list(ctx)(fixed)
	if !errors.Is(err, jobsclient.ErrUnauthenticated) || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "TokenSource") {
		t.Errorf("with the old token: %v", err)
	}
}

func TestAWatchOutlivesTheRotationOfItsTokenAndResumesWithTheNewOne(t *testing.T) {
	d := jobstest.New(t, echo)
	id := d.AddJob(d.Agent(), jobsclient.Job{})
	cfg := d.Config()
	cfg.TokenSource = func(context.Context) (string, error) { return d.Token(), nil }
	c := newClient(t, cfg)
	for job, err := range c.Watch(testContext(t), id) {
		if err != nil {
			t.Fatal(err)
		}
		if job.Status == jobsclient.Running {
			d.Agent().Rotate()
			d.Cut()
			d.Finish(id, "done with it", 0)
		}
	}
}

func TestASourceOfTokensThatFailsIsTold(t *testing.T) {
	d := jobstest.New(t, echo)
	cfg := d.Config()
	cause := errors.New("vault is sealed")
	cfg.TokenSource = func(context.Context) (string, error) { return "", cause }
	err := list(testContext(t))(newClient(t, cfg))
	if !errors.Is(err, cause) || !errors.Is(err, jobsclient.ErrUnauthenticated) || !strings.Contains(err.Error(), "vault is sealed") {
		t.Errorf("got %v", err)
	}
}

func TestASourceOfTokensThatHangsEndsWithTheCallsLimitTheCallersContextOrTheClient(t *testing.T) {
	d := jobstest.New(t, echo)
	cfg := d.Config()
	asked := make(chan struct{}, 100)
	cfg.TokenSource = func(ctx context.Context) (string, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	}
	calls := map[string]func(context.Context) func(*jobsclient.Client) error{
		"Submit": func(ctx context.Context) func(*jobsclient.Client) error { return submit(ctx, "echo") },
		"Wait":   func(ctx context.Context) func(*jobsclient.Client) error { return wait(ctx, "job_1") },
		"List":   list,
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			limited := cfg
			limited.CallTimeout = 50 * time.Millisecond
			err := call(context.Background())(newClient(t, limited))
			if !errors.Is(err, jobsclient.ErrUnauthenticated) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with the call's limit: %v", err)
			}
			plain(t, err)

			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			err = call(ctx)(newClient(t, cfg))
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jobsclient.ErrAnswerLost) {
				t.Errorf("with the caller's deadline: %v", err)
			}

			c := newClient(t, cfg)
			for len(asked) > 0 {
				<-asked
			}
			answer := make(chan error, 1)
			go func() { answer <- call(context.Background())(c) }()
			within(t, func() {
				<-asked
				_ = c.Close()
				if err := <-answer; !errors.Is(err, jobsclient.ErrClosed) {
					t.Errorf("when the client is closed: %v", err)
				}
			})
		})
	}
	if n := len(d.Calls()); n != 0 {
		t.Errorf("%d calls arrived", n)
	}
}

func TestATokenThatTheDaemonEchoesIsRedactedEverywhere(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{
		"env": {Run: func(_ context.Context, p *jobstest.Process) int {
			_, _ = p.Stdout.Write([]byte("TOKEN=" + p.Stdin))
			return 0
		}},
		"echo": jobstest.Echo(),
	}})
	token := d.Token()
	quoted, _ := json.Marshal(token)
	forms := []string{
		token, "Bearer " + token, url.QueryEscape(token), string(quoted),
		base64.StdEncoding.EncodeToString([]byte(token)), base64.RawURLEncoding.EncodeToString([]byte("Bearer " + token)),
	}
	core, logs := observer.New(zapcore.DebugLevel)
	cfg := d.Config()
	cfg.Logger = zap.New(core)
	c := newClient(t, cfg)
	ctx := testContext(t)
	leaks := func(what, s string) {
		t.Helper()
		for _, form := range forms {
			if strings.Contains(s, strings.TrimPrefix(form, "Bearer ")) {
				t.Errorf("%s shows the token: %s", what, s)
			}
		}
	}
	job := d.AddJob(d.Agent(), jobsclient.Job{})
	for _, form := range forms {
		for _, code := range []codes.Code{codes.Internal, codes.InvalidArgument, codes.PermissionDenied, codes.Unavailable, codes.FailedPrecondition, codes.ResourceExhausted} {
			remove := d.Inject(jobstest.Fault{Err: status.Error(code, "you sent "+form)})
			for _, call := range []func(*jobsclient.Client) error{get(ctx, job), cancel(ctx, job), list(ctx)} {
				err := call(c)
				leaks("the error", err.Error())
				st, _ := status.FromError(err)
				leaks("the status", st.Message())
				for cause := err; cause != nil; cause = errors.Unwrap(cause) {
					leaks("a cause", cause.Error())
				}
			}
			remove()
		}
	}
	id, err := c.Submit(ctx, jobsclient.SubmitRequest{Bin: "env", Stdin: token, Args: []string{token}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if got.Stdout != "TOKEN=[redacted]" || got.Args[0] != "[redacted]" {
		t.Errorf("the job shows %q %q", got.Stdout, got.Args)
	}
	odd := d.AddJob(d.Agent(), jobsclient.Job{ID: "job_" + token, Bin: token, Status: jobsclient.Status(token), Error: token, Labels: map[string]string{token: token}})
	if got, err = c.Get(ctx, odd); err != nil {
		t.Fatal(err)
	}
	row, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	leaks("a job", string(row))
	d.Inject(jobstest.Fault{Method: jobstest.MethodWatch, Times: 1, CutAfter: 1})
	d.Inject(jobstest.Fault{Method: jobstest.MethodWatch, Times: 2, Err: status.Error(codes.Unavailable, token)})
	done := d.AddJob(d.Agent(), jobsclient.Job{})
	for job, err := range c.Watch(ctx, done) {
		if err != nil {
			t.Fatal(err)
		}
		if job.Status == jobsclient.Running {
			d.Finish(done, "", 0)
		}
	}
	if logs.Len() == 0 {
		t.Error("nothing was logged of a lost watch")
	}
	for _, entry := range logs.All() {
		line, _ := json.Marshal(entry.ContextMap())
		leaks("the log", entry.Message+string(line))
	}
}

func TestUserAndPasswordInAnAddressAreRefusedAndNotShown(t *testing.T) {
	for _, url := range []string{
		"http://user:pa55w0rd@127.0.0.1:5500", "https://user:pa55w0rd@host", "http://user:pa55/w0rd@host:1", "ftp://user:pa55w0rd@host",
		"user:pa55w0rd@host", "unix://user:pa55w0rd@host", "http://host:1?token=pa55w0rd", "http://%zz:pa55w0rd@h",
	} {
		err := list(testContext(t))(newClient(t, jobsclient.Config{URL: url, Token: "t0ken", AllowPlaintext: true}))
		if !errors.Is(err, jobsclient.ErrInvalidArgument) || strings.Contains(err.Error(), "pa55") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestTheEnvironmentDescribesADaemonOnlyWithBothVariables(t *testing.T) {
	tests := []struct {
		name, url, token string
		want             bool
	}{
		{"both", " unix:///run/d.sock\n", " t0ken\n", true},
		{"no token", "unix:///run/d.sock", "", false},
		{"a blank token", "unix:///run/d.sock", " \n", false},
		{"no address", "", "t0ken", false},
		{"neither", "", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(jobsclient.EnvDaemonURL, test.url)
			t.Setenv(jobsclient.EnvAgentToken, test.token)
			cfg, ok := jobsclient.FromEnv()
			if ok != test.want || cfg.URL != strings.TrimSpace(test.url) || cfg.Token != strings.TrimSpace(test.token) {
				t.Errorf("got %v, %q, %q", ok, cfg.URL, cfg.Token)
			}
		})
	}
}
