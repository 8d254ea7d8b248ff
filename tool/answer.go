package tool

import (
	"fmt"
	"strings"
	"time"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/run"
	"github.com/fantasytools/fantasytools/internal/text"
)

// answer is what a model is told about a program that has run.
type answer struct {
	def            *Def
	run            *run.Result
	stdout, stderr shown
	result         Result
}

// shown is a stream as a model may see it: its text, or what it is instead.
type shown struct {
	stream    *text.Stream // empty if there is a notice
	notice    string       // "" for text
	raw       run.Output
	mediaType string // "" for text
}

func newAnswer(d *Def, res *run.Result) *answer {
	a := &answer{def: d, run: res, stdout: show(res.Stdout), stderr: show(res.Stderr)}
	a.result = Result{
		ExitCode: res.ExitCode, Signal: res.Signal, TimedOut: res.TimedOut, Cancelled: res.Cancelled, GivenUp: res.GivenUp,
		DurationMS:  res.Duration.Milliseconds(),
		StdoutBytes: res.Stdout.Size(), StderrBytes: res.Stderr.Size(), MediaType: a.stdout.mediaType,
	}
	return a
}

// show finds out what a stream holds. What is not text is announced with its
// type and size.
func show(out run.Output) shown {
	s := shown{raw: out, mediaType: text.BinaryType(out.Head)}
	if s.mediaType == "" {
		s.stream = text.NewStream(out.Head, out.Tail, out.Missing)
		return s
	}
	s.notice = fmt.Sprintf("(%d bytes of %s, which is not shown; write it to a file, or convert it to text)", out.Size(), s.mediaType)
	s.stream = text.NewStream(nil, nil, 0)
	return s
}

func (s *shown) blank() bool { return s.notice == "" && s.stream.Blank() }

// cut returns at most limit bytes of the stream, notices aside.
func (s *shown) cut(limit int) string {
	if s.notice != "" {
		return s.notice
	}
	return s.stream.Cut(limit)
}

// image returns the bytes of an image that a model can be handed, else nil.
func (s *shown) image() []byte {
	if !isImage(s.mediaType) || s.raw.Size() > MaxImage {
		return nil
	}
	return append(s.raw.Head, s.raw.Tail...)
}

// isImage reports whether providers take images of this type.
func isImage(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// keepImage lets an image be kept up to MaxImage bytes.
func keepImage(head []byte) int {
	if isImage(text.BinaryType(head)) {
		return MaxImage
	}
	return 0
}

func (a *answer) response() fantasy.ToolResponse {
	resp := a.failure()
	if a.succeeded() {
		resp = a.success()
	}
	return fantasy.WithResponseMetadata(resp, a.result)
}

func (a *answer) succeeded() bool {
	return a.run.ExitCode == 0 && !a.run.TimedOut && !a.run.Cancelled && !a.run.GivenUp
}

func (a *answer) success() fantasy.ToolResponse {
	if image := a.stdout.image(); image != nil {
		return fantasy.NewImageResponse(image, a.stdout.mediaType)
	}
	limit := a.def.maxOutput()
	switch {
	case !a.stdout.blank():
		return fantasy.NewTextResponse(a.stdout.cut(limit))
	case !a.stderr.blank():
		return fantasy.NewTextResponse("stderr:\n" + a.stderr.cut(limit))
	}
	return fantasy.NewTextResponse("(exit 0, no output)")
}

// failure says what happened and shows both streams, which share the limit.
func (a *answer) failure() fantasy.ToolResponse {
	var b strings.Builder
	b.WriteString(a.reason())
	if a.stdout.blank() && a.stderr.blank() {
		b.WriteString(", no output")
		return fantasy.NewTextErrorResponse(b.String())
	}
	forStdout, forStderr := text.Share(a.def.maxOutput(), a.stdout.stream, a.stderr.stream)
	section(&b, "stdout", &a.stdout, forStdout)
	section(&b, "stderr", &a.stderr, forStderr)
	return fantasy.NewTextErrorResponse(b.String())
}

func section(b *strings.Builder, name string, s *shown, limit int) {
	if s.blank() {
		return
	}
	if !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "\n%s:\n%s", name, s.cut(limit))
}

// reason says how a call failed. The two ways in which it was ended from outside
// come first: the exit code then only tells how the program took it.
func (a *answer) reason() string {
	after := a.run.Duration.Round(time.Millisecond)
	switch {
	case a.run.GivenUp && a.run.TimedOut:
		return fmt.Sprintf("timed out after %v; the program cannot be killed and may still run", a.def.timeout())
	case a.run.GivenUp:
		return fmt.Sprintf("cancelled after %v; the program cannot be killed and may still run", after)
	case a.run.TimedOut:
		return fmt.Sprintf("timed out after %v and was stopped", a.def.timeout())
	case a.run.Cancelled:
		return fmt.Sprintf("cancelled after %v", after)
	case a.run.Signal != "":
		return fmt.Sprintf("killed by signal %s", a.run.Signal)
	}
	return fmt.Sprintf("exit code %d", a.run.ExitCode)
}
