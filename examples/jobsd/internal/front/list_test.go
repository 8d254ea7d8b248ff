package front_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
	"github.com/fantasytools/fantasytools/jobsclient"
)

func TestListsFilterByStatusAndAllLabels(t *testing.T) {
	r := start(t, setup{})
	labelled := func(agent string, labels map[string]string) func(*jobsdpb.Record) {
		return func(r *jobsdpb.Record) { r.Agent, r.Labels = agent, labels }
	}
	first := r.pending(labelled("me", map[string]string{"n": "1", "all": "", "A": "x", "": "e", `q"`: "q"}))
	second := r.pending(labelled("me", map[string]string{"n": "2", "all": ""})).runs()
	third := r.pending(labelled("other", map[string]string{"n": "1"}))
	tests := []struct {
		name, agent string
		in          *jobsdpb.ListRequest
		want        []*live
	}{
		{"all", "me", &jobsdpb.ListRequest{}, []*live{second, first}},
		{"a status", "me", &jobsdpb.ListRequest{Status: "running"}, []*live{second}},
		{"a status that does not exist", "me", &jobsdpb.ListRequest{Status: "no"}, nil},
		{"one label", "me", &jobsdpb.ListRequest{LabelSelector: map[string]string{"n": "1"}}, []*live{first}},
		{"two labels", "me", &jobsdpb.ListRequest{LabelSelector: map[string]string{"n": "2", "all": ""}}, []*live{second}},
		{"labels that no job has together", "me", &jobsdpb.ListRequest{LabelSelector: map[string]string{"n": "1", "all": "x"}}, nil},
		{"a key that is missing", "me", &jobsdpb.ListRequest{LabelSelector: map[string]string{"none": ""}}, nil},
		{"a key in another case", "me", &jobsdpb.ListRequest{LabelSelector: map[string]string{"a": "x"}}, nil},
		{"the empty key", "me", &jobsdpb.ListRequest{LabelSelector: map[string]string{"": "e"}}, []*live{first}},
		{"a key with a quote", "me", &jobsdpb.ListRequest{LabelSelector: map[string]string{`q"`: "q"}}, []*live{first}},
		{"a status and a label", "me", &jobsdpb.ListRequest{Status: "pending", LabelSelector: map[string]string{"all": ""}}, []*live{first}},
		{"another agent, which is ignored", "me", &jobsdpb.ListRequest{AgentId: "other"}, []*live{second, first}},
		{"the operator", "", &jobsdpb.ListRequest{}, []*live{third, second, first}},
		{"the operator for an agent", "", &jobsdpb.ListRequest{AgentId: "other"}, []*live{third}},
		{"the operator for nobody", "", &jobsdpb.ListRequest{AgentId: "*"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r.TB = t
			jobs, err := r.list(r.as(test.agent), test.in)
			if err != nil || !slices.EqualFunc(jobs, test.want, func(j *jobsdpb.Job, l *live) bool { return j.GetId() == l.Id }) {
				t.Errorf("got %v, %v", jobs, err)
			}
			for _, job := range jobs {
				if labelled := job.GetLabels()[front.AgentLabel] == job.GetAgentId(); labelled != (test.agent == "") {
					t.Errorf("a row of %s is labelled %v", job.GetAgentId(), job.GetLabels())
				}
			}
		})
	}
}

func TestRowsOfAListShowExcerpts(t *testing.T) {
	r := start(t, setup{})
	long := strings.Repeat
	short := r.pending(func(r *jobsdpb.Record) { r.Stdin = []byte("in") }).runs().writes(store.Stdout, "out\xff").writes(store.Stderr, long("e", 4096)).ends(store.Done)
	middling := r.pending(func(r *jobsdpb.Record) { r.Stdin = []byte(long("i", 4097)) }).runs().writes(store.Stdout, long("ü", 10_000)).ends(store.Done)
	huge := r.pending(func(r *jobsdpb.Record) { r.Stdin = []byte(long("i", 100_000)) }).runs().writes(store.Stdout, long("o", 200_000)).ends(store.Done)
	running := r.pending().runs().writes(store.Stdout, "x")
	cancelled := r.pending()
	if err := r.cancel(r.as("me"), cancelled.Id); err != nil {
		t.Fatal(err)
	}
	type texts struct{ in, out, err string }
	want := map[string]texts{
		short.Id: {"in", "out\uFFFD", long("e", 4096)},
		middling.Id: {long("i", 2048) + "\n[1 bytes are left out here; Get shows them]\n" + long("i", 2048),
			long("ü", 1024) + "\n[15904 bytes are left out here; Get shows them]\n" + long("ü", 1024), ""},
		huge.Id:      {"[100000 bytes; Get shows them]", "[200000 bytes; Get shows them]", ""},
		running.Id:   {"", "[Get shows the output so far]", ""},
		cancelled.Id: {},
	}
	jobs, err := r.list(r.as("me"), &jobsdpb.ListRequest{})
	if err != nil || len(jobs) != len(want) {
		t.Fatal(len(jobs), err)
	}
	for _, job := range jobs {
		if got := (texts{job.GetStdin(), job.GetStdout(), job.GetStderr()}); got != want[job.GetId()] {
			t.Errorf("%s shows %.200q\nwant %.200q", job.GetId(), got, want[job.GetId()])
		}
	}
}

