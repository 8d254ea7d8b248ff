package embedded

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

func TestADirectoryIsTakenOnceAndAgainWhenItsLockIsLeft(t *testing.T) {
	dir := t.TempDir()
	other := flock.New(filepath.Join(dir, "lock"))
	if held, err := other.TryLock(); err != nil || !held {
		t.Fatal(held, err)
	}
	if _, err := Start(Config{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Fatalf("while it is in use: %v", err)
	}
	leave := time.AfterFunc(lockPatience/4, func() { _ = other.Close() })
	defer leave.Stop()
	s, err := Start(Config{Dir: dir})
	if err != nil {
		t.Fatalf("while it is being left: %v", err)
	}
	s.Stop()
}
