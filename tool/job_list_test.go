package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/jobsclient"
)

func (s *set) listed(ctx context.Context, input string) []listedJob {
	s.t.Helper()
	answer, err := s.run(ctx, "job_list", input)
	if err != nil || answer.IsError {
		s.t.Fatalf("job_list %s: %q, %v", input, answer.Content, err)
	}
	var got []listedJob
	if err := json.Unmarshal([]byte(answer.Content), &got); err != nil {
		s.t.Fatal(err)
	}
	return got
}

func TestJobsCarryTheSessionOfTheContextAndAreListedByIt(t *testing.T) {
	s := newSet(t, nil)
	one, two := WithSession(context.Background(), "one"), WithSession(context.Background(), "two")
	a := s.ok(one, "job_submit", `{"bin":"echo","labels":{"io.openotters.session-id":"forged","k":"v"}}`)["job_id"].(string)
	b := s.ok(two, "job_submit", `{"bin":"echo"}`)["job_id"].(string)
	if j, _ := s.d.Job(a); j.Labels[SessionLabel] != "one" || j.Labels["k"] != "v" {
		t.Errorf("labels are %v", j.Labels)
	}
	lists := []struct {
		ctx   context.Context
		input string
		want  []string
	}{
		{one, `{}`, []string{a}},
		{two, ``, []string{b}},
		{one, `{"all_sessions":true}`, []string{a, b}},
		{context.Background(), `{}`, []string{a, b}},
		{WithSession(context.Background(), "three"), `{}`, nil},
	}
	for _, list := range lists {
		var got []string
		for _, j := range s.listed(list.ctx, list.input) {
			got = append(got, j.JobID)
		}
		slices.Sort(got)
		slices.Sort(list.want)
		if !slices.Equal(got, list.want) {
			t.Errorf("%s lists %v, want %v", list.input, got, list.want)
		}
	}
	answer, _ := s.run(WithSession(context.Background(), "three"), "job_list", `{}`)
	if answer.Content != "[]" {
		t.Errorf("an empty list is %q", answer.Content)
	}
}

func TestAListIsBoundedNewestFirstAndWithoutOutput(t *testing.T) {
	s := newSet(t, nil)
	now := time.Now()
	var ids []string
	for i := range 150 {
		ids = append(ids, s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: "secret", Created: now.Add(time.Duration(i-150) * time.Minute), Bin: "echo"}))
	}
	running := s.d.AddJob(s.d.Agent(), jobsclient.Job{Created: now})
	got := s.listed(context.Background(), `{}`)
	if len(got) != 21 || got[0].JobID != running || got[1].JobID != ids[149] || !strings.Contains(got[20].Note, "131 older jobs") {
		t.Errorf("got %d: %+v", len(got), got)
	}
	if got := s.listed(context.Background(), `{"limit":100,"status":"running"}`); len(got) != 1 || got[0].ExitCode != nil {
		t.Errorf("got %+v", got)
	}
	answer, _ := s.run(context.Background(), "job_list", `{"limit":"100"}`)
	if strings.Contains(answer.Content, "secret") {
		t.Error("the list shows output")
	}
	for _, input := range []string{`{"limit":0}`, `{"limit":-1}`, `{"limit":1e12}`, `{"limit":"30s"}`, `{"limit":0.5}`, `{"status":"finished"}`} {
		if text := s.refused(context.Background(), "job_list", input); !strings.Contains(text, "limit") && !strings.Contains(text, "status") {
			t.Errorf("%s: %s", input, text)
		}
	}
}

func TestJobsThatCannotBeListedDoNotHideTheOthers(t *testing.T) {
	tests := map[string]struct{ stdout, reason string }{
		"output that is not text":  {"\xff", "not text"},
		"more output than is read": {strings.Repeat("x", 2<<20), "more output"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, func(cfg *jobsclient.Config) { cfg.MaxReceive = 1 << 20 })
			s.d.AddJob(s.d.Agent(), jobsclient.Job{Status: jobsclient.Done, Stdout: test.stdout})
			running := s.d.AddJob(s.d.Agent(), jobsclient.Job{})
			got := s.listed(context.Background(), `{}`)
			if len(got) != 2 || got[0].JobID != running || !strings.Contains(got[1].Note, "status done") || !strings.Contains(got[1].Note, test.reason) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
