package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
)

// state is where a daemon keeps its things on this machine.
type state struct {
	dir string // "": the default
}

func (s *state) flags(fs *flag.FlagSet) {
	fs.StringVar(&s.dir, "state", "", "keep or find what belongs to the daemon in this `directory`\n(default: "+shownDefault()+")")
}

// resolve makes the directory's path absolute.
func (s *state) resolve() error {
	dir := s.dir
	if dir == "" {
		var err error
		if dir, err = defaultState(); err != nil {
			return wrongUsage("%w; -state names a directory", err)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("finding the state directory: %w", err)
	}
	s.dir = dir
	return nil
}

// make makes the directory, for this user alone.
func (s *state) make() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("making the state directory: %w", err)
	}
	return nil
}

// defaultState follows the XDG base directories on Linux.
func defaultState() (string, error) {
	if runtime.GOOS != "linux" {
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "jobsd"), err
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "jobsd"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state", "jobsd"), err
}

func shownDefault() string {
	dir, err := defaultState()
	if err != nil {
		return "in the home directory"
	}
	return dir
}

func (s *state) socket() string { return filepath.Join(s.dir, "jobsd.sock") }

// agentsFile returns the file that -agents names, or the one in the directory,
// which is written if write is set and it is not there.
func (s *state) agentsFile(named string, write bool, note func(string, ...any)) (string, error) {
	if named != "" {
		if _, err := os.Stat(named); errors.Is(err, fs.ErrNotExist) {
			return "", wrongUsage("there is no agents file %s; without -agents a first one is written to %s", named, filepath.Join(s.dir, "agents.yaml"))
		}
		return filepath.Abs(named)
	}
	path := filepath.Join(s.dir, "agents.yaml")
	if !write {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", wrongUsage("there is no agents file %s; write one (jobsd serve and jobsd token make a first one), or name one with -agents", path)
		}
		return path, nil
	}
	if err := s.make(); err != nil {
		return "", err
	}
	written, err := agents.Ensure(path)
	if written {
		note("wrote %s: the agent me may run the usual programs; change it as you like", path)
	}
	return path, err
}

// address returns the URL of the daemon of the directory: that of the one that was
// started last, or where one would be by default.
func (s *state) address() string {
	urls, err := daemon.Addresses(s.dir)
	if err == nil && len(urls) > 0 {
		return urls[0]
	}
	return "unix://" + filepath.ToSlash(s.socket())
}

// checkURL refuses what is no address of a daemon.
func checkURL(url string) error {
	for _, scheme := range []string{"unix:", "http://", "https://"} {
		if strings.HasPrefix(url, scheme) && !strings.ContainsAny(url, "\x00\r\n") {
			return nil
		}
	}
	return wrongUsage("-url is unix:///path/of/socket, http://host:port or https://host:port, and not %q", url)
}

// startWith is the command that starts a daemon on the directory.
func (s *state) startWith() string {
	if dir, err := defaultState(); err == nil && dir == s.dir {
		return "jobsd serve"
	}
	return "jobsd serve -state " + shellQuoted(s.dir)
}
