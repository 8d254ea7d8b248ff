package jobspb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/internal/protocheck"
	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

func TestTheGeneratedCodeIsCurrent(t *testing.T) {
	protocheck.Current(t, jobspb.File_fantasytools_jobs_v1_jobs_proto, "jobs")
}

func TestNothingIsRegisteredUnderTheDaemonsNames(t *testing.T) {
	file := jobspb.File_fantasytools_jobs_v1_jobs_proto
	if got := file.Path(); !strings.HasPrefix(got, "fantasytools/") {
		t.Errorf("the file is registered as %q, which another package may use too", got)
	}
	if got := file.Package(); got != "fantasytools.jobs.v1" {
		t.Errorf("the messages are registered in %q", got)
	}
}

// The daemon's numbers, so that a slip in jobs.proto shows here and not as an
// empty field against a real daemon.
func TestTheFieldsHaveTheDaemonsNumbers(t *testing.T) {
	want := map[string][]string{
		"Job": {"1 id", "2 agent_id", "4 bin", "5 args", "6 stdin", "7 status", "8 handle", "9 exit_code", "10 stdout", "11 stderr",
			"12 error", "13 created_at", "14 started_at", "15 finished_at", "16 labels"},
		"SubmitRequest":  {"1 agent_ref", "2 bin", "3 args", "4 stdin", "5 labels"},
		"SubmitResponse": {"1 job_id"},
		"JobRequest":     {"1 job_id"},
		"JobResponse":    {"1 job"},
		"CancelResponse": nil,
		"ListRequest":    {"1 agent_id", "2 status", "3 label_selector"},
		"ListResponse":   {"1 jobs"},
	}
	got := map[string][]string{}
	messages := jobspb.File_fantasytools_jobs_v1_jobs_proto.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		var fields []string
		for j := range m.Fields().Len() {
			fields = append(fields, fmt.Sprintf("%d %s", m.Fields().Get(j).Number(), m.Fields().Get(j).Name()))
		}
		got[string(m.Name())] = slices.Clone(fields)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("field numbers (-want +got):\n%s", diff)
	}
}