func TestALongListComesWithoutTheOldTexts(t *testing.T) {
	const jobs = 3000
	r := start(t, setup{})
	const size = 5000
	text := strings.Repeat("x", size)
	args := []string{"-c", strings.Repeat("a", 4000)}
	var wg sync.WaitGroup
	for part := range 8 {
		wg.Go(func() {
			for i := part; i < jobs; i += 8 { // as they are stored, without the work of living them
				r.put(&jobsdpb.Record{
					Id: fmt.Sprintf("job_%d", i), Agent: "me", Bin: "sh", Args: args, Status: store.Done, Created: int64(i) + 1, Started: 1,
					Stdin: []byte("in"), StdinSize: 2,
					Stdout: &jobsdpb.Output{Inline: []byte(text), Size: size}, Stderr: &jobsdpb.Output{Inline: []byte(text), Size: size},
				})
			}
		})
	}
	wg.Wait()
	list, err := r.list(r.as("me"), &jobsdpb.ListRequest{})
	if err != nil || len(list) != jobs {
		t.Fatal(len(list), err)
	}
	if size := proto.Size(&jobsdpb.ListResponse{Jobs: list}); size > front.MaxList || size < front.MaxList-50_000 {
		t.Errorf("the list has %d bytes", size)
	}
	shown := 0
	for i, job := range list {
		if want := fmt.Sprintf("job_%d", jobs-1-i); job.GetId() != want {
			t.Fatalf("row %d is %s, want %s", i, job.GetId(), want)
		}
		switch {
		case len(job.GetStdout()) > 4096 && len(job.GetArgs()[1]) == 4000:
			if shown++; shown != i+1 {
				t.Fatalf("row %d has texts, but not all before it", i)
			}
		case job.GetStdout() != "[5000 bytes; Get shows them]" || job.GetStdin() != "[2 bytes; Get shows them]" || job.GetArgs()[1] != "[1 more args; Get shows them]":
			t.Fatalf("row %d shows %.99q, %.99q, %.99q", i, job.GetStdin(), job.GetStdout(), job.GetArgs())
		}
	}
	if _, err := r.client().List(t.Context(), jobsclient.ListOptions{}); err != nil {
		t.Errorf("the client: %v", err)
	}
}

func TestAListThatCannotBeShortenedIsRefused(t *testing.T) {
	const most = 100_000
	r := start(t, setup{list: most})
	for i := range 1000 { // more than a watch of the bucket has room for when it is broken off
		r.put(&jobsdpb.Record{Id: fmt.Sprintf("job_%d", i), Agent: "me", Bin: "sh", Status: store.Done, Created: int64(i), Labels: map[string]string{"k": strings.Repeat("x", 200)}})
	}
	_, err := r.list(r.as("me"), &jobsdpb.ListRequest{})
	r.refused(err, codes.ResourceExhausted, fmt.Sprintf("the list is longer than %d bytes even without output: narrow it by a status or by labels", most))
	if jobs, err := r.list(r.as("me"), &jobsdpb.ListRequest{Status: store.Running}); err != nil || len(jobs) != 0 {
		t.Error(jobs, err)
	}
}

// put stores a record as it is.
func (r *rig) put(record *jobsdpb.Record) {
	r.Helper()
	if _, err := r.store.Update(context.Background(), record, 0); err != nil {
		r.Errorf("storing: %v", err)
	}
}
