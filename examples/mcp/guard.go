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

// maxToken is how many bytes are read of a file with a token.
const maxToken = 4 << 10

// readToken returns the token that clients must send, "" if they need none. What is
// meant to be one and is not must not leave the server open.
func readToken(file string) (string, error) {
	text, from := os.Getenv(envToken), envToken
	if file != "" {
		src, err := readStart(file, maxToken+1)
		if err != nil {
			return "", fmt.Errorf("-token-file: %w", err)
		}
		text, from = string(src), "-token-file "+file
	}
	token := strings.TrimSpace(text)
	switch {
	case text == "" && file == "":
		return "", nil
	case token == "":
		return "", errors.New(from + " is empty")
	case len(text) > maxToken:
		return "", fmt.Errorf("%s is longer than %d bytes, so it is no token", from, maxToken)
	case len(token) < minToken:
		return "", fmt.Errorf("the token of %s has %d bytes; it needs at least %d, as of: openssl rand -hex 32", from, len(token), minToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("the token of %s has characters that no header can carry: it is one word of ASCII, as of: openssl rand -hex 32", from)
	}
	return token, nil
}

// readStart reads a file up to that many bytes.
func readStart(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, limit))
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
