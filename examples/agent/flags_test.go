package main

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFlags(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want options
	}{
		{"nothing", nil, options{prompt: defaultPrompt, steps: 30, retries: 2}},
		{"a prompt of one word", []string{"Hello"}, options{prompt: "Hello", steps: 30, retries: 2}},
		{"a prompt of several words", []string{"-full", "How", "many", "files?"}, options{prompt: "How many files?", full: true, steps: 30, retries: 2}},
		{"a prompt that mentions an option of a program", []string{"What", "does", "ls", "-l", "do?"}, options{prompt: "What does ls -l do?", steps: 30, retries: 2}},
		{"all flags of a scripted run", []string{"-tools", "t", "-workdir", "w", "-script", "s", "-offline", "-pilot", "-v", "-steps", "1", "-retries", "0"},
			options{toolsFile: "t", workDir: "w", script: "s", offline: true, pilot: true, verbose: true, prompt: defaultPrompt, steps: 1}},
		{"a model", []string{"-model", "m"}, options{model: "m", prompt: defaultPrompt, steps: 30, retries: 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseFlags(tc.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParseFlagsRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"an unknown flag", []string{"-nope"}, "-h lists the flags"},
		{"a flag behind the prompt", []string{"Hello", "-offline"}, "-offline stands in it"},
		{"no steps", []string{"-steps", "0"}, "-steps is 0"},
		{"negative retries", []string{"-retries", "-1"}, "-retries is -1"},
		{"a model for a script", []string{"-model", "m", "-script", "s"}, "leave one out"},
		{"a model without a service", []string{"-model", "m", "-offline"}, "leave one out"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parseFlags(tc.args)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestHelpNamesEveryFlagAndVariable(t *testing.T) {
	if _, err := parseFlags([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
	help := usage()
	newFlagSet(&options{}).VisitAll(func(f *flag.Flag) {
		if !strings.Contains(help, "  -"+f.Name) {
			t.Errorf("%s is missing", f.Name)
		}
	})
	for _, s := range services {
		if !strings.Contains(help, s.variable()) {
			t.Errorf("%s is missing", s.variable())
		}
	}
}
