package pilot

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

func TestAProgramReadsTheInboxAsMessagesNewestFirst(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, _ pilottest.Generation) {
		before, err := s.client.Inbox(t.Context(), InboxInput{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 12 {
			s.Deliver("me", pilottest.Message{From: "bob", Text: fmt.Sprintf("--text %d", i)})
			// A 1.2 daemon overwrites a message of the same millisecond.
			for stored := time.Now().UnixMilli(); time.Now().UnixMilli() == stored; {
				runtime.Gosched()
			}
		}
		got, err := s.client.Inbox(t.Context(), InboxInput{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Total != before.Total+12 || len(got.Messages) != 10 {
			t.Fatalf("%d messages of %d, want 10 of %d", len(got.Messages), got.Total, before.Total+12)
		}
		if newest := got.Messages[0]; newest.Text != "--text 11" || newest.From != pilottest.FormatAddress(0, 2) || newest.ReceivedAt == "" {
			t.Errorf("the newest is %+v", newest)
		}
		if two, err := s.client.Inbox(t.Context(), InboxInput{Limit: 2}); err != nil || len(two.Messages) != 2 {
			t.Errorf("with a limit of 2: %+v, %v", two, err)
		}
		if _, err := s.client.Inbox(t.Context(), InboxInput{Limit: 101}); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("with a limit of 101: %v", err)
		}
	})
}

func TestAProgramListsAndClearsReceivedFiles(t *testing.T) {
	eachGeneration(t, func(t *testing.T, s *sim, _ pilottest.Generation) {
		s.DeliverFile("me", "a.bin", []byte("abc"))
		listed, err := s.client.Received(t.Context(), ReceivedInput{})
		if err != nil {
			t.Fatal(err)
		}
		if listed.Cleared || len(listed.Files) == 0 || listed.Files[0].Bytes != 3 || listed.Files[0].Modified.IsZero() {
			t.Fatalf("listed %+v", listed)
		}
		if body, err := os.ReadFile(listed.Files[0].Path); err != nil || string(body) != "abc" {
			t.Errorf("the file holds %q, %v", body, err)
		}
		cleared, err := s.client.Received(t.Context(), ReceivedInput{Clear: true})
		if err != nil || !cleared.Cleared || cleared.Deleted != len(listed.Files) || len(cleared.Files) != len(listed.Files) {
			t.Errorf("cleared %+v, %v", cleared, err)
		}
		if again, err := s.client.Received(t.Context(), ReceivedInput{Clear: true}); err != nil || again.Cleared || len(again.Files) != 0 {
			t.Errorf("with nothing to clear: %+v, %v", again, err)
		}
	})
}
