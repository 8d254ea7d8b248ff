package pilottest

import (
	"errors"
	"syscall"
	"time"
)

const errSharingViolation = syscall.Errno(32)

// lockFile opens the file without sharing it, which is a lock that ends with
// its holder, and waits for that when wait is set.
func lockFile(path string, wait bool) (unlock func(), ok bool, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	for {
		h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
			syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
		if err == nil {
			return func() { _ = syscall.CloseHandle(h) }, true, nil
		}
		if !errors.Is(err, errSharingViolation) {
			return nil, false, err
		}
		if !wait {
			return nil, false, nil
		}
		time.Sleep(time.Millisecond)
	}
}
