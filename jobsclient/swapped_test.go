package jobsclient_test

import (
	"strings"
	"testing"

	"github.com/fantasytools/fantasytools/jobsclient"
)

func TestAnAddressThatMayBeATokenIsNotShown(t *testing.T) {
	for url, shown := range map[string]bool{
		"localhost:5500": true, "ftp://host": true, "/run/jobs.sock": true, "./jobs.sock": true, "[::1]:80": true, "host:80/path": true,
		"jobsd_q3hX8bWmTz":                         false,
		"eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.c2lnbmF0": false,
		"c2VjcmV0L3Rva2VuKw==":                     false,
		"user:password":                            false,
		"a:token-of-somebody":                      false,
	} {
		_, err := jobsclient.New(jobsclient.Config{URL: url, Token: "unix:///run/jobs.sock"}).List(t.Context(), jobsclient.ListOptions{})
		if err == nil || strings.Contains(err.Error(), url) != shown || !strings.Contains(err.Error(), "unix:///path/of/socket") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
