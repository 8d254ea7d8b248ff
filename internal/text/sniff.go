package text

import (
	"bytes"
	"net/http"
	"strings"
	"unicode/utf8"
)

// SniffLen is how many bytes of a stream BinaryType looks at.
const SniffLen = 8 << 10

// BinaryType returns the media type of output that begins with start if it is
// not text, and "" if it is. Not text is what has a signature that
// http.DetectContentType knows as neither text nor octet-stream; what, NULs
// dropped, has more than 32 and more than a tenth of invalid or control bytes
// in its first SniffLen bytes; and what consists of NULs. Those that a terminal
// obeys, such as ESC, do not count. UTF-16 text survives this.
//
// A signature in plain text is not one: "BMW" begins like a bitmap and "ID3"
// like music. Only PDF and PostScript are documents even then.
func BinaryType(start []byte) string {
	start = start[:min(len(start), SniffLen)]
	if len(start) == 0 {
		return ""
	}
	const unknown = "application/octet-stream"
	rest := bytes.ReplaceAll(start, []byte{0}, nil)
	bad := oddBytes(rest)
	typ := http.DetectContentType(start)
	isText := strings.HasPrefix(typ, "text/")
	plainText := bad == 0 && len(rest) == len(start) && typ != "application/pdf" && typ != "application/postscript"
	switch {
	case len(rest) == 0, bad > 32 && bad > len(rest)/10:
		if isText {
			return unknown
		}
		return typ
	case isText, plainText, typ == unknown:
		return ""
	}
	return typ
}

// oddBytes counts the bytes of b that are invalid UTF-8 or control characters
// that a terminal ignores. A character that the end of b cuts in two is neither.
func oddBytes(b []byte) int {
	odd := 0
	b = b[:len(b)-partialRune(b)]
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			odd++
		case isControl(r) && (r < '\a' || r > '\r') && r != '\x1b':
			odd += n
		}
		b = b[n:]
	}
	return odd
}
