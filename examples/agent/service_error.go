package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"charm.land/fantasy"
)

// maxMessage is how many characters of a service's own words are shown.
const maxMessage = 300

// explain says in one sentence what went wrong with the service, and what to do
// about it. The key is not in it, whatever the service answered.
func (s *service) explain(err error, model, key string) error {
	var answer *fantasy.ProviderError
	var connection *url.Error
	switch {
	case errors.As(err, &answer) && answer.StatusCode != 0:
		return errors.New(s.refusal(answer.StatusCode, model, key) + said(answer.Message, key))
	case errors.As(err, &connection):
		return fmt.Errorf("cannot reach %s: %s", s.name, plain(connection.Err.Error(), key))
	}
	return fmt.Errorf("%s did not answer as it should: %s", s.name, plain(err.Error(), key))
}

// refusal says what a status means for the user.
func (s *service) refusal(status int, model, key string) string {
	switch {
	case (status == http.StatusUnauthorized || status == http.StatusForbidden) && key == "":
		return fmt.Sprintf("%s asks for a key, and there is none in %s", s.name, s.keyVar)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Sprintf("%s does not accept the key in %s", s.name, s.keyVar)
	case status == http.StatusNotFound && s.urlVar != "":
		return fmt.Sprintf("%s does not know the model %s, or the path in %s is wrong; it often ends with /v1", s.name, model, s.urlVar)
	case status == http.StatusNotFound:
		return fmt.Sprintf("%s does not know the model %s (-model chooses another)", s.name, model)
	case status == http.StatusTooManyRequests:
		return fmt.Sprintf("%s has had enough requests for now, or the account has no credit left", s.name)
	}
	return fmt.Sprintf("%s answered %d %s", s.name, status, cmp.Or(http.StatusText(status), "(unknown status)"))
}

// said appends the service's own words.
func said(message, key string) string {
	if message = plain(message, key); message == "" {
		return ""
	}
	return ": " + message
}

// plain makes one short line without the key of what a service says.
func plain(message, key string) string {
	if key != "" {
		message = strings.ReplaceAll(message, key, "(the key)")
	}
	message = strings.Join(strings.Fields(printable(message)), " ")
	if utf8.RuneCountInString(message) > maxMessage {
		message = string([]rune(message)[:maxMessage]) + "…"
	}
	return message
}
