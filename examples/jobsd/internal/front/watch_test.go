package front_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
	"github.com/fantasytools/fantasytools/jobsclient"
)

func TestAWatchShowsEachState(t *testing.T) {
	r := start(t, setup{})
	job := r.pending()
	w := r.watch(r.as("me"), job.Id)
	if got := w.must(); got.GetStatus() != store.Pending || got.GetId() != job.Id || got.GetBin() != "sh" {
		t.Errorf("first: %v", got)
	}
	job.runs()
	if got := w.must(); got.GetStatus() != store.Running || got.GetStartedAt() == 0 {
		t.Errorf("then: %v", got)
	}
	job.Handle, job.ExitCode = "123", 44
	job.writes(store.Stdout, "out").writes(store.Stderr, "err").ends(store.Done)
	got := w.until(func(j *jobsdpb.Job) bool { return j.GetStatus() != store.Running })
	if got.GetStatus() != store.Done || got.GetExitCode() != 44 || got.GetHandle() != "123" || got.GetStdout() != "out" || got.GetStderr() != "err" || got.GetFinishedAt() == 0 {
		t.Errorf("last: %v", got)
	}
	w.ends()
	eventually(t, "the end of the feed", func() bool { return r.front.Feeds() == 0 })
}

func TestAWatchOfAnEndedJobIsOneMessage(t *testing.T) {
	r := start(t, setup{})
	job := r.pending(func(r *jobsdpb.Record) { r.Stdin = []byte(strings.Repeat("i", 100_000)) }).runs()
	job.writes(store.Stdout, strings.Repeat("o", 200_000)).writes(store.Stderr, "e").ends(store.Failed)
	for _, agent := range []string{"me", ""} {
		w := r.watch(r.as(agent), job.Id)
		got := w.must()
		if got.GetStatus() != store.Failed || len(got.GetStdin()) != 100_000 || len(got.GetStdout()) != 200_000 || got.GetStderr() != "e" {
			t.Errorf("%q is shown %s with %d, %d, %q", agent, got.GetStatus(), len(got.GetStdin()), len(got.GetStdout()), got.GetStderr())
		}
		if labelled := got.GetLabels()[front.AgentLabel] == "me"; labelled != (agent == "") {
			t.Errorf("%q is shown the labels %v", agent, got.GetLabels())
		}
		w.ends()
	}
}

func TestOutputIsShownWhileTheJobRuns(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs()
	w := r.watch(r.as("me"), job.Id)
	w.must()
	euro := "€"
	for _, piece := range []string{"a", euro[:1], euro[1:], "\xff", "b"} {
		job.writes(store.Stdout, piece)
		want := string(job.sent[store.Stdout])
		if piece == euro[:1] {
			continue // half a character is held back
		}
		w.until(func(j *jobsdpb.Job) bool { return j.GetStdout() == strings.ToValidUTF8(want, "\uFFFD") })
	}
	job.writes(store.Stderr, euro[:2]).ends(store.Done)
	got := w.until(func(j *jobsdpb.Job) bool { return j.GetStatus() == store.Done })
	if got.GetStdout() != "a€\uFFFDb" || got.GetStderr() != "\uFFFD" {
		t.Errorf("the end is %q and %q", got.GetStdout(), got.GetStderr())
	}
	w.ends()
}

func TestHalfACharacterIsHeldBack(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs().writes(store.Stdout, "a\xe2\x82")
	if got, err := r.get(r.as("me"), job.Id); err != nil || got.GetStdout() != "a" {
		t.Errorf("Get shows %q, %v", got.GetStdout(), err)
	}
	w := r.watch(r.as("me"), job.Id)
	got := w.until(func(j *jobsdpb.Job) bool { return j.GetStdout() != "" })
	if got.GetStdout() != "a" {
		t.Errorf("the watch shows %q", got.GetStdout())
	}
}

func TestAWatchThatComesLateBeginsWithTheOutput(t *testing.T) {
	r := start(t, setup{})
	job := r.pending()
	job.Status, job.Worker, job.Started = store.Running, "w1", time.Now().Add(-time.Hour).UnixNano()
	job.update().writes(store.Stdout, strings.Repeat("x", 300_000)).writes(store.Stdout, "y")
	if got := r.watch(r.as("me"), job.Id).must(); len(got.GetStdout()) != 300_001 {
		t.Errorf("the first message has %d bytes", len(got.GetStdout()))
	}
}

