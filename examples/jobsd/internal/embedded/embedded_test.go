package embedded_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/embedded"
)

func TestADirectoryIsOneServersAtATimeAndKeepsWhatWasStored(t *testing.T) {
	dir := t.TempDir()
	for i, fsync := range []bool{false, true, false} {
		s, err := embedded.Start(embedded.Config{Dir: dir, Fsync: fsync})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := embedded.Start(embedded.Config{Dir: dir}); !errors.Is(err, embedded.ErrLocked) || !strings.Contains(err.Error(), dir) {
			t.Errorf("a second one: %v", err)
		}
		nc, err := s.Connect()
		if err != nil {
			t.Fatal(err)
		}
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		bucket, err := js.CreateOrUpdateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "b"})
		if err != nil {
			t.Fatal(err)
		}
		rev, err := bucket.PutString(t.Context(), "k", "v")
		if err != nil || rev != uint64(i+1) {
			t.Errorf("revision %d, %v", rev, err)
		}
		nc.Close()
		s.Stop()
	}
}

func TestADirectoryThatCannotBeMadeIsNamed(t *testing.T) {
	if _, err := embedded.Start(embedded.Config{Dir: "/dev/null/jobs"}); err == nil || !strings.Contains(err.Error(), "/dev/null") {
		t.Errorf("got %v", err)
	}
}
