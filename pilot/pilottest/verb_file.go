package pilottest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	maxFrame12   = 1_048_569 // with the name's length, in one request to a 1.2 daemon
	maxFrame     = 64 << 20  // a single frame of newer daemons
	maxFrameOld  = 16 << 20  // what a 1.2 receiver reads
	streamUnable = 5 * time.Second
)

// file is one run of send-file.
type file struct {
	p    *process
	id   uint32
	path string
	size int64
}

func (p *process) sendFile() (output, error) {
	if p.gen == V116 && (p.flags.has("enterprise-control") || p.flags.has("governed-resource")) {
		return output{}, fail("invalid_argument", "send-file: the enterprise flags are retired")
	}
	if len(p.flags.pos) < 2 {
		return output{}, p.usageError()
	}
	timeout, err := p.flags.duration("timeout", 90*time.Second)
	if err != nil || timeout <= 0 {
		return output{}, fail("invalid_argument", "invalid duration for --timeout: %v", p.flags.vals["timeout"])
	}
	f := &file{p: p, path: p.flags.pos[1]}
	err = p.withDaemon(func(s *state, _ *node) (err error) {
		f.id, err = p.peer(s, p.flags.pos[0], "invalid_argument")
		return err
	})
	if err != nil {
		return output{}, err
	}
	if err := f.check(); err != nil {
		return output{}, err
	}
	if err := p.gate(f.id); err != nil {
		return output{}, err
	}
	return f.send()
}

// check reads the file as pilotctl does before it connects. 1.2 has no idea of
// directories and devices: it just reads.
func (f *file) check() error {
	path := f.path
	if !filepath.IsAbs(path) && path != "" {
		path = filepath.Join(f.p.dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case f.path == "" || errors.Is(err, os.ErrNotExist):
		return notFoundFile(f.path)
	case errors.Is(err, os.ErrPermission):
		return fail("internal", "permission denied: %s", f.path)
	case err != nil:
		return fail("internal", "stat: %v", err)
	case info.IsDir() && f.p.gen.modern():
		return fail("invalid_argument", "%s is a directory", f.path)
	case info.IsDir():
		return fail("internal", "read file: read %s: is a directory", f.path)
	}
	f.path = path
	f.size = info.Size()
	src, err := os.Open(path)
	if err != nil {
		return fail("internal", "permission denied: %s", f.path)
	}
	return src.Close()
}

func (f *file) send() (output, error) {
	p := f.p
	if err := p.dial(f.id); err != nil {
		var derr *dialError
		if errors.As(err, &derr) {
			return output{}, p.connectFailure(f.id, "connect to", "data exchange port 1001", derr)
		}
		return output{}, err
	}
	if p.gen == V12 && f.size > int64(maxFrame12-len(filepath.Base(f.path))) {
		return output{}, fail("connection_failed", "send failed: write unix @->%s: write: broken pipe", p.socket)
	}
	var peer node
	if err := p.net.update(func(s *state) error { peer = *s.byID(f.id); return nil }); err != nil {
		return output{}, err
	}
	if !p.gen.modern() || p.flags.bool("no-stream") || !peer.Generation.modern() {
		return f.single(peer)
	}
	return f.stream(peer)
}

// stream is the transfer in chunks that newer versions know.
func (f *file) stream(peer node) (output, error) {
	start := time.Now()
	if why := peer.Behaviour.refuses(); why != "" {
		return output{}, fail("connection_failed", "streamed send-file failed: %s", why).
			withHint("ping the peer: pilotctl ping %s; raise --timeout", FormatAddress(0, f.id))
	}
	sum, err := f.store()
	if err != nil {
		return output{}, fail("connection_failed", "streamed send-file failed: %v", err).withHint("ping the peer; raise --timeout")
	}
	ms := max(time.Since(start).Milliseconds(), 1)
	return f.p.ok(map[string]any{
		"filename": filepath.Base(f.path), "bytes": f.size, "bytes_sent": f.size, "bytes_resumed": 0, "sha256": sum,
		"destination": FormatAddress(0, f.id), "elapsed_ms": ms, "throughput_mbps": mbps(f.size, ms),
		"transport": "filestream", "verified": true,
	}), nil
}

// single is the transfer in one frame.
func (f *file) single(peer node) (output, error) {
	start := time.Now()
	var out output
	if f.p.gen.modern() && !f.p.flags.bool("no-stream") {
		f.p.sleep(streamUnable)
		out.stderr = []byte("the receiver does not take streams, sending in one frame\n")
	}
	if f.p.gen.modern() && f.size > maxFrame {
		return out, fail("invalid_argument", "file of %d bytes is too large for one frame of %d", f.size, maxFrame)
	}
	if !peer.Generation.modern() && f.size > maxFrameOld {
		return out, fail("connection_failed", "no acknowledgement from %s", FormatAddress(0, f.id)).withHint("the receiver may have crashed: pilotctl ping")
	}
	ack, err := f.ack(peer)
	if err != nil {
		return out, err
	}
	data := map[string]any{"filename": filepath.Base(f.path), "bytes": f.size, "destination": FormatAddress(0, f.id)}
	if ack != "" {
		data["ack"] = ack
	}
	if f.p.gen.modern() {
		ms := max(time.Since(start).Milliseconds(), 1)
		data["elapsed_ms"], data["throughput_mbps"] = ms, mbps(f.size, ms)
	}
	done := f.p.ok(data)
	done.stderr = out.stderr
	return done, nil
}

// ack is what the receiver says. 1.2 reports a refusal as success.
func (f *file) ack(peer node) (string, error) {
	why := peer.Behaviour.refuses()
	switch {
	case why != "" && f.p.gen.modern():
		return "", fail("internal", "receiver answered: ERR FILE save failed: %s", why)
	case why != "":
		return "ERR FILE save failed: " + why, nil
	}
	if _, err := f.store(); err != nil {
		return "ERR FILE save failed: " + err.Error(), nil //nolint:nilerr // the receiver's failure is its answer
	}
	switch {
	case peer.Behaviour.NoAck && f.p.gen.modern():
		return "", fail("timeout", "no acknowledgement from %s", FormatAddress(0, f.id)).withHint("the receiver may have crashed; try a longer --timeout")
	case peer.Behaviour.NoAck:
		return "", nil
	}
	return fmt.Sprintf("ACK FILE %d bytes", f.size), nil
}

// store writes the file into the receiver's directory and returns its digest.
func (f *file) store() (sum string, err error) {
	var dst string
	err = f.p.net.update(func(s *state) error {
		peer := s.byID(f.id)
		dst = filepath.Join(peer.received(), storedName(peer, filepath.Base(f.path)))
		return os.MkdirAll(peer.received(), 0o700)
	})
	if err != nil {
		return "", err
	}
	src, err := os.Open(f.path)
	if err != nil {
		return "", err
	}
	defer func() { _ = src.Close() }()
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	f.size, err = io.Copy(io.MultiWriter(out, h), src)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, out.Close())
}

// storedName puts the time before the extension.
func storedName(n *node, name string) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + n.stamp() + ext
}

func mbps(bytes, ms int64) float64 { return float64(bytes) * 8 / 1000 / float64(ms) }
