package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestReadLineKeepsWhatIsNotTooLong(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"lines", "a\nbc\n", []string{"a\n", "bc\n"}},
		{"a last line without an end", "a\nb", []string{"a\n", "b"}},
		{"as long as may be", "12345678\nx\n", []string{"12345678\n", "x\n"}},
		{"too long", "123456789\nx\n", []string{"too long", "x\n"}},
		{"much too long", strings.Repeat("1", 100) + "\nx\n", []string{"too long", "x\n"}},
		{"too long without an end", strings.Repeat("1", 100), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := bufio.NewReaderSize(strings.NewReader(tc.in), 16)
			var got []string
			for {
				text, err := readLine(r, 8)
				if errors.Is(err, errTooLong) {
					text, err = []byte("too long"), nil
				}
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Error(err)
					}
					break
				}
				got = append(got, string(text))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// FuzzLines: whatever comes in, each line is a message, is answered with one error on
// one line, or is blank.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		initialize, initialized, "garbage", "[]", "null", "7", `"x"`, "{", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, `{"jsonrpc":"2.0","id":-1,"method":5}`, `{"id":"\ud800"}`, "\xff", "a\nb\r\n\n", `{"id":1,"id":[1]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		l := newLines(io.NopCloser(bytes.NewReader(in)), &out)
		r := bufio.NewReader(bytes.NewReader(in))
		messages := 0
		for {
			msg, err := l.next(r)
			if err != nil {
				break
			}
			if msg == nil {
				t.Fatal("there is no message and no error")
			}
			messages++
		}
		answered := checkRefusals(t, out.String())
		if lines := countLines(in); messages+answered != lines {
			t.Errorf("of %d lines %d are messages and %d are answered", lines, messages, answered)
		}
	})
}

func checkRefusals(t *testing.T, out string) (count int) {
	t.Helper()
	for line := range strings.Lines(out) {
		var m struct {
			JSONRPC string
			ID      json.RawMessage
			Error   *jsonrpc.Error
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" || m.Error == nil || m.Error.Code == 0 || m.Error.Message == "" {
			t.Fatalf("the answer is %q, %v", line, err)
		}
		count++
	}
	return count
}

// countLines counts those that are not blank.
func countLines(in []byte) (count int) {
	for line := range bytes.Lines(in) {
		if len(bytes.TrimSpace(line)) > 0 {
			count++
		}
	}
	return count
}
