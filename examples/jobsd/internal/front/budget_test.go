package front_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// half sends the start of a request that says that it is long, and no more.
func (r *rig) half(token, announce string) net.Conn {
	r.Helper()
	nc, err := net.Dial("unix", r.socket)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = nc.Close() })
	_, err = fmt.Fprintf(nc, "POST %s HTTP/1.1\r\nHost: jobsd\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s\r\n\r\n", jobsdpb.SubmitPath, token, announce)
	if err != nil {
		r.Fatal(err)
	}
	return nc
}

func TestACallersLargeRequestsAreBounded(t *testing.T) {
	for name, announce := range map[string]string{
		"that say how long they are":  "Content-Length: 100000",
		"that do not say how long":    "Transfer-Encoding: chunked",
		"that are shorter on the way": "Content-Encoding: gzip\r\nContent-Length: 1000",
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, setup{patience: 500 * time.Millisecond, hand: 190_000, move: time.Hour})
			token := r.token("me")
			stalled := []net.Conn{r.half(token, announce), r.half(token, announce)} // the second has to wait
			eventually(t, "a request in hand", func() bool { return r.front.InHand("me") })
			large := &jobsdpb.SubmitRequest{Bin: "sh", Stdin: strings.Repeat("x", 100_000)}
			_, err := r.submit(r.as("me"), large)
			r.refused(err, codes.ResourceExhausted, "this caller has sent too many large requests at once, and this one was not read: send it again when some of the others are answered")
			if _, err := r.submit(r.as("me"), &jobsdpb.SubmitRequest{Bin: "sh"}); err != nil {
				t.Errorf("a small request: %v", err)
			}
			if _, err := r.submit(r.as("other"), large); err != nil {
				t.Errorf("another agent: %v", err)
			}
			for _, nc := range stalled {
				_ = nc.Close()
			}
			eventually(t, "an end of what was in hand", func() bool { return !r.front.InHand("me") })
			if _, err := r.submit(r.as("me"), large); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestARequestThatDoesNotComeIsGivenUp(t *testing.T) {
	r := start(t, setup{move: 300 * time.Millisecond})
	token := r.token("me")
	nc := r.half(token, "Content-Length: 100000")
	if answer, err := io.ReadAll(nc); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
		t.Errorf("got %q, %v", answer, err)
	}
	eventually(t, "an end of what was in hand", func() bool { return !r.front.InHand("me") })
}

func TestAWatchOverHTTP1OutlivesTheTimeForItsRequest(t *testing.T) {
	r := start(t, setup{move: 300 * time.Millisecond})
	job := r.pending().runs()
	message := `{"jobId":"` + job.Id + `"}`
	request, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, "http://jobsd"+jobsdpb.WatchPath, strings.NewReader("\x00\x00\x00\x00"+string(rune(len(message)))+message))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/connect+json"}, "Authorization": {"Bearer " + r.token("me")}}
	response, err := r.web().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	time.AfterFunc(time.Second, func() { job.ends(store.Done) })
	if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), `"status":"done"`) {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestManyLargeSubmissionsAtOnceAreTakenOrRefused(t *testing.T) {
	r := start(t, setup{hand: 1 << 20})
	ctx := r.as("me")
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range 60 {
		wg.Go(func() {
			_, err := r.submit(ctx, &jobsdpb.SubmitRequest{Bin: "sh", Stdin: strings.Repeat("x", 500_000)})
			if err != nil {
				r.refused(err, codes.ResourceExhausted, "this caller has sent too many large requests at once, and this one was not read: send it again when some of the others are answered")
				return
			}
			mu.Lock()
			defer mu.Unlock()
			taken++
		})
	}
	wg.Wait()
	if taken < 20 { // those that wait do not stop those that are read
		t.Errorf("%d were taken", taken)
	}
}

func TestWatchersThatReadNothingAreLetGo(t *testing.T) {
	r := start(t, setup{front: front.Config{}, patience: time.Second, hand: 2 << 20, move: 300 * time.Millisecond})
	job := r.pending().runs()
	for range 4 {
		job.writes(store.Stdout, strings.Repeat("x", 1<<18))
	}
	job.ends(store.Done)
	ctx := r.as("me")
	for range 8 {
		lazy := r.dial(grpc.WithInitialWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10))
		r.watchOn(ctx, lazy, job.Id) // nobody receives
	}
	eventually(t, "a stalled watch", func() bool { return r.front.InHand("me") })
	got, err := r.get(ctx, job.Id) // has a budget of its own
	if err != nil || len(got.GetStdout()) != 1<<20 {
		t.Errorf("Get beside them: %v", err)
	}
	eventually(t, "the end of all watches", func() bool { return r.front.Watches() == 0 && !r.front.InHand("me") })
	last := r.watchOn(context.WithoutCancel(ctx), r.cc, job.Id).must()
	if len(last.GetStdout()) != 1<<20 {
		t.Errorf("a watch afterwards has %d bytes", len(last.GetStdout()))
	}
}

func TestAnswersWaitForRoom(t *testing.T) {
	r := start(t, setup{hand: 600_000})
	job := r.pending().runs().writes(store.Stdout, strings.Repeat("x", 500_000)).ends(store.Done)
	ctx := r.as("me")
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if got, err := r.get(ctx, job.Id); err != nil || len(got.GetStdout()) != 500_000 {
				t.Errorf("Get: %v", err)
			}
			if jobs, err := r.list(ctx, &jobsdpb.ListRequest{}); err != nil || len(jobs) != 1 {
				t.Errorf("List: %v", err)
			}
		})
	}
	wg.Wait()
	eventually(t, "an end of what was in hand", func() bool { return !r.front.InHand("me") })
}

func TestLargeStdinIsInTheLastRowOfAWatch(t *testing.T) {
	r := start(t, setup{})
	job := r.pending(func(r *jobsdpb.Record) { r.Stdin = []byte(strings.Repeat("i", 100_000)) })
	w := r.watch(r.as("me"), job.Id)
	if got := w.must().GetStdin(); got != "[100000 bytes; Get shows them]" {
		t.Errorf("a pending job has %.99q", got)
	}
	job.runs().ends(store.Done)
	last := w.until(func(j *jobsdpb.Job) bool { return j.GetStatus() == store.Done })
	if len(last.GetStdin()) != 100_000 {
		t.Errorf("an ended job has %d bytes", len(last.GetStdin()))
	}
}
