package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
)

func runVersion(_ context.Context, args []string, out streams) error {
	others, err := parse(flag.NewFlagSet("jobsd version", flag.ContinueOnError), about("version"), args, out)
	if err != nil {
		return err
	}
	if err := noArguments("version", others); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out.stdout, "jobsd %s %s/%s %s\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	return err
}

// version is that of the module, or the revision that was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " (modified)"
		}
	}
	if revision == "" {
		return "devel"
	}
	return revision[:min(12, len(revision))] + modified
}
