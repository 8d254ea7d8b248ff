package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"charm.land/fantasy"
	"golang.org/x/term"
)

// Colours, as terminals know them.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
)

// block is a part of what is printed. A blank line stands before one that does
// not belong to the one above it.
type block int

const (
	blockHeader block = iota
	blockText
	blockCall
	blockResult
	blockFooter
)

// printer prints what happens. Its methods are callbacks of
// [fantasy.AgentStreamCall]; results may come from several goroutines. An error
// of a callback, as when nobody reads the output any more, ends the run.
type printer struct {
	w     io.Writer
	full  bool
	color bool

	mu      sync.Mutex
	last    block
	midLine bool           // text without a line end stands on the screen
	number  map[string]int // of a call, by its id
	calls   int            // printed; some of them again, if a service had to be asked again
	results int
	failed  int
}

func newPrinter(w io.Writer, full bool) *printer {
	return &printer{w: w, full: full, color: wantsColor(w), number: map[string]int{}}
}

// wantsColor follows https://no-color.org.
func wantsColor(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

func (p *printer) header(model string, opts *options, sets toolsets) error {
	dir, err := filepath.Abs(opts.workDir)
	if err != nil {
		return err
	}
	var lines strings.Builder
	line := func(label, value string) { fmt.Fprintf(&lines, "%-8s %s\n", label+":", printable(value)) }
	line("model", model)
	line("workdir", dir)
	for _, set := range sets {
		line(set.label, set.summary)
	}
	line("prompt", opts.prompt)
	return p.printf(blockHeader, "%s", lines.String())
}

func (p *printer) text(_, delta string) error {
	if delta == "" {
		return nil
	}
	return p.printf(blockText, "%s", printable(delta))
}

func (p *printer) endText(string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.endLine()
}

func (p *printer) call(c fantasy.ToolCallContent) error {
	p.mu.Lock()
	p.calls++
	n := p.calls
	p.number[c.ToolCallID] = n
	p.mu.Unlock()
	name := p.paint(bold, fmt.Sprintf("[%d] %s", n, printable(c.ToolName)))
	return p.printf(blockCall, "%s %s\n", name, p.input(c.Input))
}

// input is what a tool is called with, in one line.
func (p *printer) input(input string) string {
	var line bytes.Buffer
	if json.Compact(&line, []byte(input)) != nil {
		line.Reset()
		line.WriteString(strings.ReplaceAll(input, "\n", " "))
	}
	if p.full {
		return printable(line.String())
	}
	return cutLine(printable(line.String()))
}

func (p *printer) result(r fantasy.ToolResultContent) error {
	o := newOutcome(r)
	p.mu.Lock()
	n := p.number[r.ToolCallID]
	p.results++
	color := bold
	if o.failed {
		p.failed++
		color = bold + ";" + red
	}
	p.mu.Unlock()
	shown := printable(o.text)
	if !p.full {
		shown = shorten(shown)
	}
	head := p.paint(color, fmt.Sprintf("[%d] %s", n, o.summary))
	return p.printf(blockResult, "%s\n%s", head, p.indent(shown))
}

func (p *printer) indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(s, "\n")) {
		line = strings.TrimRight(line, "\n")
		if line != "" {
			b.WriteString(p.paint(faint, "    "+line))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (p *printer) retry(err *fantasy.ProviderError, delay time.Duration) {
	reason := "the service cannot be reached"
	if err != nil && err.StatusCode != 0 {
		reason = fmt.Sprintf("the service answered %d", err.StatusCode)
	}
	_ = p.printf(blockFooter, "%s; asking again in %v\n", reason, delay.Round(time.Second/10))
}

func (p *printer) footer(r *fantasy.AgentResult) error {
	tokens := ""
	if u := r.TotalUsage; u.InputTokens+u.OutputTokens > 0 {
		tokens = fmt.Sprintf("; tokens: %d read, %d written", u.InputTokens, u.OutputTokens)
	}
	return p.printf(blockFooter, "steps: %d; calls: %d, %d of them failed%s\n", len(r.Steps), p.results, p.failed, tokens)
}

// printf writes a piece of a block.
func (p *printer) printf(b block, format string, args ...any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b != blockText || p.last != blockText {
		if err := p.endLine(); err != nil {
			return err
		}
	}
	out := fmt.Sprintf(format, args...)
	resultOfCall := p.last == blockCall && b == blockResult
	if b != p.last && !resultOfCall {
		out = "\n" + out
	}
	p.last = b
	p.midLine = !strings.HasSuffix(out, "\n")
	_, err := io.WriteString(p.w, out)
	return err
}

func (p *printer) endLine() error {
	if !p.midLine {
		return nil
	}
	p.midLine = false
	_, err := io.WriteString(p.w, "\n")
	return err
}

func (p *printer) paint(color, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}