func TestMessagesOfOutputAreFew(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs()
	w := r.watch(r.as("me"), job.Id)
	started := time.Now()
	for range 500 {
		job.writes(store.Stdout, "x")
	}
	wrote := time.Since(started)
	messages := 0
	w.until(func(j *jobsdpb.Job) bool {
		messages++
		return len(j.GetStdout()) == 500
	})
	// The first, and one each 100 ms of the writing and the two ends of it.
	if most := 4 + int(wrote/(100*time.Millisecond)); messages > most {
		t.Errorf("%d messages in %v", messages, wrote)
	}
}

func TestLongOutputIsShownWithinBounds(t *testing.T) {
	const head, tail = 40_000, 30_000
	r := start(t, setup{store: store.Config{HeadBytes: head, TailBytes: tail}})
	job := r.pending().runs()
	w := r.watch(r.as("me"), job.Id)
	// As a worker does: the head, then tails of which the old ones are dropped.
	const size = 20 << 20
	piece := strings.Repeat("é", 50_000)
	job.writes(store.Stdout, strings.Repeat("é", head/2))
	var places []uint64
	for offset := int64(head); offset < size; offset += int64(len(piece)) {
		place, err := r.store.PutChunk(r.ctx(), job.Id, store.Stdout, store.Tail, offset, []byte(piece))
		if err != nil {
			t.Fatal(err)
		}
		if places = append(places, place); len(places) > 1 {
			if err := r.store.DropTail(r.ctx(), job.Id, store.Stdout, place); err != nil {
				t.Fatal(err)
			}
		}
	}
	total := int64(head) + int64(len(places))*int64(len(piece))
	job.Status, job.Finished = store.Done, time.Now().UnixNano()
	job.Stdout, job.Stderr = &jobsdpb.Output{Size: total, Head: head, Tail: tail}, &jobsdpb.Output{}
	job.update()
	want := strings.Repeat("é", head/2) + fmt.Sprintf("\n[%d bytes are not kept here]\n", total-head-tail) + strings.Repeat("é", tail/2)
	got := w.until(func(j *jobsdpb.Job) bool {
		if len(j.GetStdout()) > len(want)+10 {
			t.Fatalf("a message has %d bytes", len(j.GetStdout()))
		}
		return j.GetStatus() == store.Done
	})
	if got.GetStdout() != want {
		t.Errorf("the watch shows %d bytes, want %d", len(got.GetStdout()), len(want))
	}
	if job, err := r.get(r.as("me"), job.Id); err != nil || job.GetStdout() != want {
		t.Errorf("Get shows %d bytes, want %d, %v", len(job.GetStdout()), len(want), err)
	}
}

func TestOutputThatTheStoreHasDroppedIsAnnounced(t *testing.T) {
	r := start(t, setup{})
	job := r.pending(func(r *jobsdpb.Record) { r.Stdin = []byte(strings.Repeat("i", 100_000)) }).runs().writes(store.Stdout, strings.Repeat("o", 100_000)).ends(store.Done)
	if err := r.store.DropOutput(r.ctx(), job.Id); err != nil {
		t.Fatal(err)
	}
	got, err := r.get(r.as("me"), job.Id)
	if err != nil || got.GetStdout() != "\n[100000 bytes are not kept here]\n" || got.GetStdin() != "[100000 bytes of stdin are not stored any more]" {
		t.Errorf("Get shows %.99q and %.99q, %v", got.GetStdout(), got.GetStdin(), err)
	}
	if got := r.watch(r.as("me"), job.Id).must(); got.GetStdout() != "\n[100000 bytes are not kept here]\n" {
		t.Errorf("the watch shows %q", got.GetStdout())
	}
}

func TestNothingButUTF8IsAnswered(t *testing.T) {
	r := start(t, setup{})
	const binary = "\xff\xfe\x00\xc3(\xe2\x82"
	job := r.pending().runs().writes(store.Stdout, binary).writes(store.Stderr, strings.Repeat(binary, 10_000)).ends(store.Done)
	client := r.client()
	got, err := client.Get(t.Context(), job.Id)
	if err != nil || got.Stdout != "\uFFFD\x00\uFFFD(\uFFFD" {
		t.Errorf("Get shows %q, %v", got.Stdout, err)
	}
	if got, err = client.Wait(t.Context(), job.Id); err != nil || got.Stdout != "\uFFFD\x00\uFFFD(\uFFFD" {
		t.Errorf("Wait shows %q, %v", got.Stdout, err)
	}
	if jobs, err := client.List(t.Context(), jobsclient.ListOptions{}); err != nil || len(jobs) != 1 {
		t.Errorf("List shows %v, %v", jobs, err)
	}
}

