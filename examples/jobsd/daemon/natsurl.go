package daemon

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// credentials is what stands before the @ of an address, parsable or not.
var credentials = regexp.MustCompile(`(^|//)[^/]*@`)

// NATSWithoutSecrets returns Config.NATS fit to be shown: an address may hold a
// password, or a token.
func NATSWithoutSecrets(urls string) string {
	all := strings.Split(urls, ",")
	for i, u := range all {
		all[i] = credentials.ReplaceAllString(u, "${1}xxxxx@")
	}
	return strings.Join(all, ",")
}

// withoutURL takes the address out of an error that quotes it.
func withoutURL(err error) error {
	var wrong *url.Error
	if errors.As(err, &wrong) {
		return errors.New("an address of -nats is none, as nats://host:4222 is: a % in a password is written %25, an @ %40")
	}
	return err
}
