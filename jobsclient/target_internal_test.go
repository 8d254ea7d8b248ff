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
		{"https://[fe80::1%25eth0.7]:5500", target{network: "tcp", address: "[fe80::1%eth0.7]:5500", tls: true, display: "https://[fe80::1%25eth0.7]:5500"}},
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

func TestAnAddressThatCannotBeDialledIsRefused(t *testing.T) {
	for _, raw := range []string{
		"http://[::1%25lo]:]", "http://[::1%25lo5lo]:]", "http://[::1%25a%20b]:1", "http://[::1%25a:b]:1", "http://[::1%25%0a]:1",
		"http://[::1%25]:1", "http://[::1", "http://::1", "http://[]:1", "http://a b:1", "http://h:0", "http://h:65536", "http://h:٣", "http://*:1",
	} {
		if got, err := parseTarget(raw, true); err == nil {
			t.Errorf("%q is read as %+v", raw, got)
		} else if !strings.Contains(err.Error(), "write http://host:port") && !strings.Contains(err.Error(), "between 1 and 65535") {
			t.Errorf("%q: %v", raw, err)
		}
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
				t.Fatalf("%q: %+v, %v", raw, got, err)
			}
			if !got.tls && !allow && !mayBePlain(host) {
				t.Errorf("%q: the token would go in clear to %s", raw, host)
			}
		default:
			t.Fatalf("%q: %+v", raw, got)
		}
		if strings.Contains(got.display, `"`) {
			return // a path that is quoted, since it does not print
		}
		if again, err := parseTarget(got.display, true); err != nil || *again != *got {
			t.Errorf("%q: %+v is shown as an address that reads as %+v, %v", raw, got, again, err)
		}
	})
}

// Whatever stands around a password, no error repeats it.
func FuzzTargetHidesUserinfo(f *testing.F) {
	for _, seed := range [][2]string{
		{"https://u:", "h:1"}, {"", "h:1"}, {"http:", "x://y@z"}, {".", "x://y@z"}, {"http://", "h?q"}, {"http://h?", "x"}, {"http://%zz", "%"}, {"http://h/", ""}, {"unix:", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		const password = "Correct7Horse"
		raw := before + password + "@" + after
		if scheme, _, _ := strings.Cut(strings.TrimSpace(raw), ":"); strings.EqualFold(scheme, "unix") && strings.ContainsRune(raw, 0) {
			return // a path has no user
		}
		if _, err := parseTarget(raw, false); err != nil && strings.Contains(err.Error(), password) && !strings.Contains(before+after, password) {
			t.Errorf("%q: %v", raw, err)
		}
	})
}
