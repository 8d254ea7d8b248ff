package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// playVar makes this test's binary play another program.
const playVar = "JOBSD_TEST_PLAY"

// play is the other program, if there is one to play.
func play() {
	switch what := os.Getenv(playVar); what {
	case "":
	case "jobsd":
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	case "nats":
		playNATS(os.Args[1:])
	default:
		fmt.Fprintf(os.Stderr, "there is no %q to play\n", what)
		os.Exit(2)
	}
}

// playNATS is a server of a cluster: NAME DIR PORT CLUSTERPORT ROUTES.
func playNATS(args []string) {
	port, _ := strconv.Atoi(args[2])
	clusterPort, _ := strconv.Atoi(args[3])
	opts := &server.Options{
		ServerName: args[0], Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: args[1], NoSigs: true, NoLog: true,
	}
	if args[4] != "" {
		opts.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: clusterPort}
		opts.Routes = server.RoutesFromStr(args[4])
	}
	s, err := server.NewServer(opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		fmt.Fprintln(os.Stderr, "not ready after 30 s")
		os.Exit(1)
	}
	fmt.Println("serving")
	s.WaitForShutdown()
}

// child is a process that this test started.
type child struct {
	*exec.Cmd
	said  chan string // lines of its standard error, or output
	heard []string    // those that await has read
	ended chan struct{}
}

// launch starts this binary as another program and waits until a line of what it
// says has the word.
func launch(t *testing.T, what, word string, args ...string) *child {
	t.Helper()
	return launchProgram(t, os.Args[0], what, word, args...)
}

func launchProgram(t *testing.T, program, what, word string, args ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(program, args...), said: make(chan string, 1_000), ended: make(chan struct{})}
	c.Env = append(os.Environ(), playVar+"="+what)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = w, w
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go c.listen(r)
	go func() {
		_ = c.Wait()
		close(c.ended)
	}()
	t.Cleanup(c.kill)
	c.await(t, word)
	return c
}

func (c *child) listen(r io.ReadCloser) {
	defer r.Close() //nolint:errcheck // only read
	defer close(c.said)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		select {
		case c.said <- lines.Text():
		default: // nobody reads any more
		}
	}
}

func (c *child) await(t *testing.T, word string) {
	t.Helper()
	var all strings.Builder
	c.heard = nil
	timeout := time.After(time.Minute)
	for {
		select {
		case line, open := <-c.said:
			if !open {
				t.Fatalf("it ended and did not say %q, but:\n%s", word, all.String())
			}
			all.WriteString(line + "\n")
			c.heard = append(c.heard, line)
			if strings.Contains(line, word) {
				return
			}
		case <-timeout:
			t.Fatalf("it did not say %q, but:\n%s", word, all.String())
		}
	}
}

// kill ends the process as nothing can prepare for.
func (c *child) kill() {
	_ = c.Process.Kill()
	<-c.ended
}

// stop asks the process to end and waits for it.
func (c *child) stop(t *testing.T) {
	t.Helper()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	<-c.ended
}

// site is the files of a test's daemons and jobs.
type site struct {
	*testing.T
	dir, agentsFile, token string
	ran                    string // each job appends its number
	gate                   string // jobs that wait do so until this is there
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "jobsd") // shorter than a test's own: a socket's path has about 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &site{T: t, dir: dir, agentsFile: filepath.Join(dir, "agents.yaml"), ran: filepath.Join(dir, "ran"), gate: filepath.Join(dir, "gate")}
	if err := os.WriteFile(s.agentsFile, []byte("agents:\n  - name: me\n    bins:\n      - {name: sh, binary: sh}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.token, err = agents.AddToken(s.agentsFile, "me"); err != nil {
		t.Fatal(err)
	}
	return s
}

// daemon starts a jobsd with a state directory of its own name.
func (s *site) daemon(name, command string, args ...string) *child {
	s.Helper()
	word := "serving"
	if command == "worker" {
		word = "running jobs"
	}
	all := append([]string{command, "-state", filepath.Join(s.dir, name), "-agents", s.agentsFile, "-lease", "3s"}, args...)
	return launch(s.T, "jobsd", word, all...)
}

// client returns a client of the daemon that has the state directory.
func (s *site) client(name string) *jobsclient.Client {
	c := jobsclient.New(jobsclient.Config{URL: "unix://" + filepath.Join(s.dir, name, "jobsd.sock"), Token: s.token})
	s.Cleanup(func() { _ = c.Close() })
	return c
}

// script is a job that leaves its number in a file, once for each time it runs.
func (s *site) script(n int, then string) []string {
	return []string{"-c", fmt.Sprintf("echo %d >>%s; %s", n, s.ran, then)}
}

// untilGate makes a job wait for the gate.
func (s *site) untilGate() string {
	return fmt.Sprintf("while ! [ -e %s ]; do sleep 0.05; done", s.gate)
}

func (s *site) openGate() {
	s.Helper()
	if err := os.WriteFile(s.gate, nil, 0o600); err != nil {
		s.Fatal(err)
	}
}

// runs returns how often each job ran.
func (s *site) runs() map[int]int {
	s.Helper()
	b, err := os.ReadFile(s.ran)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.Fatal(err)
	}
	counts := map[int]int{}
	for line := range strings.FieldsSeq(string(b)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			s.Fatal(err)
		}
		counts[n]++
	}
	return counts
}

// awaitRuns waits until so many jobs have begun.
func (s *site) awaitRuns(n int) {
	s.Helper()
	ctx := testContext(s.T)
	for len(s.runs()) < n {
		select {
		case <-ctx.Done():
			s.Fatalf("%d of %d jobs have begun", len(s.runs()), n)
		case <-time.After(20 * time.Millisecond): // the file system tells nobody
		}
	}
}

func (s *site) submit(c *jobsclient.Client, n int, then string) string {
	s.Helper()
	id, err := c.Submit(testContext(s.T), jobsclient.SubmitRequest{Bin: "sh", Args: s.script(n, then)})
	if err != nil {
		s.Fatal(err)
	}
	return id
}

// waitAll waits for all jobs and returns them.
func waitAll(t *testing.T, c *jobsclient.Client, ids []string) []*jobsclient.Job {
	t.Helper()
	ctx := testContext(t)
	jobs := make([]*jobsclient.Job, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			j, err := c.Wait(ctx, id)
			if err != nil {
				t.Errorf("job %d: %v", i, err)
				j = &jobsclient.Job{}
			}
			jobs[i] = j
		})
	}
	wg.Wait()
	return jobs
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// freePorts returns ports that nobody had a moment ago. They are below those that
// systems give to who asks for any: another test would be given them otherwise.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer l.Close() //nolint:errcheck // nobody uses it
		if ports = append(ports, port); len(ports) == n {
			return ports
		}
	}
	t.Fatal("there are not enough free ports")
	return nil
}

// cluster starts n servers with JetStream and returns them and their URLs.
func (s *site) cluster(n int) (servers []*child, urls string) {
	s.Helper()
	free := freePorts(s.T, 2*n)
	ports, clusterPorts := free[:n], free[n:]
	var routes, all []string
	for i := range n {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", clusterPorts[i]))
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	if n == 1 {
		routes = nil
	}
	for i := range n {
		name := fmt.Sprint("nats", i)
		servers = append(servers, launch(s.T, "nats", "serving", name, filepath.Join(s.dir, name),
			strconv.Itoa(ports[i]), strconv.Itoa(clusterPorts[i]), strings.Join(routes, ",")))
	}
	return servers, strings.Join(all, ",")
}
