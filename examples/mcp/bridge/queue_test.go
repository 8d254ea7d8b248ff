package bridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"charm.land/fantasy"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fantasytools/fantasytools/examples/mcp/bridge"
)

// called is a call that another goroutine makes.
type called struct {
	cancel context.CancelFunc
	result chan *mcp.CallToolResult
	err    chan error
}

func start(t *testing.T, session *mcp.ClientSession, name string) *called {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	c := &called{cancel: cancel, result: make(chan *mcp.CallToolResult, 1), err: make(chan error, 1)}
	params := &mcp.CallToolParams{Name: name}
	params.SetProgressToken(name)
	go func() {
		result, err := session.CallTool(ctx, params)
		c.result <- result
		c.err <- err
	}()
	return c
}

// waiting makes a client that hears which calls wait for their turn.
func waiting() (*mcp.ClientOptions, func(t *testing.T, name string)) {
	heard := make(chan string, 1000)
	handler := func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		if strings.Contains(req.Params.Message, "waits for its turn") {
			select {
			case heard <- req.Params.ProgressToken.(string):
			default:
			}
		}
	}
	return &mcp.ClientOptions{ProgressNotificationHandler: handler}, func(t *testing.T, name string) {
		t.Helper()
		for {
			select {
			case got := <-heard:
				if got == name {
					return
				}
			case <-time.After(limit):
				t.Fatalf("%s does not wait", name)
			}
		}
	}
}

var often = &bridge.Options{Progress: time.Millisecond}

func TestACallThatIsNotParallelHoldsUpWhatComesAfterIt(t *testing.T) {
	begun, end := make(chan string, 10), make(chan struct{})
	client, waits := waiting()
	session, _ := serve(t, list(blocks("write", false, begun, end), blocks("read", true, begun, end)), often, client)
	first := start(t, session, "read")
	if got := <-begun; got != "read{}" {
		t.Fatalf("%s has begun", got)
	}
	second := start(t, session, "write") // what began before it does not hold it up
	if got := <-begun; got != "write{}" {
		t.Fatalf("%s has begun", got)
	}
	third := start(t, session, "read")
	waits(t, "read")
	select {
	case got := <-begun:
		t.Errorf("%s has begun beside one that is not parallel", got)
	default:
	}
	for range 3 {
		end <- struct{}{}
	}
	for _, c := range []*called{first, second, third} {
		if err := <-c.err; err != nil {
			t.Error(err)
		}
	}
}

func TestACallThatWaitsIsCancelledAlone(t *testing.T) {
	begun, end := make(chan string, 10), make(chan struct{})
	client, waits := waiting()
	left := make(chan string, 10) // calls, by the server
	opts := &bridge.Options{Progress: time.Millisecond, Context: func(ctx context.Context, req *mcp.CallToolRequest) (context.Context, context.CancelFunc) {
		return ctx, func() { left <- req.Params.Name }
	}}
	session, _ := serve(t, list(blocks("write", false, begun, end), blocks("read", true, begun, end)), opts, client)
	first := start(t, session, "write")
	<-begun
	second := start(t, session, "read")
	waits(t, "read")
	second.cancel()
	if err := <-second.err; !errors.Is(err, context.Canceled) {
		t.Errorf("the call that waited ended with %v", err)
	}
	if got := <-left; got != "read" { // the client has not waited for the server to hear of it
		t.Errorf("%s has left", got)
	}
	end <- struct{}{}
	if err := <-first.err; err != nil {
		t.Error(err)
	}
	third := start(t, session, "read")
	<-begun
	end <- struct{}{}
	if err := <-third.err; err != nil || len(begun) > 0 {
		t.Errorf("%v, and %d more calls have begun", err, len(begun))
	}
}

func TestNoMoreCallsRunThanMayAndNoneIsHeldUpByThoseThatWait(t *testing.T) {
	begun, end := make(chan string, 10), make(chan struct{})
	client, waits := waiting()
	session, _ := serve(t, list(blocks("write", false, begun, nil), blocks("read", true, begun, end), blocks("more", true, begun, end)),
		&bridge.Options{Progress: time.Millisecond, MaxParallel: 2}, client)
	calls := []*called{start(t, session, "read"), start(t, session, "read")}
	<-begun
	<-begun
	calls = append(calls, start(t, session, "more"))
	waits(t, "more")
	write := start(t, session, "write")
	if got := <-begun; got != "write{}" {
		t.Errorf("%s has begun", got)
	}
	write.cancel()
	if err := <-write.err; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	for range calls {
		end <- struct{}{}
	}
	for _, c := range calls {
		if err := <-c.err; err != nil {
			t.Error(err)
		}
	}
}

