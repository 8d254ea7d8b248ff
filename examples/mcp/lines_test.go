package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// TestWhoReadsNothingIsNotReadOn: what is over the bound is refused by the reader
// itself, whose refusal nobody takes.
func TestWhoReadsNothingIsNotReadOn(t *testing.T) {
	for name, tc := range map[string]struct{ params, want string }{
		"many requests": {"", fmt.Sprintf("%d requests are not answered yet", maxOpen)},
		"long requests": {strings.Repeat("x", maxOpenBytes/8), "7 requests are not answered yet"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			l := newLines(io.NopCloser(strings.NewReader("")), &out)
			ask := func(id int) (jsonrpc.Message, error) {
				text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"x":%q}}`, id, tc.params)
				return l.next(bufio.NewReader(strings.NewReader(text + "\n")))
			}
			for id := 0; out.Len() == 0 && id <= maxOpen; id++ {
				if _, err := ask(id); err != nil && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			}
			if !strings.Contains(out.String(), tc.want) {
				t.Fatalf("read %.200q", out.String())
			}
			zero, err := jsonrpc.MakeID(0.0)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Write(t.Context(), &jsonrpc.Response{ID: zero, Result: json.RawMessage("{}")}); err != nil {
				t.Fatal(err)
			}
			if msg, err := ask(0); msg == nil || err != nil {
				t.Errorf("after an answer there is room for none: %v, %v", msg, err)
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
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
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
