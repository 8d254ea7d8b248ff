// Package run runs one child process within bounds: of time, of memory, and of
// what it may leave behind.
//
// The child runs without a shell, in a process group of its own, and, on Unix,
// without a terminal, so that a program that asks for a password on the terminal
// fails instead of waiting for ever. When its time is up or the
// context ends, the group is asked to end with SIGTERM, and killed with SIGKILL
// after a grace period. Whatever is left of the group when the child itself has
// ended is killed too, before its process id can be given to anyone else.
//
// Output is drained while the child writes; only its head and its tail are
// kept. A process that left the group (a daemon) and holds a pipe open cannot
// delay the result by more than pipeDelay.
//
// On Windows there is no SIGTERM: the child and what it started form a job
// object, which is terminated at once.
package run

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// DefaultGrace is how long a child may take to end after SIGTERM.
	DefaultGrace = 2 * time.Second

	// pipeDelay is how long a result waits, once the child has ended, for a
	// pipe that a process outside its group keeps open.
	pipeDelay = 250 * time.Millisecond

	// killDelay is how long SIGKILL may take. It has no effect on a child that
	// runs as another user or hangs in the kernel; that child is given up then.
	killDelay = 5 * time.Second
)

// Command says what to run. Path, Dir and Env are taken as they are.
type Command struct {
	Path  string   // absolute path of the program
	Name  string   // argv[0], by which the program calls itself in messages; "": Path
	Args  []string // argv after the program's name
	Dir   string   // working directory, absolute
	Env   []string // the whole environment; nil: an empty one
	Stdin string   // the child's standard input; "": the null device

	Timeout time.Duration // 0 or negative: none
	Grace   time.Duration // between SIGTERM and SIGKILL; 0: DefaultGrace, negative: SIGKILL at once

	// Head and Tail are how many bytes of each stream are kept, from its start
	// and from its end. A stream of at most Head + Tail bytes is kept whole.
	Head, Tail int

	// Extend, if set, is asked once, when Head bytes of stdout are full, how
	// many bytes of the head to keep of a stream that begins like this. An
	// answer of at most Head changes nothing.
	Extend func(head []byte) int

	// Stdout and Stderr, if set, are called with each piece of a stream as it is
	// read: every byte that the Result counts, once and in order, whether it is kept
	// or not. They run on the goroutine that drains the pipe, so a slow one holds the
	// child up, the calls of one stream never overlap, and those of the two streams
	// may. The piece is overwritten afterwards. None is called after Run has
	// returned, not for a child that was given up and writes on either: Run waits for
	// the call that runs then, so one that never returns holds Run up too.
	Stdout, Stderr func(piece []byte)
}

// Output is what is kept of a stream.
type Output struct {
	Head, Tail []byte // the stream is Head, then Missing bytes, then Tail
	Missing    int64  // bytes that were read and not kept
}

// Size is how many bytes the child wrote.
func (o Output) Size() int64 { return int64(len(o.Head)+len(o.Tail)) + o.Missing }

// Result is how a child ended and what it printed.
type Result struct {
	PID       int    // process id that the child had
	ExitCode  int    // -1 when a signal ended the child, or when it was given up
	Signal    string // name of that signal ("SIGKILL"), else ""
	TimedOut  bool   // Timeout ended it
	Cancelled bool   // the context ended it
	GivenUp   bool   // it could not be killed and may still run
	Stdout    Output
	Stderr    Output
	Duration  time.Duration
}

// Run starts the child, waits for it and reaps its process group. It returns an
// error only if no child ran: a *StartError, or the context's error if that had
// ended. A child that was seen to end by itself is reported as such even if its
// time was up or the context had ended by then; one that ends in the very moment
// in which it is asked to counts as stopped, whatever its exit code.
func Run(ctx context.Context, c Command) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	began := time.Now()
	p, err := start(ctx, c)
	if err != nil {
		return nil, err
	}
	res := &Result{PID: p.cmd.Process.Pid, ExitCode: -1}
	p.await(ctx, c, res)
	res.Stdout, res.Stderr = p.stdout.output(), p.stderr.output()
	res.Duration = time.Since(began)
	return res, nil
}

