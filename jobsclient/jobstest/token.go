package jobstest

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// claims are what the daemon writes into a token.
type claims struct {
	Issuer       string       `json:"iss"`
	ID           string       `json:"jti"`
	Issued       int64        `json:"iat"`
	Expires      int64        `json:"exp,omitempty"`
	Agent        string       `json:"agent_ref,omitempty"` // empty: the operator
	Capabilities []Capability `json:"capabilities"`
}

const jwtHeader = `{"alg":"HS256","typ":"JWT"}`

func sign(key []byte, header string, c claims) string {
	body, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	unsigned := encode([]byte(header)) + "." + encode(body)
	return unsigned + "." + encode(mac(key, unsigned))
}

func mac(key []byte, s string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(s))
	return h.Sum(nil)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

var errToken = errors.New("missing or invalid bearer token")

// verify reads a token: HS256 only, our key, not expired.
func verify(key []byte, token string, now time.Time) (claims, error) {
	var c claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, errToken
	}
	var header struct{ Alg string }
	if err := decode(parts[0], &header); err != nil || header.Alg != "HS256" {
		return c, errToken
	}
	given, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(given, mac(key, parts[0]+"."+parts[1])) {
		return c, errToken
	}
	if err := decode(parts[1], &c); err != nil {
		return c, errToken
	}
	if c.Expires != 0 && now.Unix() >= c.Expires {
		return c, errToken
	}
	return c, nil
}

func decode(part string, into any) error {
	b, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	const digits = "0123456789abcdef"
	var out strings.Builder
	for i, x := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			out.WriteByte('-')
		}
		out.WriteByte(digits[x>>4])
		out.WriteByte(digits[x&0xf])
	}
	return out.String()
}
