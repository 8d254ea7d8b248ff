package pilottest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// output is what a run prints and its exit status.
type output struct {
	data   map[string]any // of the success envelope
	text   string         // the text form; "": made from data
	fail   *failure
	raw    bool // stdout and stderr are printed as they are
	stdout []byte
	stderr []byte
	status int
	motd   string
}

// textOnly is printed as it is, also with --json.
func textOnly(stdout string) output { return output{raw: true, stdout: []byte(stdout)} }

func (p *process) failed(f *failure) output {
	return output{fail: f, status: 1, motd: p.motd()}
}

func (p *process) ok(data map[string]any) output {
	return output{data: data, motd: p.motd()}
}

// motd is the message of the day, which 1.2 does not know.
func (p *process) motd() (text string) {
	if p.gen.modern() {
		_ = p.net.update(func(s *state) error { text = s.Motd; return nil })
	}
	return text
}

func (p *process) render(out output) (stdout, stderr []byte) {
	switch asJSON := p.json && !p.fault.Plain; {
	case out.raw:
		return out.stdout, out.stderr
	case out.fail != nil && asJSON:
		return out.stdout, append(out.stderr, p.errorEnvelope(out)...)
	case out.fail != nil:
		return out.stdout, append(out.stderr, errorText(out.fail)...)
	case asJSON:
		return append(out.stdout, successEnvelope(out)...), out.stderr
	case out.text != "":
		return []byte(out.text), out.stderr
	}
	return []byte(dataText(out.data)), out.stderr
}

func successEnvelope(out output) []byte {
	env := map[string]any{"status": "ok", "data": out.data}
	if out.motd != "" {
		env["important_update"] = out.motd
	}
	return jsonLine(env)
}

func (p *process) errorEnvelope(out output) []byte {
	env := map[string]any{"status": "error", "code": out.fail.code, "message": out.fail.message}
	if p.gen.modern() {
		env["error"] = out.fail.message
	}
	if out.fail.hint != "" {
		env["hint"] = out.fail.hint
	}
	if out.motd != "" {
		env["important_update"] = out.motd
	}
	maps.Copy(env, out.fail.extra)
	return jsonLine(env)
}

func jsonLine(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte(fmt.Sprintf("pilottest: %v", err))
	}
	return append(data, '\n')
}

func errorText(f *failure) string {
	text := "error: " + f.message + "\n"
	if f.hint != "" {
		text += "hint:  " + f.hint + "\n"
	}
	return text
}

// dataText is the text form of an answer: lists as rows, the rest as lines.
func dataText(data map[string]any) string {
	var b strings.Builder
	var plain map[string]any
	if err := json.Unmarshal(jsonLine(data), &plain); err != nil {
		return err.Error() + "\n"
	}
	for _, key := range slices.Sorted(maps.Keys(plain)) {
		rows, ok := plain[key].([]any)
		if !ok {
			fmt.Fprintf(&b, "%s: %s\n", label(key), cell(plain[key]))
			continue
		}
		fmt.Fprintf(&b, "%s:\n", label(key))
		for _, row := range rows {
			fmt.Fprintf(&b, "  %s\n", textRow(row))
		}
	}
	return b.String()
}

func textRow(row any) string {
	fields, ok := row.(map[string]any)
	if !ok {
		return cell(row)
	}
	var cells []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		cells = append(cells, key+"="+cell(fields[key]))
	}
	return strings.Join(cells, "  ")
}

func cell(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return mustJSON(v)
}

func label(key string) string {
	if key == "" {
		return ""
	}
	words := strings.ReplaceAll(key, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// printLine writes a line of a stream at once, before the run ends.
func (p *process) printLine(v any) {
	_, _ = bytes.NewReader(jsonLine(v)).WriteTo(p.stdout)
}

// asFailure finds the envelope in an error; anything else is a fault of the
// simulation.
func asFailure(err error) (*failure, bool) {
	var f *failure
	ok := errors.As(err, &f)
	return f, ok
}
