package main

import (
	"slices"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	names := strings.Fields("sh grep find git job_submit job_status job_wait pilot_send pilot_send_file pilot_search")
	for _, tc := range []struct {
		name, wrong string
		want        []string
	}{
		{"a letter wrong", "gerp", nil},
		{"two letters more", "ggrepp", []string{"grep"}},
		{"a letter missing", "grp", []string{"grep"}},
		{"another case", "GREP", []string{"grep"}},
		{"a dash for an underscore", "job-submit", []string{"job_submit"}},
		{"a part of names", "send", []string{"pilot_send", "pilot_send_file"}},
		{"a name within", "shell", []string{"sh"}},
		{"at most three", "pilot", []string{"pilot_send", "pilot_send_file", "pilot_search"}},
		{"nothing like it", "kubernetes", nil},
		{"nothing", "", nil},
		{"what is no name", strings.Repeat("x", 1<<20), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := near(tc.wrong, names); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