func TestACallTooManyIsRefused(t *testing.T) {
	begun, end := make(chan string, 10), make(chan struct{})
	client, waits := waiting()
	session, _ := serve(t, list(blocks("write", false, begun, end), blocks("read", true, begun, end)),
		&bridge.Options{Progress: time.Millisecond, MaxWaiting: 1}, client)
	first := start(t, session, "write")
	<-begun
	second := start(t, session, "read")
	waits(t, "read")
	got := call(t, session, "read", nil)
	if !got.IsError || !strings.Contains(textOf(got), "1 calls wait already") {
		t.Errorf("the result is %+v", got)
	}
	end <- struct{}{}
	end <- struct{}{}
	for _, c := range []*called{first, second} {
		if err := <-c.err; err != nil {
			t.Error(err)
		}
	}
}

func TestSessionsDoNotWaitForEachOther(t *testing.T) {
	begun, end := make(chan string, 10), make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	if _, err := bridge.Add(server, list(blocks("write", false, begun, end)), nil); err != nil {
		t.Fatal(err)
	}
	var calls []*called
	for range 2 {
		calls = append(calls, start(t, connect(t, server, nil), "write"))
	}
	<-begun
	<-begun
	for range calls {
		end <- struct{}{}
	}
	for _, c := range calls {
		if err := <-c.err; err != nil {
			t.Error(err)
		}
	}
}

func TestCloseEndsTheCallsAndRefusesMore(t *testing.T) {
	begun := make(chan string, 10)
	client, waits := waiting()
	session, b := serve(t, list(blocks("write", false, begun, nil), blocks("read", true, begun, nil)), often, client)
	running := start(t, session, "write")
	<-begun
	waiter := start(t, session, "read")
	waits(t, "read")
	b.Close()
	for _, c := range []*called{running, waiter} {
		if result := <-c.result; <-c.err != nil || !result.IsError || !strings.Contains(textOf(result), "may have taken effect") {
			t.Errorf("the result is %+v", result)
		}
	}
	if got := call(t, session, "read", nil); !got.IsError || !strings.Contains(textOf(got), "was not made") || len(begun) > 0 {
		t.Errorf("the result is %+v", got)
	}
	b.Close()
}

func TestStopEndsTheCallsThatMatchUntilItIsResumed(t *testing.T) {
	begun, end := make(chan string, 10), make(chan struct{})
	session, b := serve(t, list(blocks("one", true, begun, end), blocks("two", true, begun, end)), nil, nil)
	one, two := start(t, session, "one"), start(t, session, "two")
	<-begun
	<-begun
	resume := b.Stop(func(req *mcp.CallToolRequest) bool { return req.Params.Name == "one" })
	if result := <-one.result; <-one.err != nil || !result.IsError {
		t.Errorf("the result is %+v", result)
	}
	if got := call(t, session, "one", nil); !got.IsError || len(begun) > 0 {
		t.Errorf("the result is %+v", got)
	}
	resume()
	again := start(t, session, "one")
	<-begun
	end <- struct{}{}
	end <- struct{}{}
	for _, c := range []*called{two, again} {
		if result := <-c.result; <-c.err != nil || textOf(result) != "ended" {
			t.Errorf("the result is %+v", result)
		}
	}
}

func TestNoProgressIsToldToWhoDoesNotAsk(t *testing.T) {
	told := make(chan string, 100)
	handler := func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { told <- req.Params.Message }
	slow := answers(fantasy.NewTextResponse("x"), nil)
	slow.run = func(context.Context, fantasy.ToolCall) (fantasy.ToolResponse, error) {
		<-time.After(20 * time.Millisecond) // many times the interval
		return fantasy.NewTextResponse("x"), nil
	}
	session, _ := serve(t, list(slow), often, &mcp.ClientOptions{ProgressNotificationHandler: handler})
	call(t, session, "fake", nil)
	if len(told) > 0 {
		t.Errorf("told %q", <-told)
	}
	quiet, _ := serve(t, list(slow), &bridge.Options{Progress: -1}, &mcp.ClientOptions{ProgressNotificationHandler: handler})
	if err := <-start(t, quiet, "fake").err; err != nil {
		t.Error(err)
	}
	if len(told) > 0 {
		t.Errorf("told %q", <-told)
	}
}
