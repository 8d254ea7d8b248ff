package pilot

import (
	"os"
	"runtime"
	"strings"
)

// passed are the variables that reach pilotctl besides those that begin with
// one of the prefixes. Everything else stays here, API keys first of all.
var passed = map[string]bool{
	"HOME": true, "PATH": true, "USER": true, "LANG": true, "TMPDIR": true, "XDG_RUNTIME_DIR": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "ALL_PROXY": true, "NO_PROXY": true,
	"SSL_CERT_FILE": true, "SSL_CERT_DIR": true,
}

// passedOnWindows are what a Windows program does not start without.
var passedOnWindows = map[string]bool{
	"SYSTEMROOT": true, "USERPROFILE": true, "LOCALAPPDATA": true, "APPDATA": true, "TEMP": true, "TMP": true, "PATHEXT": true,
}

var passedPrefixes = []string{"LC_", "PILOT_", "PILOTCTL_"}

// environ is the whole environment of the child.
func (c *Client) environ() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, ok := strings.Cut(entry, "=")
		if ok && passes(name) && !c.overrides(name) {
			env = append(env, entry)
		}
	}
	if c.Home != "" {
		env = append(env, homeVariable()+"="+c.Home)
	}
	if c.Socket != "" {
		env = append(env, "PILOT_SOCKET="+c.Socket)
	}
	return env
}

func passes(name string) bool {
	upper := strings.ToUpper(name)
	if upper != name && !strings.HasSuffix(upper, "_PROXY") && runtime.GOOS != "windows" {
		return false
	}
	for _, prefix := range passedPrefixes {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	return passed[upper] || runtime.GOOS == "windows" && passedOnWindows[upper]
}

// overrides tells whether a field of the Client takes the variable's place.
func (c *Client) overrides(name string) bool {
	return c.Home != "" && strings.EqualFold(name, homeVariable()) || c.Socket != "" && strings.EqualFold(name, "PILOT_SOCKET")
}

func homeVariable() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// adminToken is the one secret that pilotctl is given; it is struck out of
// whatever comes back.
func adminToken() string {
	const shortest = 6 // a shorter one would strike out innocent text
	if token := os.Getenv("PILOT_ADMIN_TOKEN"); len(token) >= shortest {
		return token
	}
	return ""
}
