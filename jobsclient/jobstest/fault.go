package jobstest

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Fault is something that goes wrong with calls. Several may be in force; a call
// meets the first that fits it.
type Fault struct {
	Method string // which calls; "": all
	Times  int    // how many of them; 0: all until the fault is removed

	// What goes wrong, in the order in which it is done.
	Delay      time.Duration // the call waits
	Hang       bool          // the call waits until its client gives up, the fault is removed or the daemon ends
	Err        error         // the call is refused with this, a gRPC status or a plain error
	LoseAnswer bool          // the call is carried out, then the connection is cut in place of an answer
	HoldAnswer bool          // the call is carried out, and its answer kept back as by Hang
	CutAfter   int           // a watch is cut, with its connection, after so many messages
}

type fault struct {
	Fault
	left    int
	removed chan struct{}
}

// Inject puts a fault in force until remove is called.
func (d *Daemon) Inject(f Fault) (remove func()) {
	in := &fault{Fault: f, left: f.Times, removed: make(chan struct{})}
	d.mu.Lock()
	d.faults = append(d.faults, in)
	d.mu.Unlock()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if i := slices.Index(d.faults, in); i >= 0 {
			d.faults = slices.Delete(d.faults, i, i+1)
		}
		select {
		case <-in.removed:
		default:
			close(in.removed)
		}
	}
}

// fault takes the fault that a call meets, or nil.
func (d *Daemon) fault(method string) *fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.faults {
		if f.Method != "" && f.Method != method || f.Times > 0 && f.left == 0 {
			continue
		}
		f.left--
		return f
	}
	return nil
}

// before does what a fault does to a call before it is carried out.
func (f *fault) before(ctx context.Context) error {
	if f == nil {
		return nil
	}
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-f.removed:
		case <-ctx.Done():
			return ended(ctx)
		}
	}
	if f.Hang {
		if err := f.hold(ctx); err != nil {
			return err
		}
	}
	return f.Err
}

func (f *fault) hold(ctx context.Context) error {
	select {
	case <-f.removed:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// after does what a fault does to a call that was carried out.
func (f *fault) after(ctx context.Context) error {
	if f == nil {
		return nil
	}
	if f.LoseAnswer {
		cut(ctx)
	}
	if f.HoldAnswer {
		return f.hold(ctx)
	}
	return nil
}

func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return status.Error(codes.DeadlineExceeded, "context deadline exceeded")
	}
	return status.Error(codes.Canceled, "context canceled")
}
