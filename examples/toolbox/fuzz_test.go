package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	child "github.com/fantasytools/fantasytools/internal/run"
)

// Whatever a pilotctl prints becomes findings of one line that can be read.
func FuzzReportOfAnything(f *testing.F) {
	for _, seed := range []string{
		`{"status":"ok","data":{"address":"0:0000.0000.0001","hostname":"me","version":"v1.16.0"}}`,
		`{"status":"error","code":"not_running","message":"daemon is not running","hint":"start it"}`,
		"noise\n{\"status\":\"error\",\"code\":\"internal\"}\nmore noise",
		"{\"status\":\"ok\",\"data\":{\"address\":\"\x1b[31m\\u0000\"}}", "", "null", "[]", "v1.16", "\xff\xfe",
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr string) {
		a := &app{opts: &options{json: true}}
		r := &report{app: a}
		p := &pilotctl{path: "/bin/pilotctl", wait: time.Second}
		p.reportInfo(&child.Result{Stdout: child.Output{Head: []byte(stdout)}, Stderr: child.Output{Head: []byte(stderr)}}, r)
		if len(r.findings) != 1 {
			t.Fatalf("%+v", r.findings)
		}
		for _, s := range []string{r.findings[0].Finding, r.findings[0].Advice} {
			if !utf8.ValidString(s) || len(s) > 2000 || strings.ContainsAny(s, "\n\r\x00\x1b") {
				t.Errorf("%q", s)
			}
		}
	})
}

// Whatever stands in the place of a token, nothing of it is repeated.
func FuzzTokenProblem(f *testing.F) {
	for _, seed := range []string{"", "a.b.c", "eyJ.eyJleHAiOjF9.x", "eyJ.eyJleHAiOiJ4In0.x", "..", "eyJ.e30.x"} {
		f.Add(seed)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, token string) {
		got := tokenProblem(token, now)
		if len(got) == 0 || len(got) > 100 {
			t.Errorf("%q", got)
		}
	})
}
