package pilot

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// EnvBinary is the environment variable that names the pilotctl to run.
const EnvBinary = "PILOTCTL"

// binary returns the absolute path of the pilotctl to run. It is looked up
// anew for each call, so that an installation is noticed.
func (c *Client) binary() (string, error) {
	if c.Binary != "" {
		return named("Client.Binary", c.Binary)
	}
	if name := os.Getenv(EnvBinary); name != "" {
		return named("$"+EnvBinary, name)
	}
	if path := inPath(program); path != "" {
		return path, nil
	}
	home := c.Home
	if home == "" {
		home, _ = os.UserHomeDir() // without a home there is one place less to look
	}
	if home != "" {
		path := filepath.Join(home, ".pilot", "bin", program+exeSuffix())
		if path, err := filepath.Abs(path); err == nil && executable(path) {
			return path, nil
		}
	}
	return "", notInstalled("pilotctl is neither in PATH nor in ~/.pilot/bin, and $" + EnvBinary + " is not set")
}

// program is what the command-line client of the Pilot Protocol is called.
const program = "pilotctl"

// named resolves a program that somebody chose: there is no second guess when
// it is missing, since running another one would be a surprise.
func named(who, name string) (string, error) {
	if !strings.ContainsRune(name, '/') && !strings.ContainsRune(name, filepath.Separator) {
		if path := inPath(name); path != "" {
			return path, nil
		}
		return "", notInstalled(who + " is \"" + name + "\", which is not in PATH")
	}
	path, err := filepath.Abs(name)
	if err == nil && executable(path) {
		return path, nil
	}
	return "", notInstalled(who + " is \"" + name + "\", which is no executable file")
}

// inPath looks for a program in the absolute entries of PATH; relative ones
// would run whatever lies in the working directory.
func inPath(name string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, suffix := range []string{"", exeSuffix()} {
			if path := filepath.Join(dir, name+suffix); executable(path) {
				return path
			}
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0
}

func exeSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

func notInstalled(why string) *Error {
	return &Error{
		Code:    codeNotInstalled,
		Message: "pilotctl is not installed: " + why,
		Hint:    "install the Pilot Protocol, or set $" + EnvBinary + " to the path of pilotctl",
	}
}
