//go:build unix

package daemon

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// nobodyListens tells whether a socket is one that a process left that died.
func nobodyListens(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// listenPrivately listens on a socket of mode 0600. It is made in a directory that
// nobody else may enter and moved when it has its mode, so that there is no moment
// in which another user may connect.
func listenPrivately(path string) (net.Listener, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // empty, at worst
	hidden := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(hidden, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	if err := os.Rename(hidden, path); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}
