package jobsclient_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func TestASocketsPathIsTakenLiterally(t *testing.T) {
	for _, name := range []string{"a b.sock", "a%20b.sock", "a?b#c.sock", "ü@x:y.sock"} {
		for _, prefix := range []string{"unix://", "unix:", " UNIX://"} {
			t.Run(prefix+name, func(t *testing.T) {
				path := filepath.Join(shortDir(t), name)
				d := jobstest.New(t, jobstest.Options{Address: path})
				cfg := d.Config()
				cfg.URL = prefix + path + "\n"
				if err := list(testContext(t))(newClient(t, cfg)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestAnHTTPAddressIsNormalised(t *testing.T) {
	d := jobstest.New(t, jobstest.Options{Transport: jobstest.TCP})
	_, port, err := net.SplitHostPort(d.Address())
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{
		"http://127.0.0.1:" + port, "http://127.0.0.1:" + port + "/", " http://127.0.0.1:" + port + "\n", "HTTP://127.0.0.1:" + port, "http://localhost:" + port,
	} {
		cfg := d.Config()
		cfg.URL, cfg.Token = url, " "+cfg.Token+"\n"
		if err := list(testContext(t))(newClient(t, cfg)); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestAnIPv6AddressMayHaveAZone(t *testing.T) {
	loopback := slices.IndexFunc(interfaces(t), func(i net.Interface) bool { return i.Flags&net.FlagLoopback != 0 })
	zone := "%25" + interfaces(t)[max(0, loopback)].Name
	cfg := jobsclient.Config{URL: "http://[::1" + zone + "]:1", Token: "t0ken"}
	err := list(testContext(t))(newClient(t, cfg))
	if !errors.Is(err, jobsclient.ErrUnavailable) {
		t.Errorf("where nothing listens: %v", err)
	}
	plain(t, err)
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		return // a machine without IPv6
	} else if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	d := jobstest.New(t, jobstest.Options{Transport: jobstest.TCP, Address: "[::1]:0"})
	cfg = d.Config()
	for _, url := range []string{d.URL(), strings.Replace(d.URL(), "]", zone+"]", 1)} {
		cfg.URL = url
		if err := list(testContext(t))(newClient(t, cfg)); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func interfaces(t *testing.T) []net.Interface {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil || len(all) == 0 {
		t.Fatalf("no network interfaces: %v", err)
	}
	return all
}

func TestABadAddressIsReportedByEachCall(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:5500", "/run/x.sock", "unix://run/x.sock", "unix:x", "ftp://h", "http://", "http://h:0", "http://h:70000", "http://h:5500/path", "http://h?x=y", "http://[::1"} {
		c := newClient(t, jobsclient.Config{URL: url, Token: "t0ken"})
		ctx := testContext(t)
		for _, call := range []func(*jobsclient.Client) error{list(ctx), get(ctx, "job_1"), wait(ctx, "job_1"), cancel(ctx, "job_1"), submit(ctx, "x")} {
			err := call(c)
			if !errors.Is(err, jobsclient.ErrInvalidArgument) || !strings.Contains(err.Error(), strings.TrimSuffix(url, "?x=y")) {
				t.Errorf("%q: %v", url, err)
			}
			plain(t, err)
		}
	}
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy"} {
		t.Setenv(name, "http://127.0.0.1:9")
	}
	t.Setenv("NO_PROXY", "")
	hosts := map[string]string{"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1"}
	// Only a host name that is not loopback's would go to a proxy: the machine's
	// own, where it has one.
	if name, err := os.Hostname(); err == nil {
		if addresses, err := net.LookupHost(name); err == nil {
			hosts[name] = addresses[0]
		}
	}
	for host, address := range hosts {
		d := jobstest.New(t, jobstest.Options{Transport: jobstest.TCP, Address: net.JoinHostPort(address, "0")})
		_, port, err := net.SplitHostPort(d.Address())
		if err != nil {
			t.Fatal(err)
		}
		cfg := d.Config()
		cfg.URL, cfg.AllowPlaintext = "http://"+host+":"+port, true
		if err := list(testContext(t))(newClient(t, cfg)); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}
