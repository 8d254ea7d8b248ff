package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/charmbracelet/x/ansi"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"github.com/fantasytools/fantasytools/internal/text"
)

// Colours, as terminals know them.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// defaultWidth is how many columns there are where no terminal tells.
const defaultWidth = 80

// painter knows what a writer can show.
type painter struct {
	color bool
	width int // columns
}

// painterFor colours only terminals, and not where https://no-color.org or a
// dumb terminal says no.
func painterFor(w io.Writer) painter {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return painter{width: defaultWidth}
	}
	p := painter{color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", width: defaultWidth}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		p.width = width
	}
	return p
}

func (p painter) in(color, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

// line cuts a text to what stands in one line beside the columns that are taken.
func (p painter) line(s string, taken int) string {
	return ansi.Truncate(s, max(p.width-taken, 20), "…")
}

// printJSON prints a value as the one JSON document of the run.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	a.answered = true
	return written(e.Encode(v))
}

func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, format, args...)
	return written(err)
}

// note tells of something beside the result. It may quote a file or an argument,
// which must not steer the terminal.
func (a *app) note(what string) { _, _ = fmt.Fprintf(a.stderr, "toolbox: %s\n", text.Clean(what)) }

func written(err error) error {
	if err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

// newLogger logs warnings, and all that the tools do if that is wanted.
func newLogger(w io.Writer, verbose bool) *zap.Logger {
	level := zap.WarnLevel
	if verbose {
		level = zap.DebugLevel
	}
	encoder := zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level))
}
