package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
)

func settled(t *testing.T, r role, args ...string) daemon.Config {
	t.Helper()
	o := newOptions(r)
	if _, err := parse(o.flags(), about(r.name), args, streams{}); err != nil {
		t.Fatal(err)
	}
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	if err := o.settle(); err != nil {
		t.Fatal(err)
	}
	return o.config
}

func TestFlagsFillTheConfig(t *testing.T) {
	dir := t.TempDir()
	got := settled(t, roleServe, "-state", dir)
	want := daemon.Config{
		StateDir: dir, Slots: 10, Drain: 30 * time.Second, MaxRunTime: 24 * time.Hour, Retention: 24 * time.Hour,
		LeaseTTL: 15 * time.Second, MaxQueue: 100_000, Replicas: 1, Prefix: "jobsd", OutputHead: 8 << 20, OutputTail: 8 << 20, MaxStdin: 16 << 20, MaxArgs: 256 << 10,
		MaxRecordBytes: 1 << 30, MaxOutputBytes: 8 << 30,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the defaults (-want +got):\n%s", diff)
	}
	got = settled(t, roleFront, "-state", dir, "-nats", "nats://a,nats://b", "-nats-creds", "c", "-replicas", "3", "-prefix", "p",
		"-socket", filepath.Join(dir, "s"), "-listen", ":5500", "-tls-cert", "cert", "-tls-key", "key", "-metrics", "127.0.0.1:1", "-drain", "1m",
		"-max-run-time", "2h", "-retention", "3h", "-max-queue", "7", "-output-bytes", "3", "-max-record-bytes", "1g", "-max-output-bytes", "2GiB",
		"-max-stdin", "1MiB", "-max-args", "4k", "-lease", "5s")
	want = daemon.Config{
		Role: daemon.Front, StateDir: dir, NATS: "nats://a,nats://b", NATSCreds: "c", Replicas: 3, Prefix: "p",
		Socket: filepath.Join(dir, "s"), Listen: ":5500", TLSCert: "cert", TLSKey: "key", Metrics: "127.0.0.1:1", Slots: 10, Drain: time.Minute,
		MaxRunTime: 2 * time.Hour, Retention: 3 * time.Hour, MaxQueue: 7, OutputHead: 2, OutputTail: 1, MaxRecordBytes: 1 << 30, MaxOutputBytes: 2 << 30,
		MaxStdin: 1 << 20, MaxArgs: 4 << 10, LeaseTTL: 5 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a front (-want +got):\n%s", diff)
	}
	got = settled(t, roleWorker, "-state", dir, "-nats", "nats://a", "-slots", "2")
	if got.Role != daemon.Worker || got.Slots != 2 {
		t.Errorf("a worker: %+v", got)
	}
	if got := settled(t, roleServe, "-fsync", "-socket", "-", "-listen", "127.0.0.1:0"); !got.Fsync || got.Socket != "-" {
		t.Errorf("fsync and no socket: %+v", got)
	}
}

func TestTheStateDirectoryIsWhereTheSystemWantsIt(t *testing.T) {
	t.Setenv("HOME", "/home/you")
	t.Setenv("XDG_STATE_HOME", "relative/is/ignored")
	dir, err := defaultState()
	if err != nil || filepath.Base(dir) != "jobsd" || !filepath.IsAbs(dir) {
		t.Errorf("got %q, %v", dir, err)
	}
	s := state{}
	if err := s.resolve(); err != nil || s.dir != dir || s.startWith() != "jobsd serve" {
		t.Errorf("got %+v, %v", s, err)
	}
	s = state{dir: "/it's mine"}
	if err := s.resolve(); err != nil || s.startWith() != `jobsd serve -state '/it'\''s mine'` {
		t.Errorf("got %q, %v", s.startWith(), err)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]size{
		"0": 0, "1": 1, "1048576": 1 << 20, "512k": 512 << 10, "512K": 512 << 10, "16MiB": 16 << 20, "16 mb": 16 << 20, "2g": 2 << 30, "1.5k": 1536, "3TiB": 3 << 40, "7B": 7,
	} {
		var s size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%q: got %d, %v, want %d", text, s, err, want)
		}
		var again size
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%d is written %q and read %d, %v", s, s.String(), again, err)
		}
	}
	for _, text := range []string{"", "-1", "k", "1x", "1ib", "1e3", "99999999999999g", "1 2"} {
		var s size
		if err := s.Set(text); err == nil {
			t.Errorf("%q is read as %d", text, s)
		}
	}
}
