package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replace puts a new version in the place of a file, at once, with its mode and
// owner; old is nil for a file that is new, which only its owner may read.
func replace(path string, content []byte, old fs.FileInfo) (err error) {
	mode := fs.FileMode(0o600)
	if old != nil {
		mode = old.Mode().Perm()
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing the agents file: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing the agents file: %w", err)
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if _, err := temp.Write(content); err != nil {
		return err
	}
	if old != nil {
		if err := keepOwner(temp, old); err != nil {
			return err
		}
	}
	if err := os.Chmod(temp.Name(), mode); err != nil {
		return err
	}
	if err := errors.Join(temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// lock keeps others from changing the file until unlock is called. The lock is on
// a file beside it, since the file itself is replaced; that file stays.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the agents file: %w", err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking the agents file: %w", err)
	}
	return func() { _ = f.Close() }, nil
}
