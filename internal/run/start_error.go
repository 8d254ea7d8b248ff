package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// StartError says why no child ran: one plain sentence that names what is at
// fault, the program, its interpreter, the working directory or the arguments,
// and what to do. It unwraps to the system's error.
type StartError struct {
	text string
	err  error
}

func (e *StartError) Error() string { return e.text }

func (e *StartError) Unwrap() error { return e.err }

// startError finds out what the system's error was about: exec answers the same
// ENOENT for a missing program, working directory and interpreter.
func startError(c Command, err error) error {
	text := dirProblem(c.Dir)
	if text == "" {
		text = programProblem(c, err)
	}
	return &StartError{text: text, err: err}
}

func dirProblem(dir string) string {
	if dir == "" {
		return ""
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("the working directory %s does not exist; it has to be created again before this tool can run", dir)
	case err != nil:
		return fmt.Sprintf("the working directory %s cannot be used: %s", dir, reason(err))
	case !info.IsDir():
		return fmt.Sprintf("the working directory %s is not a directory", dir)
	}
	// Entering a directory needs a permission that looking at it does not.
	if _, err := os.Stat(filepath.Join(dir, ".") + string(filepath.Separator) + "."); err != nil {
		return fmt.Sprintf("the working directory %s cannot be entered: %s", dir, reason(err))
	}
	return ""
}

func programProblem(c Command, err error) string {
	info, statErr := os.Stat(c.Path)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		return fmt.Sprintf("the program %s does not exist any more; it has to be installed again", c.Path)
	case statErr != nil:
		return fmt.Sprintf("the program %s cannot be reached: %s", c.Path, reason(statErr))
	case info.IsDir():
		return fmt.Sprintf("%s is a directory, not a program", c.Path)
	case errors.Is(err, syscall.E2BIG):
		return tooLong(c)
	case errors.Is(err, fs.ErrNotExist):
		return missingInterpreter(c.Path)
	case unusableInterpreter(c.Path) != "":
		return fmt.Sprintf("the script %s cannot run: its interpreter %s (named in its first line) cannot be executed", c.Path, unusableInterpreter(c.Path))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("the program %s may not be executed by this user (file mode %s), or lies on a file system mounted without that permission", c.Path, info.Mode().Perm())
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Sprintf("%s is not in a format that this system runs; a script needs a first line such as #!/bin/sh", c.Path)
	case errors.Is(err, syscall.ETXTBSY):
		return fmt.Sprintf("the program %s is being written to; call the tool again once that has ended", c.Path)
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
		return fmt.Sprintf("this machine has no room for another process (%s); call the tool again later", reason(err))
	}
	return fmt.Sprintf("the program %s could not be started: %s", c.Path, reason(err))
}

// maxArgument is the shortest limit of one argument on Linux: 32 pages of
// 4 KiB, the terminating NUL included (MAX_ARG_STRLEN).
const maxArgument = 131072

// tooLong finds what is too long: an argument, a variable, or all together.
func tooLong(c Command) string {
	arg, args := sizes(c.Args)
	if arg >= maxArgument {
		return fmt.Sprintf("one argument is %d bytes long, over the system's limit of %d; pass long text in stdin instead", arg, maxArgument-1)
	}
	variable, variables := sizes(c.Env)
	if variable >= maxArgument {
		return fmt.Sprintf("a variable of the tool's environment is %d bytes long, over the system's limit of %d; no other arguments help, so tell the user",
			variable, maxArgument-1)
	}
	return fmt.Sprintf("the %d arguments are %d bytes long together, over the system's limit beside an environment of %d bytes; pass fewer, or pass long text in stdin instead",
		len(c.Args), args, variables)
}

// sizes returns the size in bytes of the longest string and of all.
func sizes(list []string) (longest, total int) {
	for _, s := range list {
		longest = max(longest, len(s))
		total += len(s)
	}
	return longest, total
}

// missingInterpreter explains ENOENT for a program that exists.
func missingInterpreter(path string) string {
	if name := interpreter(path); name != "" {
		return fmt.Sprintf("the script %s cannot run: its interpreter %s (named in its first line) does not exist", path, name)
	}
	return fmt.Sprintf("the program %s cannot run: the loader or interpreter that it needs does not exist on this machine", path)
}

// unusableInterpreter returns the interpreter of a script that may itself be
// executed, if that may not; else "".
func unusableInterpreter(path string) string {
	name := interpreter(path)
	if name == "" {
		return ""
	}
	if _, err := exec.LookPath(path); err != nil {
		return ""
	}
	if _, err := exec.LookPath(name); err == nil {
		return ""
	}
	return name
}

// interpreter returns the program that the first line of a script names.
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	rest, ok := strings.CutPrefix(line, "#!")
	if fields := strings.Fields(rest); ok && len(fields) > 0 {
		if strings.HasSuffix(fields[0], "\r") || strings.HasSuffix(line, "\r\n") {
			return fields[0] + `\r (the script has Windows line ends)`
		}
		return fields[0]
	}
	return ""
}

// reason returns the system's words without the call and the path.
func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