// Each invalid byte becomes three. All bounds are an eighth of the defaults.
func TestTheLargestRowFitsTheClient(t *testing.T) {
	const eighth, kept = 8, 16 << 20 / 8
	r := start(t, setup{store: store.Config{HeadBytes: kept / 2, TailBytes: kept / 2}, front: front.Config{MaxStdin: front.DefaultMaxStdin / eighth}})
	client := jobsclient.New(jobsclient.Config{URL: "unix://" + r.socket, Token: r.token("me"), MaxReceive: jobsclient.DefaultMaxReceive / eighth})
	defer client.Close() //nolint:errcheck // of a client that is done
	id, err := client.Submit(t.Context(), jobsclient.SubmitRequest{Bin: "sh", Stdin: strings.Repeat("i", front.DefaultMaxStdin/eighth)})
	if err != nil {
		t.Fatal(err)
	}
	job := r.find("me", id).runs()
	piece := strings.Repeat("\xffa", store.MaxChunk/2)
	for range kept / len(piece) {
		job.writes(store.Stdout, piece).writes(store.Stderr, piece)
	}
	job.ends(store.Done)
	got, err := client.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{got.Stdout, got.Stderr} {
		if !utf8.ValidString(text) || len(text) > kept+100 || len(text) < kept-100 || !strings.Contains(text, "bytes are not kept here") {
			t.Errorf("a stream has %d bytes", len(text))
		}
	}
	if again, err := client.Get(t.Context(), id); err != nil || again.Stdout != got.Stdout {
		t.Errorf("Get: %v", err)
	}
}

func TestARecordThatVanishesEndsItsWatches(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs()
	w := r.watch(r.as("me"), job.Id)
	w.must()
	nc, err := r.nats.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.PublishMsg(purge("$KV.jobsd-jobs.me." + job.Id)); err != nil {
		t.Fatal(err)
	}
	_, err = w.next()
	r.refused(err, codes.NotFound, fmt.Sprintf("job %q vanished while watching — likely the agent was removed", job.Id))
	_, err = r.watch(r.as("me"), job.Id).next()
	r.refused(err, codes.NotFound, "async job not found")
}

func TestManyWatchesOnOneConnection(t *testing.T) {
	r := start(t, setup{})
	ctx := r.as("me")
	var jobs []*live
	var watches []*watch
	for range 300 {
		jobs = append(jobs, r.pending())
		watches = append(watches, r.watch(ctx, jobs[len(jobs)-1].Id))
	}
	for _, w := range watches {
		w.must()
	}
	if got := r.front.Feeds(); got != 300 {
		t.Errorf("there are %d feeds", got)
	}
	for _, j := range jobs {
		j.runs().ends(store.Done)
	}
	for _, w := range watches {
		w.until(func(j *jobsdpb.Job) bool { return j.GetStatus() == store.Done })
		w.ends()
	}
	eventually(t, "the end of all feeds", func() bool { return r.front.Feeds() == 0 })
}

func TestWatchesOfAJobShareAFeed(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs()
	var watches []*watch
	for i := range 50 {
		agent := "me"
		if i%5 == 0 {
			agent = ""
		}
		watches = append(watches, r.watch(r.as(agent), job.Id))
		watches[i].must()
	}
	if got := r.front.Feeds(); got != 1 {
		t.Errorf("there are %d feeds", got)
	}
	job.writes(store.Stdout, "x").ends(store.Done)
	for _, w := range watches {
		if got := w.until(func(j *jobsdpb.Job) bool { return j.GetStatus() == store.Done }); got.GetStdout() != "x" {
			t.Errorf("one shows %q", got.GetStdout())
		}
		w.ends()
	}
}

func TestAWatchEndsWithItsClient(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs()
	ctx, cancel := context.WithCancel(r.as("me"))
	w := r.watch(ctx, job.Id)
	w.must()
	cancel()
	_, err := w.next()
	r.refused(err, codes.Canceled, "context canceled")
	eventually(t, "the end of the feed", func() bool { return r.front.Feeds() == 0 && r.front.Watches() == 0 })
	if now := r.find("me", job.Id); now.Status != store.Running {
		t.Errorf("the job is %s", now.Status)
	}
}

