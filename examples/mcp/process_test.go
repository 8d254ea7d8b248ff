//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"charm.land/fantasy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/internal/toolset"
	"github.com/fantasytools/fantasytools/tool"
)

// blocking is a service in this process, whose one tool says on begun that it has
// begun and ends with its context.
func blocking(t *testing.T) (s *service, begun chan struct{}) {
	t.Helper()
	begun = make(chan struct{}, 1)
	block := tool.New("block", "Blocks.", func(ctx context.Context, _ struct{}, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return fantasy.ToolResponse{}, ctx.Err()
	})
	s, err := newService(&options{progress: time.Millisecond}, &toolset.Set{Programs: []fantasy.AgentTool{block}}, zap.NewNop(), sdkLogger(io.Discard, false))
	if err != nil {
		t.Fatal(err)
	}
	return s, begun
}

// served serves by HTTP in this process; end ends that and returns the exit status.
func served(t *testing.T, s *service) (url string, end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	urls, status := make(chan string, 1), make(chan int, 1)
	go func() {
		status <- serveHTTP(ctx, s, &options{http: "127.0.0.1:0"}, func(what string) { urls <- strings.TrimPrefix(what, "serving ") }, io.Discard)
	}()
	t.Cleanup(cancel)
	return <-urls, func() int { cancel(); return <-status }
}

func TestTheEndOfTheServerLeavesNothingRunning(t *testing.T) {
	t.Run("by HTTP", func(t *testing.T) {
		eachHTTP(t, func(t *testing.T, k kind) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			s, begun := blocking(t)
			url, end := served(t, s)
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			session := dial(t, k, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true}, nil)
			answers := make(chan string, 1)
			go func() { answers <- answer(session, "block", nil) }()
			<-begun
			if status := end(); status != exitOK {
				t.Errorf("exit status %d", status)
			}
			if got := <-answers; !strings.Contains(got, "server is ending") {
				t.Errorf("the call that ran is answered with %q", got)
			}
			_ = session.Close()
		})
	})
	t.Run("on standard input and output", func(t *testing.T) {
		defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
		s, begun := blocking(t)
		in, client, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r, w := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- serveStdio(ctx, s, in, w)
			_ = w.Close()
		}()
		if _, err := io.WriteString(client, initialize+"\n"+initialized+"\n"+toolCall(1, "block", `{}`)+"\n"); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(r)
		_, _ = out.ReadString('\n')
		<-begun
		cancel()
		if line, err := out.ReadString('\n'); err != nil || !strings.Contains(line, "server is ending") {
			t.Errorf("read %q, %v", line, err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = client.Close()
	})
}

func TestAClientThatNeverReadsCannotHoldTheServerUp(t *testing.T) {
	s, begun := blocking(t)
	s.lastWords = 50 * time.Millisecond
	in, client, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serveStdio(context.Background(), s, in, w) }()
	if _, err := io.WriteString(client, initialize+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReaderSize(r, 1).ReadByte(); err != nil { // the rest of the line blocks the writer
		t.Fatal(err)
	}
	_ = client.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(limit):
		t.Fatal("the server is still there")
	}
	_ = r.Close() // lets the goroutines that write end
	if len(begun) > 0 {
		t.Error("a tool was called")
	}
}

func TestThereIsAnEndToSessions(t *testing.T) {
	s, _ := blocking(t)
	s.maxSessions = 2
	url, end := served(t, s)
	statuses := []int{}
	var first http.Header
	for range 3 {
		status, _, header := post(t, url, initialize, nil)
		statuses = append(statuses, status)
		if first == nil {
			first = header
		}
	}
	if got, _ := json.Marshal(statuses); string(got) != "[200,200,503]" {
		t.Errorf("the statuses are %s", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	do(t, req, setHeader(sessionHeader, first.Get(sessionHeader)))
	if status, _, _ := post(t, url, initialize, nil); status != http.StatusOK {
		t.Errorf("after the end of one session the status is %d", status)
	}
	if status := end(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
}
