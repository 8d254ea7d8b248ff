package jobsclient_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func TestASocketThatThisUserMayNotReachIsTold(t *testing.T) {
	dir := filepath.Join(shortDir(t), "closed")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d := jobstest.New(t, jobstest.Options{Address: filepath.Join(dir, "d.sock")})
	ctx, cfg := testContext(t), d.Config()
	var err error
	asNobody(t, dir, func() {
		c := jobsclient.New(cfg)
		_, err = c.List(ctx, jobsclient.ListOptions{})
		_ = c.Close()
	})
	if !errors.Is(err, jobsclient.ErrUnavailable) || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), d.Address()) || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("got %v", err)
	}
	plain(t, err)
}

// asNobody runs f on a thread that may not enter dir: as another user if this is
// the superuser, who may enter everything, or else with dir closed to its owner.
func asNobody(t *testing.T, dir string, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(dir, 0o700) }()
		f()
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := syscall.Setfsuid(65534)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