// A client that does not read gets the newest row when it does, and holds nobody
// up meanwhile.
func TestASlowWatcherGetsTheNewestRow(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs()
	const window = 64 << 10 // bytes that are on their way to it at most
	slow := r.watchOn(r.as("me"), r.dial(grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window)), job.Id)
	quick := r.watch(r.as("me"), job.Id)
	const pieces, size = 10, 60_000
	for i := range pieces {
		job.writes(store.Stdout, noise(size))
		quick.until(func(j *jobsdpb.Job) bool { return len(j.GetStdout()) >= (i+1)*size })
	}
	job.ends(store.Done)
	quick.until(func(j *jobsdpb.Job) bool { return j.GetStatus() == store.Done })
	quick.ends()
	messages := 0
	got := slow.until(func(j *jobsdpb.Job) bool {
		messages++
		return j.GetStatus() == store.Done
	})
	if len(got.GetStdout()) != pieces*size || messages > pieces-3 {
		t.Errorf("%d messages, the last with %d bytes", messages, len(got.GetStdout()))
	}
	slow.ends()
}

// noise is text that gets hardly shorter when it is compressed.
func noise(size int) string {
	b := make([]byte, (size+3)/4*3)
	_, _ = rand.Read(b)
	return base64.StdEncoding.EncodeToString(b)[:size]
}

func TestTheEndOfRunEndsWatches(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs()
	w := r.watch(r.as("me"), job.Id)
	w.must()
	r.shutdown()
	const text = "the jobs daemon is shutting down: watch the job again once it is back; it is not touched"
	_, err := w.next()
	r.refused(err, codes.Unavailable, text)
	_, err = r.watch(r.as("me"), job.Id).next()
	r.refused(err, codes.Unavailable, "the jobs daemon is shutting down")
	_, err = r.submit(r.as("me"), &jobsdpb.SubmitRequest{Bin: "sh"})
	r.refused(err, codes.FailedPrecondition, "the jobs daemon is shutting down: nothing was submitted")
}

func TestWaitsGoOnAtTheNextFront(t *testing.T) {
	r := start(t, setup{})
	jobs := []*live{r.pending(), r.pending().runs()}
	client := r.client()
	var wg sync.WaitGroup
	for range 25 {
		for _, job := range jobs {
			wg.Go(func() {
				if got, err := client.Wait(t.Context(), job.Id); err != nil || got.Status != jobsclient.Done {
					t.Errorf("it is %v, %v", got, err)
				}
			})
		}
	}
	eventually(t, "all watches", func() bool { return r.front.Watches() == 50 })
	first := r.shutdown
	r.front = front.New(front.Config{Store: r.store, Agents: r.agents})
	r.run()
	next := r.front.Handler(false)
	r.handler.Store(&next)
	first()
	jobs[0].runs().ends(store.Done)
	jobs[1].ends(store.Done)
	wg.Wait()
}

// Short output moves from its chunks into the record at the end.
func TestOutputIsNotLostWhileAJobEnds(t *testing.T) {
	r := start(t, setup{})
	ctx := r.as("me")
	for range 30 {
		job := r.pending().runs().writes(store.Stdout, "x")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			job.ends(store.Done)
			if err := r.store.DropOutput(ctx, job.Id); err != nil {
				t.Error(err)
			}
		}()
		for status := ""; status != store.Done; {
			got, err := r.get(ctx, job.Id)
			if err != nil || got.GetStdout() != "x" {
				t.Fatalf("a job that is %s shows %q, %v", got.GetStatus(), got.GetStdout(), err)
			}
			status = got.GetStatus()
		}
		<-ended
	}
}

func TestTheLibrarysClientWaits(t *testing.T) {
	r := start(t, setup{})
	client := r.client()
	id, err := client.Submit(t.Context(), submitRequest)
	if err != nil {
		t.Fatal(err)
	}
	go func() { r.find("me", id).runs().writes(store.Stdout, "x").ends(store.Done) }()
	job, err := client.Wait(t.Context(), id)
	if err != nil || job.Status != jobsclient.Done || job.Stdout != "x" {
		t.Errorf("the job is %+v, %v", job, err)
	}
	if err := client.Cancel(t.Context(), id); !errors.Is(err, jobsclient.ErrNotRunning) {
		t.Errorf("Cancel: %v", err)
	}
}
