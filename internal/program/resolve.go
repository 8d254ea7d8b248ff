package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Resolve returns the absolute path of a binary: an absolute one as it is, one with
// a slash relative to workDir, a bare name first in usr/bin below workDir and then
// in the absolute entries of PATH. The error says what is wrong with it and, where
// that is not plain, what to do; it is fs.ErrNotExist for one that is not there.
func Resolve(binary, workDir string) (string, error) {
	switch {
	case strings.TrimSpace(binary) == "":
		return "", errors.New("the binary is empty; name a program")
	case strings.ContainsRune(binary, 0):
		return "", errors.New("the binary holds a NUL character")
	case filepath.IsAbs(binary):
		return executable(filepath.Clean(binary))
	case !IsBare(binary):
		return executable(filepath.Join(workDir, binary))
	}
	return search(binary, workDir)
}

// IsBare reports whether binary is a name and no path.
func IsBare(binary string) bool {
	return filepath.Base(binary) == binary && !strings.Contains(binary, "/") && binary != "." && binary != ".."
}

// search looks for a bare name in usr/bin below workDir and then in the
// absolute entries of PATH.
func search(name, workDir string) (string, error) {
	dirs := append([]string{filepath.Join(workDir, "usr", "bin")}, filepath.SplitList(os.Getenv("PATH"))...)
	var unusable error // of the first candidate that exists
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := executable(filepath.Join(dir, name))
		if err == nil {
			return path, nil
		}
		if unusable == nil && !errors.Is(err, fs.ErrNotExist) {
			unusable = err
		}
	}
	if unusable != nil {
		return "", unusable
	}
	return "", &missingError{fmt.Sprintf("the binary %q is neither in %s nor in an absolute entry of PATH; install it or give its path "+
		"(one in the working directory is written ./%s)", name, dirs[0], name)}
}

// executable returns path, on Windows with the extension that was left out, if
// a program is there that this process may run.
func executable(path string) (string, error) {
	info, err := os.Stat(path)
	if runtime.GOOS == "windows" {
		return windowsExecutable(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", missing(path)
	case err != nil:
		return "", fmt.Errorf("the binary %s cannot be reached: %w", path, errors.Unwrap(err))
	case info.IsDir():
		return "", fmt.Errorf("the binary %s is a directory", path)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("the binary %s is not a regular file", path)
	}
	if _, err := exec.LookPath(path); err != nil {
		return "", fmt.Errorf("the binary %s is not executable (file mode %s)", path, info.Mode().Perm())
	}
	return path, nil
}

// windowsExecutable refuses batch files: cmd.exe would split a model's arguments
// anew.
func windowsExecutable(path string) (string, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return "", fmt.Errorf("the binary %s is a directory", path)
		}
		return "", missing(path)
	}
	switch strings.ToLower(filepath.Ext(found)) {
	case ".bat", ".cmd":
		return "", fmt.Errorf("the binary %s is a batch file, whose arguments a shell would read; name a program", found)
	}
	return found, nil
}

// missing is fs.ErrNotExist in words.
func missing(path string) error {
	return &missingError{"the binary " + path + " does not exist"}
}

type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

// Is makes it fs.ErrNotExist.
func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }
