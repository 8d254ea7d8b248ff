package text

import (
	"strings"
	"testing"
)

func TestBinaryType(t *testing.T) {
	for _, tc := range []struct{ name, start, want string }{
		{"no bytes are no binary", "", ""},
		{"text", "hello\n", ""},
		{"HTML is text", "<!DOCTYPE html><html>", ""},
		{"JSON is text", `{"a": [1, 2]}`, ""},
		{"text that begins like a bitmap", "BMW is a maker of cars\n", ""},
		{"text that begins like music", "ID3 tags are metadata\n", ""},
		{"text that begins like an image", "GIF89a is a format\n", ""},
		{"coloured text", strings.Repeat("\x1b[31mx\x1b[0m", 200), ""},
		{"progress redraws", strings.Repeat("\r5%", 200), ""},
		{"a few invalid bytes", "ok \xff\xfe end", ""},
		{"32 invalid bytes", strings.Repeat("\xff", 32), ""},
		{"UTF-16 with a byte order mark", "\xff\xfeh\x00e\x00l\x00l\x00o\x00", ""},
		{"UTF-16 without one", strings.Repeat("h\x00i\x00", 100), ""},
		{"Latin-1 prose", strings.Repeat("das gl\xfcck ist ein vogel ", 100), ""},
		{"a character cut in two at the end", strings.Repeat("x", SniffLen-1) + "漢", ""},
		{"33 invalid bytes", strings.Repeat("\xff", 33), "application/octet-stream"},
		{"nothing but NULs", strings.Repeat("\x00", 100), "application/octet-stream"},
		{"random bytes", strings.Repeat("\x01\x99\xc0\xee\x13a", 50), "application/octet-stream"},
		{"PNG", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png"},
		{"JPEG", "\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"},
		{"GIF", "GIF89a\x01\x00\x01\x00\x80", "image/gif"},
		{"WebP", "RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"},
		{"gzip", "\x1f\x8b\x08\x00\x00", "application/x-gzip"},
		{"zip", "PK\x03\x04\x14\x00", "application/zip"},
		{"PDF", "%PDF-1.7\nplain", "application/pdf"},
		{"binary behind a text signature", "<html>" + strings.Repeat("\xff", 200), "application/octet-stream"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := BinaryType([]byte(tc.start)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
