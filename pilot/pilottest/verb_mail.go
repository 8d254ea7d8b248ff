package pilottest

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func isNoDir(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// inbox reads files; what is due arrives before.
func (p *process) inbox() (output, error) {
	home, err := p.mailHome()
	if err != nil {
		return output{}, err
	}
	if err := p.net.update(func(*state) error { return nil }); err != nil {
		return output{}, err
	}
	dir := filepath.Join(home, ".pilot", "inbox")
	switch {
	case p.gen == V12:
		return p.inbox12(dir)
	case p.flags.arg(0) == "read":
		return p.inboxRead(dir, p.flags.arg(1))
	}
	return p.inboxList(dir)
}

func (p *process) inbox12(dir string) (output, error) {
	mails, err := readInbox(dir)
	wipe := p.flags.bool("clear")
	switch {
	case isNoDir(err) && wipe:
		return output{}, fail("not_found", "inbox is empty")
	case isNoDir(err):
		return p.ok(map[string]any{"messages": []any{}, "total": 0}), nil
	case err != nil:
		return output{}, fail("internal", "read directory: %v", err)
	case wipe:
		return p.ok(map[string]any{"cleared": removeFiles(dir, nil)}), nil
	}
	var records []map[string]any
	for _, m := range mails {
		records = append(records, m.record)
	}
	return p.ok(map[string]any{"messages": records, "total": len(records), "dir": dir}), nil
}

// removeFiles deletes the regular files of a directory, those only that keep
// does not want.
func removeFiles(dir string, keep func(name string, info fs.FileInfo) bool) (removed int) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.IsDir() || keep != nil && keep(e.Name(), info) {
			continue
		}
		if os.Remove(filepath.Join(dir, e.Name())) == nil {
			removed++
		}
	}
	return removed
}

