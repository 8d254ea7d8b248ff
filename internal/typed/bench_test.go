package typed_test

import (
	"context"
	"encoding/json"
	"testing"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/internal/typed"
)

// BenchmarkDecode decodes a typical input with a tool, which also checks it,
// and with encoding/json, which does not.
func BenchmarkDecode(b *testing.B) {
	type in struct {
		Args   []string          `json:"args,omitempty" jsonschema:"description=Arguments"`
		Stdin  string            `json:"stdin,omitempty" jsonschema:"description=Input"`
		Labels map[string]string `json:"labels,omitempty" jsonschema:"description=Labels"`
		Limit  int               `json:"limit,omitempty" jsonschema:"description=A limit,minimum=1,maximum=100,default=10"`
	}
	const input = `{"args": ["-rn", "--include=*.go", "func Test", "./internal"], "stdin": "line 1\nline 2\n", "labels": {"team": "core"}, "limit": 20}`
	b.Run("typed", func(b *testing.B) {
		tool := typed.New("bench", "Does nothing.", typed.Options{}, func(context.Context, in, fantasy.ToolCall) (fantasy.ToolResponse, error) {
			return fantasy.NewTextResponse("ok"), nil
		})
		b.ReportAllocs()
		for b.Loop() {
			if resp, err := tool.Run(context.Background(), fantasy.ToolCall{Input: input}); err != nil || resp.IsError {
				b.Fatal(resp, err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v in
			if err := json.Unmarshal([]byte(input), &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkInfo(b *testing.B) {
	tool := newTool[everything]("all")
	b.ReportAllocs()
	for b.Loop() {
		_ = tool.Info()
	}
}