// process is a started child.
type process struct {
	cmd            *exec.Cmd
	group          group
	stdout, stderr *capture
	ended          chan struct{}    // closed when the child has ended and its group is reaped
	state          *os.ProcessState // set before that where the group had to wait for it
}

// start starts the child, and again for a short while if its file is being
// written: a fork elsewhere in this process holds the descriptor of a file
// that was just closed until its exec (ETXTBSY).
func start(ctx context.Context, c Command) (*process, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		p, err := spawn(c)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, syscall.ETXTBSY) || wait > 256*time.Millisecond {
			return nil, startError(c, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func spawn(c Command) (*process, error) {
	p := &process{
		stdout: newCapture(c.Head, c.Tail, c.Extend),
		stderr: newCapture(c.Head, c.Tail, nil),
		ended:  make(chan struct{}),
	}
	p.stdout.each, p.stderr.each = c.Stdout, c.Stderr
	p.cmd = &exec.Cmd{
		Path: c.Path, Args: append([]string{cmp.Or(c.Name, c.Path)}, c.Args...), Dir: c.Dir, Env: c.Env,
		Stdout: p.stdout, Stderr: p.stderr,
		WaitDelay:   pipeDelay,
		SysProcAttr: processAttributes(),
	}
	if c.Env == nil {
		p.cmd.Env = []string{}
	}
	if c.Stdin != "" {
		p.cmd.Stdin = strings.NewReader(c.Stdin)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	leader := newGroup(p.cmd.Process)
	p.group = leader
	go func() {
		p.state = leader.waitLeader()
		leader.reap()
		close(p.ended)
	}()
	return p, nil
}

// await waits for the child, ends it if it must, and fills in how it ended.
func (p *process) await(ctx context.Context, c Command, res *Result) {
	var timeout <-chan time.Time
	if c.Timeout > 0 {
		timer := time.NewTimer(c.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-p.ended:
	case <-timeout:
		res.TimedOut, res.GivenUp = p.stop(c.Grace)
	case <-ctx.Done():
		res.Cancelled, res.GivenUp = p.stop(c.Grace)
	}
	if res.GivenUp {
		go func() { // ends with the child
			<-p.ended
			_ = p.cmd.Wait()
		}()
		return
	}
	p.awaitOutput()
	_ = p.cmd.Wait() // its error repeats the state, or is about a pipe
	res.ExitCode, res.Signal = exitStatus(cmp.Or(p.cmd.ProcessState, p.state))
}

// awaitOutput waits until the output of the ended child is read. When pipeDelay
// is over, what the pipes hold is the rest of it, whoever keeps them open. It is
// read before os/exec's Wait, which would close them unread.
func (p *process) awaitOutput() {
	timer := time.NewTimer(pipeDelay)
	defer timer.Stop()
	for _, c := range []*capture{p.stdout, p.stderr} {
		select {
		case <-c.drained:
			continue
		case <-timer.C:
		}
		if p.stdout.stop() && p.stderr.stop() {
			<-p.stdout.drained
			<-p.stderr.drained
		}
		break
	}
	p.cmd.WaitDelay = time.Millisecond // for what is left, a standard input that nobody reads
}

// stop ends the group. It stops nothing if the child has ended by itself, which
// a select that finds both cases ready may not have seen. A child that cannot be
// killed is given up.
func (p *process) stop(grace time.Duration) (stopped, givenUp bool) {
	select {
	case <-p.ended:
		return false, false
	default:
	}
	if grace == 0 {
		grace = DefaultGrace
	}
	if grace > 0 && p.group.terminate() && p.endedWithin(grace) {
		return true, false
	}
	p.group.kill()
	return true, !p.endedWithin(killDelay)
}

func (p *process) endedWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}
