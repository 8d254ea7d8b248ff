//go:build unix

package tool

import (
	"strings"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/internal/run"
)

func TestAProgramThatCannotBeKilledIsAnnounced(t *testing.T) {
	for _, tc := range []struct {
		name string
		res  run.Result
		want string
	}{
		{"after a timeout", run.Result{ExitCode: -1, GivenUp: true, TimedOut: true}, "timed out after 1m0s; the program cannot be killed and may still run, no output"},
		{"after a cancellation", run.Result{ExitCode: -1, GivenUp: true, Cancelled: true, Duration: 7 * time.Second}, "cancelled after 7s; the program cannot be killed and may still run, no output"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := newAnswer(&Def{Timeout: time.Minute}, &tc.res).response()
			if !resp.IsError || resp.Content != tc.want {
				t.Errorf("got %q, want %q", resp.Content, tc.want)
			}
			if !strings.Contains(resp.Metadata, `"given_up":true`) {
				t.Errorf("metadata %s", resp.Metadata)
			}
		})
	}
}
