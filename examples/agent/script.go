package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/fantasytools/fantasytools/internal/scripted"
)

//go:embed script.txt
var builtInScript []byte

// readScript returns the turns of the script, the built-in one if path is "".
func readScript(path string) ([]scripted.Turn, error) {
	if path == "" {
		return parseScript("script.txt", builtInScript)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the script: %w", err)
	}
	return parseScript(path, src)
}

// parseScript reads a script: what a model says, turn by turn. A blank line ends
// a turn. In a turn each line is one of
//
//	# a comment
//	> what the model says
//	tool {"the":"input, as JSON"}
//
// The calls of one turn are made together; their results are there in the next:
// a string "$name" in an input stands for the field name of the last result that
// is a JSON object with this field.
// The last turn, and no other, is only text: with it the run ends.
func parseScript(name string, src []byte) ([]scripted.Turn, error) {
	p := scriptParser{name: name}
	lines := bufio.NewScanner(bytes.NewReader(src))
	lines.Buffer(nil, len(src)+1)
	for lines.Scan() {
		p.line++
		if err := p.read(strings.TrimSpace(lines.Text())); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.endTurn()
	if n := len(p.turns); n == 0 || len(p.turns[n-1].Calls) > 0 {
		return nil, fmt.Errorf("%s: the last turn must be text alone, a line that begins with >", name)
	}
	return p.turns, nil
}

type scriptParser struct {
	name  string
	line  int
	turns []scripted.Turn
	turn  scripted.Turn // the one being read
}

func (p *scriptParser) read(line string) error {
	switch {
	case line == "":
		p.endTurn()
		return nil
	case line[0] == '#':
		return nil
	case line[0] == '>':
		return p.text(strings.TrimSpace(line[1:]))
	}
	return p.call(line)
}

func (p *scriptParser) text(text string) error {
	if len(p.turn.Calls) > 0 {
		return p.errorf("text stands before the calls of a turn; a blank line begins a new one")
	}
	if text == "" {
		return p.errorf("there is no text behind the >")
	}
	if err := p.begin(); err != nil {
		return err
	}
	if p.turn.Text != "" {
		p.turn.Text += "\n"
	}
	p.turn.Text += text
	return nil
}

func (p *scriptParser) call(line string) error {
	if err := p.begin(); err != nil {
		return err
	}
	tool, input, _ := strings.Cut(line, " ")
	input = strings.TrimSpace(input)
	if !json.Valid([]byte(input)) {
		return p.errorf("a call is the tool's name and its input as JSON in one line, as in: %s {\"args\":[\"-l\"]}", tool)
	}
	p.turn.Calls = append(p.turn.Calls, scripted.Call{Tool: tool, Input: input})
	return nil
}

// begin makes sure that the turn before lets the run go on.
func (p *scriptParser) begin() error {
	if n := len(p.turns); n > 0 && len(p.turns[n-1].Calls) == 0 {
		return p.errorf("the turn before this one calls no tool, which ends the run")
	}
	return nil
}

func (p *scriptParser) endTurn() {
	if p.turn.Text == "" && len(p.turn.Calls) == 0 {
		return
	}
	p.turns = append(p.turns, p.turn)
	p.turn = scripted.Turn{}
}

func (p *scriptParser) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{p.name, p.line}, args...)...)
}
