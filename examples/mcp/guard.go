package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// envToken names the environment variable that may hold the token. A program that a
// tool runs does not see it: its name is that of a credential.
const envToken = "FANTASYTOOLS_MCP_TOKEN"

// minToken is how many bytes a token has at least.
const minToken = 16

// readToken returns the token that clients must send, "" if they need none.
func readToken(file string) (string, error) {
	token, from := os.Getenv(envToken), envToken
	if file != "" {
		src, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("-token-file: %w", err)
		}
		token, from = string(src), "-token-file "+file
		if strings.TrimSpace(token) == "" {
			return "", errors.New(from + " is empty")
		}
	}
	token = strings.TrimSpace(token)
	if token != "" && len(token) < minToken {
		return "", fmt.Errorf("the token of %s has %d bytes; it needs at least %d, as of: openssl rand -hex 32", from, len(token), minToken)
	}
	return token, nil
}

// guard lets requests through that may call tools: from no web page, and with the
// token if there is one.
func guard(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !hostAllowed(r, token):
			http.Error(w, "the Host header does not name this machine", http.StatusForbidden)
		case !originAllowed(r):
			http.Error(w, "requests of web pages are not served", http.StatusForbidden)
		case token != "" && !authorized(r, token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is missing or wrong: send Authorization: Bearer TOKEN", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// hostAllowed keeps a web page out whose name was made to point to this machine
// after it was loaded: such a page has no Origin that differs, only its own name as
// the Host. Who needs a token is asked for it instead.
func hostAllowed(r *http.Request, token string) bool {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && !local.IP.IsLoopback() && token != "" {
		return true
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// originAllowed refuses what a browser sends for a page of another origin. There are
// no pages of this one, but clients that send what they call.
func originAllowed(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	return len(origins) == 1 && strings.EqualFold(origins[0], "http://"+r.Host)
}

// authorized compares in a time that does not depend on how much of it is right.
func authorized(r *http.Request, token string) bool {
	scheme, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	want, sent := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(strings.TrimSpace(got)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(want[:], sent[:]) == 1
}

func bytesBody(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }
