package pilot

import (
	"os"
	"regexp"
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

// shortestSecret is the length below which striking out would hit innocent text.
const shortestSecret = 6

// secrets are the values in the child's environment that must not come back:
// what PILOT_* variables hold that are called a token, secret, password or API
// key, and what proxies are logged in to with.
func secrets() []string {
	var found []string
	for _, entry := range os.Environ() {
		name, value, ok := strings.Cut(entry, "=")
		switch name = strings.ToUpper(name); {
		case !ok || !passes(name):
		case strings.HasPrefix(name, "PILOT") && secretName.MatchString(name) && len(value) >= shortestSecret:
			found = append(found, value)
		case strings.HasSuffix(name, "_PROXY"):
			if login := proxyLogin.FindStringSubmatch(value); login != nil {
				found = append(found, login[1])
			}
		}
	}
	return found
}

var (
	secretName = regexp.MustCompile(`(TOKEN|SECRET|PASSWORD|API_?KEY)S?$`)        // a _FILE or _DIR is none
	proxyLogin = regexp.MustCompile(`^(?:[A-Za-z0-9+.-]+://)?([^/?#]*:[^/?#]+@)`) // name, password and the @ behind them
)
