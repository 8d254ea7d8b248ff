//go:build unix

package daemon_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/natstest"
	"github.com/fantasytools/fantasytools/jobsclient"
)

func TestWhatCannotWorkIsRefusedBeforeAnythingStarts(t *testing.T) {
	r := registry(t, shell("me"))
	for _, test := range []struct {
		name string
		c    daemon.Config
		want string
	}{
		{"no agents", daemon.Config{StateDir: "d"}, "no agents"},
		{"no state directory", daemon.Config{Agents: r}, "state directory"},
		{"a front without NATS", daemon.Config{Agents: r, StateDir: "d", Role: daemon.Front}, "-nats"},
		{"a worker without NATS", daemon.Config{Agents: r, StateDir: "d", Role: daemon.Worker}, "-nats"},
		{"replicas of one server", daemon.Config{Agents: r, StateDir: "d", Replicas: 3}, "replicas"},
		{"a certificate without a key", daemon.Config{Agents: r, StateDir: "d", TLSCert: "c"}, "key"},
		{"all interfaces without a certificate", daemon.Config{Agents: r, StateDir: "d", Listen: ":5500"}, "certificate"},
		{"another interface without a certificate", daemon.Config{Agents: r, StateDir: "d", Listen: "192.0.2.1:5500"}, "certificate"},
		{"a name without a certificate", daemon.Config{Agents: r, StateDir: "d", Listen: "example.com:5500"}, "certificate"},
		{"no port", daemon.Config{Agents: r, StateDir: "d", Listen: "127.0.0.1"}, "host:port"},
		{"an address of IPv6 without brackets", daemon.Config{Agents: r, StateDir: "d", Listen: "::1:5500"}, "host:port"},
		{"metrics without a port", daemon.Config{Agents: r, StateDir: "d", Metrics: "9464"}, "host:port"},
		{"metrics for everyone", daemon.Config{Agents: r, StateDir: "d", Metrics: "0.0.0.0:9464"}, "loopback"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			_, err := daemon.Start(testContext(t), test.c)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if entries, _ := os.ReadDir("."); len(entries) > 0 {
				t.Errorf("it has made %v", entries)
			}
		})
	}
}

