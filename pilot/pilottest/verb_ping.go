package pilottest

import (
	"errors"
	"fmt"
	"time"
)

const pingPause = time.Second

// ping reports failures in its rows. The timeout is looked at between packets
// only, so one packet may take far longer.
func (p *process) ping() (output, error) {
	if len(p.flags.pos) == 0 {
		return output{}, p.usageError()
	}
	defaultTimeout := 5 * time.Second
	if !p.gen.modern() {
		defaultTimeout = 30 * time.Second
	}
	var id uint32
	err := p.withDaemon(func(s *state, _ *node) (err error) {
		id, err = p.peer(s, p.flags.pos[0], "not_found")
		return err
	})
	if err != nil {
		return output{}, err
	}
	count, err := p.flags.int("count", 4)
	if err != nil {
		return output{}, err
	}
	timeout, err := p.flags.duration("timeout", defaultTimeout)
	if err != nil {
		return output{}, err
	}
	if err := p.gate(id); err != nil {
		return output{}, err
	}
	if count == 0 && p.gen.modern() {
		return output{raw: true, stderr: []byte("panic: runtime error: integer divide by zero\n\ngoroutine 1 [running]:\nmain.main()\n"), status: 2}, nil
	}
	return p.pings(id, count, timeout)
}

func (p *process) pings(id uint32, count int, timeout time.Duration) (output, error) {
	start := time.Now()
	over := func() bool { return p.simulatedSince(start) >= timeout }
	var rows []map[string]any
	failed, timedOut := 0, false
	for seq := 0; seq < count; seq++ {
		if timedOut = over(); timedOut {
			break
		}
		row, err := p.onePing(id, seq)
		if err != nil {
			return output{}, err
		}
		rows = append(rows, row)
		if row["error"] != nil {
			failed++
		}
		if seq < count-1 || row["error"] != nil && !p.gen.modern() {
			p.sleep(pingPause)
		}
	}
	data := map[string]any{"target": FormatAddress(0, id), "results": rows, "timeout": timedOut}
	if p.gen.modern() {
		data["to"] = data["target"]
	}
	out := p.ok(data)
	if p.gen.modern() && len(rows) > 0 && failed == len(rows) && !timedOut {
		out.status = 1
	}
	return out, nil
}

func (p *process) onePing(id uint32, seq int) (map[string]any, error) {
	start := time.Now()
	err := p.dial(id)
	var derr *dialError
	if errors.As(err, &derr) {
		p.sleep(derr.took)
		return map[string]any{"seq": seq, "error": "dial: daemon: " + derr.reason}, nil
	}
	if err != nil {
		return nil, err
	}
	mute := false
	_ = p.net.update(func(s *state) error { mute = s.byID(id).Behaviour.NoEcho; return nil })
	rtt := float64(time.Since(start).Microseconds()) / 1000
	if mute && !p.gen.modern() {
		return nil, errHang
	}
	if mute {
		p.sleep(10 * time.Second)
		return map[string]any{"seq": seq, "rtt_ms": rtt, "error": "echo: timeout"}, nil
	}
	return map[string]any{"seq": seq, "rtt_ms": rtt, "bytes": len(fmt.Sprintf("ping-%d", seq))}, nil
}
