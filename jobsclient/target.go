package jobsclient

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// target is where the daemon is, as Config.URL says it.
type target struct {
	network string // "unix" or "tcp"
	address string // the socket's path, or host:port
	tls     bool
	display string // the URL as errors may show it
}

// parseTarget reads a URL. Its errors never hold a user name, a password or a
// query.
func parseTarget(raw string, allowPlaintext bool) (*target, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return nil, fmt.Errorf("no address of the jobs daemon: set %s to unix:///path/of/socket or http://host:port", EnvDaemonURL)
	}
	scheme, rest, found := strings.Cut(raw, ":")
	if !found {
		return nil, noScheme(raw)
	}
	switch strings.ToLower(scheme) {
	case "unix":
		return parseUnix(rest)
	case "http":
		return parseHTTP("http", rest, allowPlaintext)
	case "https":
		return parseHTTP("https", rest, allowPlaintext)
	}
	return nil, noScheme(raw)
}

func noScheme(raw string) error {
	shown := fmt.Sprintf("%q", withoutUserinfo(raw))
	if !looksLikeAddress.MatchString(raw) {
		shown = fmt.Sprintf("of %d characters (not shown: if it was swapped with the token it is a secret)", len(raw))
	}
	return fmt.Errorf("the address %s of the jobs daemon has none of the schemes unix, http and https: "+
		"write unix:///path/of/socket or http://host:port", shown)
}

// looksLikeAddress matches what somebody meant for an address and no token is: a
// URL, a host with a port, a path.
var looksLikeAddress = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://|^[\[\]A-Za-z0-9.:-]*:[0-9]{1,5}(/|$)|^[./~]`)

func parseUnix(rest string) (*target, error) {
	path := rest
	if after, slashes := strings.CutPrefix(rest, "//"); slashes {
		path = after
	}
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("the socket path in %q is not absolute: write unix:///path/of/socket", withoutUserinfo("unix:"+rest))
	}
	if strings.ContainsRune(path, 0) {
		return nil, fmt.Errorf("the socket path %q holds a NUL byte, which no path can", path)
	}
	return &target{network: "unix", address: path, display: "unix://" + printable(path)}, nil
}

func parseHTTP(scheme, rest string, allowPlaintext bool) (*target, error) {
	shown := withoutUserinfo(scheme + ":" + rest)
	u, err := url.Parse(scheme + ":" + rest)
	if err != nil || !validHost(u.Hostname()) || u.Opaque != "" {
		return nil, fmt.Errorf("the address %q of the jobs daemon cannot be read: write %s://host:port", shown, scheme)
	}
	if u.User != nil {
		return nil, fmt.Errorf("the address %q of the jobs daemon must not hold a user name or password: the token goes into %s", shown, EnvAgentToken)
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the address %q of the jobs daemon must end after the port: write %s://%s", shown, scheme, u.Host)
	}
	port, err := portOf(u, scheme)
	if err != nil {
		return nil, fmt.Errorf("the address %q of the jobs daemon: %w", shown, err)
	}
	if scheme == "http" && !allowPlaintext && !mayBePlain(u.Hostname()) {
		return nil, fmt.Errorf("the token would go unencrypted over the network to %q: use https:// or a unix socket, or set Config.AllowPlaintext", u.Hostname())
	}
	address := net.JoinHostPort(u.Hostname(), port)
	display := scheme + "://" + strings.Replace(address, "%", "%25", 1)
	return &target{network: "tcp", address: address, tls: scheme == "https", display: display}, nil
}

// validHost tells whether host is an IP address or may be a name. url.Parse lets
// more through than can be dialled, and netip anything as an IPv6 zone.
func validHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return validZone.MatchString(addr.Zone())
	}
	for _, r := range host {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 && unicode.IsLetter(r)
		if !letter && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' {
			return false
		}
	}
	return host != ""
}

// validZone matches no zone, or one that a URL may name: RFC 6874, section 2,
// without its escapes.
var validZone = regexp.MustCompile(`^[A-Za-z0-9._~-]*$`)

func portOf(u *url.URL, scheme string) (string, error) {
	port := u.Port()
	switch {
	case port != "":
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return "", errors.New("the port must be between 1 and 65535")
		}
		return strconv.Itoa(n), nil
	case scheme == "https":
		return "443", nil
	}
	return "80", nil
}

// mayBePlain tells whether a token may go to host unencrypted. A name without
// dots is a machine or container of the local network; it must begin with a
// letter, since resolvers also take 167772161 and 0xa000001 for addresses.
func mayBePlain(host string) bool {
	host = strings.ToLower(host)
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	if host == "host.docker.internal" {
		return true
	}
	return !strings.ContainsAny(host, ".:") && host[0] >= 'a' && host[0] <= 'z'
}

// printable is a path as errors show it: as it is, unless it holds what would
// break a line or steer a terminal.
func printable(path string) string {
	for _, r := range path {
		if !unicode.IsPrint(r) {
			return strconv.Quote(path)
		}
	}
	return path
}

var validScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// withoutUserinfo drops what may be a secret in an address that is not
// understood: everything before the last @, and the query.
func withoutUserinfo(raw string) string {
	raw, _, _ = strings.Cut(raw, "?")
	at := strings.LastIndex(raw, "@")
	if at < 0 {
		return raw
	}
	scheme, _, found := strings.Cut(raw[:at], "://")
	if !found || !validScheme.MatchString(scheme) {
		return "[redacted]" + raw[at:]
	}
	return scheme + "://[redacted]" + raw[at:]
}