func TestWhoComesSecondIsToldWhatIsTaken(t *testing.T) {
	r := registry(t, shell("me"))
	first := start(t, daemon.Config{Agents: r, StateDir: shortDir(t), Listen: "127.0.0.1:0"})
	socket := strings.TrimPrefix(first.URL(), "unix://")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(shortDir(t), "other") // that does not refuse as one does that nobody has
	datagrams, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: other, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer datagrams.Close() //nolint:errcheck // nothing is sent
	for _, test := range []struct {
		name string
		c    daemon.Config
		want []string
	}{
		{"a socket of another kind", daemon.Config{StateDir: t.TempDir(), Socket: other}, []string{other, "is not known", "-socket"}},
		{"the state directory", daemon.Config{StateDir: filepath.Dir(socket), Socket: "-", Memory: true}, []string{"another daemon", filepath.Dir(socket), "-state"}},
		{"the socket", daemon.Config{StateDir: t.TempDir(), Socket: socket}, []string{"another daemon", socket, "-socket"}},
		{"a file", daemon.Config{StateDir: t.TempDir(), Socket: file}, []string{file, "no socket", "-socket"}},
		{"the port", daemon.Config{StateDir: t.TempDir(), Socket: "-", Listen: strings.TrimPrefix(first.URLs()[1], "http://")}, []string{"in use", "-listen"}},
		{"a socket that no system takes", daemon.Config{StateDir: t.TempDir(), Socket: "/" + strings.Repeat("x", 120)}, []string{"121", "-socket"}},
		{"no server of NATS", daemon.Config{StateDir: t.TempDir(), NATS: "nats://127.0.0.1:1"}, []string{"NATS", "-nats"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.c.Agents = r
			_, err := daemon.Start(testContext(t), test.c)
			if err == nil {
				t.Fatal("it has started")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in %v", want, err)
				}
			}
		})
	}
	if _, err := os.Lstat(other); err != nil {
		t.Errorf("the socket of another kind: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
		t.Errorf("the file: %q, %v", b, err)
	}
	submit(t, client(t, first, r), "true") // the first is none the worse
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jobsd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestFilesAreTheUsersAloneAndASocketThatADeadDaemonLeftIsReplaced(t *testing.T) {
	dir := filepath.Join(shortDir(t), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "jobsd.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	r := registry(t, shell("me"))
	d := start(t, daemon.Config{Agents: r, StateDir: dir})
	submit(t, client(t, d, r), "true")
	for name, want := range map[string]os.FileMode{"jobsd.sock": 0o600 | os.ModeSocket, "operator.token": 0o600, "address": 0o600, "lock": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if urls, err := daemon.Addresses(dir); err != nil || len(urls) != 1 || urls[0] != d.URL() {
		t.Errorf("addresses: %q, %v", urls, err)
	}
	token, err := daemon.OperatorToken(dir)
	if err != nil || token == "" {
		t.Errorf("the operator's token: %v", err)
	}
	if err := d.Shutdown(testContext(t)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket is left")
	}
	again := start(t, daemon.Config{Agents: r, StateDir: dir})
	if same, err := daemon.OperatorToken(dir); err != nil || same != token {
		t.Errorf("the operator's token is another now, %v", err)
	}
	operator := jobsclient.New(jobsclient.Config{URL: again.URL(), Token: token})
	defer operator.Close() //nolint:errcheck // the test's own
	if jobs, err := operator.List(testContext(t), jobsclient.ListOptions{}); err != nil || len(jobs) != 1 {
		t.Errorf("the operator sees %v, %v", jobs, err)
	}
}

func TestShutdownLetsJobsEndAndCancelsThoseThatDoNot(t *testing.T) {
	dir, r := shortDir(t), registry(t, shell("me"))
	gate := filepath.Join(t.TempDir(), "gate")
	d := start(t, daemon.Config{Agents: r, StateDir: dir, Slots: 2, Drain: 2 * time.Second})
	c := client(t, d, r)
	short := submit(t, c, "echo begun; while ! [ -e "+gate+" ]; do sleep 0.05; done; echo ended")
	long := submit(t, c, "echo begun; sleep 600")
	pending := submit(t, c, "echo ran")
	for _, id := range []string{short, long} {
		for j, err := range c.Watch(testContext(t), id) {
			if err != nil {
				t.Fatal(err)
			}
			if j.Stdout != "" {
				break
			}
		}
	}
	type end struct {
		job *jobsclient.Job
		err error
	}
	ends := make(chan end, 2)
	for _, id := range []string{short, long} {
		go func() { // they hear of the end while the daemon goes
			var last end
			for last.job, last.err = range c.Watch(testContext(t), id) {
				if last.err != nil || last.job.Status.Terminal() {
					break
				}
			}
			ends <- last
		}()
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if e := <-ends; e.err != nil || !e.job.Status.Terminal() {
			t.Errorf("a watch ended with %+v, %v", e.job, e.err)
		}
	}
	d = start(t, daemon.Config{Agents: r, StateDir: dir})
	c = client(t, d, r)
	if j := wait(t, c, short); j.Status != jobsclient.Done || j.Stdout != "begun\nended\n" {
		t.Errorf("the short job: %+v", j)
	}
	if j := wait(t, c, long); j.Status != jobsclient.Cancelled || !strings.Contains(j.Error, "shut down") || j.Stdout != "begun\n" {
		t.Errorf("the long job: %+v", j)
	}
	if j := wait(t, c, pending); j.Status != jobsclient.Done || j.Stdout != "ran\n" {
		t.Errorf("the pending job: %+v", j)
	}
}

func TestADaemonThatShutsDownTakesNoMoreJobs(t *testing.T) {
	r := registry(t, shell("me"))
	d := start(t, daemon.Config{Agents: r, StateDir: shortDir(t), Drain: time.Minute})
	c := client(t, d, r)
	gate := filepath.Join(t.TempDir(), "gate")
	running := submit(t, c, "while ! [ -e "+gate+" ]; do sleep 0.05; done")
	begun(t, c, running)
	ended := make(chan error)
	go func() { ended <- d.Shutdown(testContext(t)) }()
	for { // until it has heard
		_, err := c.Submit(testContext(t), jobsclient.SubmitRequest{Bin: "sh", Args: []string{"-c", "true"}})
		if err != nil {
			if !strings.Contains(err.Error(), "shutting down") {
				t.Errorf("got %v", err)
			}
			break
		}
	}
	if j, err := c.Get(testContext(t), running); err != nil || j.Status.Terminal() {
		t.Errorf("the running job: %+v, %v", j, err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNothingIsServedOverTCPWithoutAToken(t *testing.T) {
	r := registry(t, shell("me"))
	d := start(t, daemon.Config{Agents: r, StateDir: shortDir(t), Listen: "127.0.0.1:0"})
	tcp := d.URLs()[1]
	for _, path := range []string{"/", "/openotters.daemon.v1.Runtime/ListAsyncJobs", "/api/openotters.daemon.v1.Runtime/ListAsyncJobs", "/grpc.health.v1.Health/Check"} {
		resp, err := http.Post(tcp+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s, %s", path, resp.Status, body)
		}
	}
	token, err := r.Token("me")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, url, token string
		want             codes.Code
	}{
		{"the socket without a token", d.URL(), "", codes.OK},
		{"TCP without a token", "passthrough:///" + strings.TrimPrefix(tcp, "http://"), "", codes.Unauthenticated},
		{"TCP with a token", "passthrough:///" + strings.TrimPrefix(tcp, "http://"), token, codes.OK},
	} {
		cc, err := grpc.NewClient(test.url, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		ctx := testContext(t)
		if test.token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+test.token)
		}
		answer, err := grpc_health_v1.NewHealthClient(cc).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		if status.Code(err) != test.want || err == nil && answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("health over %s: %v, %v", test.name, answer, err)
		}
		_ = cc.Close()
	}
}

func TestMetricsAndHealth(t *testing.T) {
	r := registry(t, shell("me"))
	d := start(t, daemon.Config{Agents: r, StateDir: shortDir(t), Metrics: "127.0.0.1:0"})
	c := client(t, d, r)
	wait(t, c, submit(t, c, "echo hello"))
	wait(t, c, submit(t, c, "kill -9 $$"))
	get := func(path string) string {
		resp, err := http.Get(d.MetricsURL() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() //nolint:errcheck // only read
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %v", path, resp.Status, err)
		}
		return string(body)
	}
	// The end is counted a moment after the waiter knows of it.
	var text string
	for ctx := testContext(t); ctx.Err() == nil; {
		if text = get("/metrics"); strings.Contains(text, "jobsd_jobs_running 0\n") && strings.Contains(text, "jobsd_queue_jobs 0\n") {
			break
		}
	}
	for _, want := range []string{
		`jobsd_jobs_submitted_total{agent="me"} 2`, `jobsd_job_duration_seconds_count{status="done"} 1`,
		`jobsd_job_duration_seconds_count{status="error"} 1`, "jobsd_job_output_bytes_total 6", "jobsd_jobs_running 0",
		`jobsd_call_duration_seconds_count{call="Submit",code="ok"} 2`, "jobsd_queue_jobs 0", "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in the metrics", want)
		}
	}
	if got := get("/healthz"); got != "{\"status\":\"ok\"}\n" {
		t.Errorf("health: %q", got)
	}
}

func TestAStartThatIsGivenUpLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := shortDir(t)
	d, err := daemon.Start(ctx, daemon.Config{Agents: registry(t, shell("me")), StateDir: dir})
	if err == nil {
		_ = d.Shutdown(ctx)
		t.Fatal("it has started")
	}
	start(t, daemon.Config{StateDir: dir}) // the lock is free
}

