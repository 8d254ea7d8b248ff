package agents

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
}

// keepOwner does nothing: the new file inherits the access of its directory.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
