package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/internal/program"
	child "github.com/fantasytools/fantasytools/internal/run"
	"github.com/fantasytools/fantasytools/pilot"
)

// pilotctl is the program as doctor runs it.
type pilotctl struct {
	path string
	wait time.Duration
}

// errNoPilotctl is the error of [findPilotctl] where none is set up.
var errNoPilotctl = errors.New("pilotctl is neither in PATH nor in ~/.pilot/bin, and $" + pilot.EnvBinary + " is not set")

// findPilotctl looks where a [pilot.Client] does: at $PILOTCTL, in the absolute
// entries of PATH, in ~/.pilot/bin. A file there that may not be executed is
// passed over by both, and named by the error if there is no other.
func findPilotctl() (string, error) {
	name := os.Getenv(pilot.EnvBinary)
	if strings.ContainsAny(name, `/`+string(filepath.Separator)) {
		path, err := filepath.Abs(name)
		if err == nil {
			path, err = program.Resolve(path, "")
		}
		return path, err
	}
	var unusable error
	for _, path := range pilotctlPlaces(name) {
		found, err := program.Resolve(path, "")
		if err == nil {
			return found, nil
		}
		if unusable == nil && !errors.Is(err, fs.ErrNotExist) {
			unusable = err
		}
	}
	switch {
	case unusable != nil:
		return "", unusable
	case name != "":
		return "", fmt.Errorf("%s is not in PATH", name)
	}
	return "", errNoPilotctl
}

// pilotctlPlaces are where a program of the name may be; "" is pilotctl, which
// may also be where the Pilot Protocol puts it.
func pilotctlPlaces(name string) []string {
	program := name
	if program == "" {
		program = "pilotctl"
	}
	var places []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			places = append(places, filepath.Join(dir, program))
		}
	}
	if home, err := os.UserHomeDir(); err == nil && name == "" {
		if path, err := filepath.Abs(filepath.Join(home, ".pilot", "bin", program)); err == nil {
			places = append(places, path)
		}
	}
	return places
}

// run runs pilotctl within bounds. It sees nothing that looks like a credential:
// what it is asked needs none.
func (p *pilotctl) run(ctx context.Context, args ...string) (*child.Result, error) {
	dir, err := os.Getwd()
	if err != nil {
		dir = os.TempDir()
	}
	return child.Run(ctx, child.Command{
		Path: p.path, Args: args, Dir: dir, Env: withoutProxies(program.Environment(nil, dir)),
		Timeout: p.wait, Grace: p.wait / 10, Head: pilot.MaxAnswer, Tail: 64 << 10,
	})
}

// withoutProxies drops what may hold a password.
func withoutProxies(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// answer is what pilotctl answers: an ok envelope on standard output or an error
// envelope on standard error.
type answer struct {
	Status  string          `json:"status"`
	Data    json.RawMessage `json:"data"`
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Hint    string          `json:"hint"`
}

// readAnswer returns the last line of a run that is an envelope of its stream.
func readAnswer(r *child.Result) (answer, bool) {
	for _, stream := range []struct {
		output child.Output
		status string
	}{{r.Stdout, "ok"}, {r.Stderr, "error"}, {r.Stdout, "error"}} {
		whole := stream.output.Head
		if stream.output.Missing == 0 {
			whole = append(bytes.Clone(whole), stream.output.Tail...)
		}
		lines := bytes.Split(bytes.TrimSpace(whole), []byte("\n"))
		for i := range min(len(lines), 100) {
			var a answer
			if json.Unmarshal(lines[len(lines)-1-i], &a) == nil && a.Status == stream.status {
				return a, true
			}
		}
	}
	return answer{}, false
}

// installPilot says how pilotctl is got.
func installPilot() string {
	place := "~/.pilot/bin"
	if runtime.GOOS == "windows" {
		place = `%USERPROFILE%\.pilot\bin`
	}
	return "install the Pilot Protocol, which puts pilotctl into " + place + ", or set " + pilot.EnvBinary + " to the path of pilotctl"
}