func (p *process) inboxRead(dir, id string) (output, error) {
	if id == "" || id != filepath.Base(id) || strings.Contains(id, "..") || strings.ContainsAny(id, `/\`) {
		return output{}, fail("invalid_argument", "not an inbox id: %q", id)
	}
	path := filepath.Join(dir, strings.TrimSuffix(id, ".json")+".json")
	if _, err := os.Stat(path); err != nil {
		return output{}, fail("not_found", "no message %q in the inbox", id)
	}
	m, ok := readMail(path)
	if !ok {
		return output{}, fail("internal", "message %q cannot be read", id)
	}
	m.record["id"] = m.id
	return p.ok(m.record), nil
}

// mailFilter is what inbox and received select by.
type mailFilter struct {
	from   string
	since  time.Time
	before time.Time
	limit  int
}

func (p *process) mailFilter() (f mailFilter, err error) {
	if f.limit, err = p.flags.int("limit", 10); err != nil {
		return f, err
	}
	if f.since, err = p.ago("since", true); err != nil {
		return f, err
	}
	if f.before, err = p.ago("before", false); err != nil {
		return f, err
	}
	from := p.flags.vals["from"]
	if id, ok := nodeNumber(from); ok {
		f.from = FormatAddress(0, id)
	}
	if from == "" || f.from != "" {
		return f, nil
	}
	err = p.withDaemon(func(s *state, _ *node) error {
		id, err := p.peer(s, from, "not_found")
		f.from = FormatAddress(0, id)
		return err
	})
	return f, err
}

func (p *process) ago(key string, orTime bool) (time.Time, error) {
	v, ok := p.flags.vals[key]
	if !ok {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(v); err == nil {
		return time.Now().Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil && orTime {
		return t, nil
	}
	return time.Time{}, fail("invalid_argument", "invalid --%s: %q", key, v)
}

func (f mailFilter) wants(m storedMail) bool {
	return (f.from == "" || m.text("from") == f.from) && (f.since.IsZero() || m.receivedAt().After(f.since))
}

func (p *process) inboxList(dir string) (output, error) {
	f, err := p.mailFilter()
	if err != nil {
		return output{}, err
	}
	mails, err := readInbox(dir)
	if isNoDir(err) {
		return p.ok(map[string]any{"messages": []any{}, "total": 0, "shown": 0}), nil
	}
	if err != nil {
		return output{}, fail("internal", "read directory: %v", err)
	}
	all := len(mails)
	mails = slices.DeleteFunc(mails, func(m storedMail) bool { return !f.wants(m) })
	if p.flags.bool("clear") {
		return p.clearInbox(dir, mails, all, f)
	}
	newestFirst(mails)
	total := len(mails)
	if p.flags.bool("latest") {
		f.limit = 1
	}
	if f.limit > 0 && f.limit < total {
		mails = mails[:f.limit]
	}
	items := []map[string]any{}
	for _, m := range mails {
		items = append(items, p.inboxItem(m))
	}
	return p.ok(map[string]any{"messages": items, "total": total, "shown": len(items), "dir": dir}), nil
}

func (p *process) clearInbox(dir string, mails []storedMail, all int, f mailFilter) (output, error) {
	cleared := 0
	for _, m := range mails {
		if !f.before.IsZero() && !m.receivedAt().Before(f.before) {
			continue
		}
		if os.Remove(filepath.Join(dir, m.id+".json")) == nil {
			cleared++
		}
	}
	return p.ok(map[string]any{"cleared": cleared, "remaining": all - cleared}), nil
}

const previewRunes = 120

func (p *process) inboxItem(m storedMail) map[string]any {
	item := map[string]any{"id": m.id}
	for _, key := range []string{"from", "received_at", "type", "bytes"} {
		item[key] = m.record[key]
	}
	if p.flags.bool("full") || p.flags.bool("latest") {
		item["data"] = m.text("data")
	} else {
		item["preview"] = preview(m.text("data"))
	}
	for _, key := range []string{"message_id", "reply_to"} {
		if p.gen == V116 && m.text(key) != "" {
			item[key] = m.text(key)
		}
	}
	return item
}

func preview(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) <= previewRunes {
		return string(r)
	}
	return string(r[:previewRunes]) + "…"
}

// received lists or deletes; the files carry no sender.
func (p *process) received() (output, error) {
	home, err := p.mailHome()
	if err != nil {
		return output{}, err
	}
	dir := filepath.Join(home, ".pilot", "received")
	var f mailFilter
	if p.gen.modern() {
		if f, err = p.mailFilter(); err != nil {
			return output{}, err
		}
	}
	files, err := readFiles(dir)
	wipe := p.flags.bool("clear")
	switch {
	case isNoDir(err) && wipe:
		return output{}, fail("not_found", "no received files")
	case isNoDir(err) && p.gen == V12:
		return p.ok(map[string]any{"files": []any{}, "total": 0}), nil
	case isNoDir(err):
		return p.ok(map[string]any{"files": []any{}, "total": 0, "shown": 0}), nil
	case err != nil:
		return output{}, fail("internal", "read directory: %v", err)
	case wipe:
		return p.clearReceived(dir, len(files), f), nil
	case p.gen == V12:
		return p.ok(map[string]any{"files": fileRows(files), "total": len(files), "dir": dir}), nil
	}
	files = slices.DeleteFunc(files, func(r ReceivedFile) bool { return !f.since.IsZero() && !r.Modified.After(f.since) })
	slices.SortStableFunc(files, func(a, b ReceivedFile) int { return b.Modified.Compare(a.Modified) })
	total := len(files)
	if p.flags.has("limit") && f.limit > 0 && f.limit < total {
		files = files[:f.limit]
	}
	rows := fileRows(files)
	if rows == nil {
		rows = []map[string]any{}
	}
	return p.ok(map[string]any{"files": rows, "total": total, "shown": len(rows), "dir": dir}), nil
}

func (p *process) clearReceived(dir string, all int, f mailFilter) output {
	cleared := removeFiles(dir, func(_ string, info fs.FileInfo) bool {
		return p.gen.modern() && !f.before.IsZero() && !info.ModTime().Before(f.before)
	})
	if p.gen == V12 {
		return p.ok(map[string]any{"cleared": cleared})
	}
	data := map[string]any{"cleared": cleared, "remaining": all - cleared}
	if p.gen == V116 {
		partial := filepath.Join(dir, ".partial")
		data["cleared_partial"] = removeFiles(partial, nil)
	}
	return p.ok(data)
}

// ReceivedFile is a file in a node's directory of received files.
type ReceivedFile struct {
	Name     string
	Path     string
	Bytes    int64
	Modified time.Time
}

func readFiles(dir string) ([]ReceivedFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []ReceivedFile
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.IsDir() {
			continue
		}
		files = append(files, ReceivedFile{Name: e.Name(), Path: filepath.Join(dir, e.Name()), Bytes: info.Size(), Modified: info.ModTime()})
	}
	return files, nil
}

func fileRows(files []ReceivedFile) []map[string]any {
	var rows []map[string]any
	for _, f := range files {
		rows = append(rows, map[string]any{"name": f.Name, "bytes": f.Bytes, "modified": f.Modified.Format(time.RFC3339), "path": f.Path})
	}
	return rows
}

// Mail is a message in a node's inbox.
type Mail struct {
	ID         string // name of its file without .json
	From       string // full address
	Type       string // TEXT, JSON or BINARY
	Text       string // the payload
	Bytes      int
	ReceivedAt time.Time
	MessageID  string
	ReplyTo    string
}

func (m storedMail) mail() Mail {
	out := Mail{
		ID: m.id, From: m.text("from"), Type: m.text("type"), Text: m.text("data"),
		ReceivedAt: m.receivedAt(), MessageID: m.text("message_id"), ReplyTo: m.text("reply_to"),
	}
	if b, ok := m.record["bytes"].(float64); ok {
		out.Bytes = int(b)
	}
	if raw, err := base64.StdEncoding.DecodeString(m.text("data_b64")); err == nil && len(raw) > 0 {
		out.Text = string(raw)
	}
	return out
}