func TestPasswordsOfNATSAreNotShown(t *testing.T) {
	for urls, want := range map[string]string{
		"nats://127.0.0.1:4222":                                "nats://127.0.0.1:4222",
		"nats://me:secret@a:1,nats://secret@b:2,me:secret@c:3": "nats://xxxxx@a:1,nats://xxxxx@b:2,xxxxx@c:3",
		"nats://me:sec%ret@a:1/":                               "nats://xxxxx@a:1/",
		"nats://me:secret@secret@a:1":                          "nats://xxxxx@a:1",
	} {
		if got := daemon.NATSWithoutSecrets(urls); got != want {
			t.Errorf("%s is shown as %s, want %s", urls, got, want)
		}
	}
	for _, urls := range []string{"nats://me:sec%ret@127.0.0.1:1", "nats://me:secret@127.0.0.1:1", "nats://me:secret@[::1"} {
		_, err := daemon.Start(testContext(t), daemon.Config{Agents: registry(t, shell("me")), StateDir: shortDir(t), NATS: urls})
		if err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: %v", urls, err)
		}
	}
}

func TestADaemonWhoseConnectionToNATSIsClosedEnds(t *testing.T) {
	url := natstest.Server(t).ClientURL()
	for name, role := range map[string]daemon.Role{"front": daemon.Front, "worker": daemon.Worker, "both": daemon.Both} {
		d, err := daemon.Start(testContext(t), daemon.Config{Role: role, Agents: registry(t, shell("me")), StateDir: shortDir(t), NATS: url})
		if err != nil {
			t.Fatal(err)
		}
		d.CloseNATS()
		select {
		case <-d.Done():
		case <-testContext(t).Done():
			t.Fatalf("%s lives on", name)
		}
		if err := d.Err(); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s ended with %v", name, err)
		}
	}
}
