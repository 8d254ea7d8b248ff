package agents

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
)

// tokenPrefix tells people and scanners for leaked secrets what a token is for.
const tokenPrefix = "jobsd_"

// hashPrefix names the hash of an entry of tokens.
const hashPrefix = "sha256:"

// hash is a token as it is stored. A token is 32 random bytes, which nobody can
// guess however fast the hash is, so a plain SHA-256 is right where a password,
// which people choose, would need a slow one with a salt.
type hash [sha256.Size]byte

func newToken() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}

func hashOf(token string) hash { return sha256.Sum256([]byte(token)) }

// String is the hash as the file holds it.
func (h hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// parseHash reads an entry of tokens. The error does not show it: it may be a
// token that was written there by mistake.
func parseHash(s string) (hash, error) {
	var h hash
	digits, found := strings.CutPrefix(s, hashPrefix)
	sum, err := hex.DecodeString(digits)
	if !found || err != nil || len(sum) != len(h) {
		return h, errors.New("is not sha256: and 64 hexadecimal digits; `jobsd token AGENT` makes a token and writes its hash there")
	}
	return hash(sum), nil
}
