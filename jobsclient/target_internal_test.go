package jobsclient

import (
	"net"
	"strings"
	"testing"
)

func TestAnAddressIsReadAsItIsMeant(t *testing.T) {
	tests := []struct {
		raw  string
		want target
	}{
		{"unix:///run/d.sock", target{network: "unix", address: "/run/d.sock", display: "unix:///run/d.sock"}},
		{"unix:/run/a b%20.sock", target{network: "unix", address: "/run/a b%20.sock", display: "unix:///run/a b%20.sock"}},
		{"UNIX:////x", target{network: "unix", address: "//x", display: "unix:////x"}},
		{"http://localhost", target{network: "tcp", address: "localhost:80", display: "http://localhost:80"}},
		{"HTTP://LocalHost:5500/", target{network: "tcp", address: "LocalHost:5500", display: "http://LocalHost:5500"}},
		{" http://[::1]:5500\n", target{network: "tcp", address: "[::1]:5500", display: "http://[::1]:5500"}},
		{"http://[::1]", target{network: "tcp", address: "[::1]:80", display: "http://[::1]:80"}},
		{"http://h:", target{network: "tcp", address: "h:80", display: "http://h:80"}},
		{"https://daemon.example", target{network: "tcp", address: "daemon.example:443", tls: true, display: "https://daemon.example:443"}},
		{"https://daemon.example:8443//", target{network: "tcp", address: "daemon.example:8443", tls: true, display: "https://daemon.example:8443"}},
	}
	for _, test := range tests {
		t.Run(test.raw, func(t *testing.T) {
			got, err := parseTarget(test.raw, false)
			if err != nil || *got != test.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"", "unix:///a", "http://h", "https://u:pa55@h:1", "http://[::1%25lo]:1", "http:h", "unix:", "://", "http://h:٣", "http://\x00", "HTTP://u:pa55@%zz", "http://1"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, raw string, allow bool) {
		got, err := parseTarget(raw, allow)
		if err != nil {
			if err.Error() == "" || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %q", raw, err)
			}
			secret := raw[strings.Index(raw, ":")+1:]
			if at := strings.LastIndex(secret, "@"); at > 12 && strings.Contains(err.Error(), secret[:at]) && !strings.Contains(secret, "?") {
				t.Errorf("%q: the error shows the user: %v", raw, err)
			}
			return
		}
		switch got.network {
		case "unix":
			if !strings.HasPrefix(got.address, "/") || got.tls {
				t.Errorf("%q: %+v", raw, got)
			}
		case "tcp":
			host, port, err := net.SplitHostPort(got.address)
			if err != nil || host == "" || port == "" {
				t.Errorf("%q: %+v, %v", raw, got, err)
			}
			if !got.tls && !allow && !mayBePlain(host) {
				t.Errorf("%q: the token would go in clear to %s", raw, host)
			}
		default:
			t.Errorf("%q: %+v", raw, got)
		}
	})
}
