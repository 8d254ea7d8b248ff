package jobsclient

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// redactor takes a token out of text that comes from outside.
type redactor string

// text replaces the token as it is and in the forms a server or a proxy may
// echo it: base64, hex, escaped for JSON or for a URL.
func (r redactor) text(s string) string {
	if s == "" {
		return s
	}
	for _, form := range r.forms() {
		s = strings.ReplaceAll(s, form, redacted)
	}
	return s
}

// plain replaces the token only as it is: cheap enough for a job's output,
// where a binary that prints its environment may have put it.
func (r redactor) plain(s string) string {
	if r == "" {
		return s
	}
	return strings.ReplaceAll(s, string(r), redacted)
}

func (r redactor) forms() []string {
	if r == "" {
		return nil
	}
	token := string(r)
	forms := []string{token, url.QueryEscape(token), url.PathEscape(token), hex.EncodeToString([]byte(token))}
	if quoted, err := json.Marshal(token); err == nil {
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	for _, value := range []string{token, "Bearer " + token} {
		forms = append(forms,
			base64.RawStdEncoding.EncodeToString([]byte(value)),
			base64.RawURLEncoding.EncodeToString([]byte(value)))
	}
	// Longer forms first: a form may be part of another.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(forms)
}
