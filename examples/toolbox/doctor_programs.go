package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/internal/toolfile"
	"github.com/fantasytools/fantasytools/internal/program"
	"github.com/fantasytools/fantasytools/tool"
)

// checkPrograms looks at each entry of the tools file: its program, its usage
// text, and what [tool.LoadTools] says of the rest.
func (a *app) checkPrograms(_ context.Context, r *report) {
	entries, err := toolfile.Read(a.opts.toolsFile)
	if err != nil {
		r.fault("tools file", sentence(err), "correct the file, or name another one with -tools")
		return
	}
	dir, err := filepath.Abs(a.opts.workDir)
	if err == nil {
		err = usable(dir)
	}
	if err != nil {
		r.fault("workdir", sentence(err), "make the directory, or name another one with -workdir")
		return
	}
	var found []toolfile.Entry
	for _, e := range entries {
		if checkProgram(e, dir, r) {
			found = append(found, e)
		}
		checkDoc(e, dir, r)
	}
	checkDefs(found, dir, r)
	if len(found) == 0 && r.count(statusFault) == 0 {
		r.missing("tools file", "none of its programs is installed; list, schema and call have nothing to work with", "install one of them, or name a file of your own with -tools")
	}
}

func usable(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return err
}

// checkProgram tells whether the program of an entry will be loaded.
func checkProgram(e toolfile.Entry, dir string, r *report) bool {
	path, err := program.Resolve(e.Binary, dir)
	absent := errors.Is(err, fs.ErrNotExist)
	if _, inPath := exec.LookPath(e.Binary); e.Optional && err == nil && inPath != nil {
		r.missing(e.Name, fmt.Sprintf("%s is at %s and not in PATH, where an optional program is looked for; its tool is left out", e.Binary, path),
			"put its directory into PATH, or take optional out of its entry")
		return false
	}
	switch {
	case err == nil:
		r.ok(e.Name, path)
	case absent && e.Optional:
		r.missing(e.Name, fmt.Sprintf("%s is not installed; it is optional, and its tool is left out", e.Binary), install(e.Binary))
	case absent:
		r.fault(e.Name, sentence(err)+"; no tool at all is loaded without it", install(e.Binary)+", or take the tool out of the file, or make it optional")
	default:
		r.fault(e.Name, sentence(err), "make it a program that this user may run (chmod +x), or name another one")
	}
	return err == nil
}

// checkDoc looks at the usage text of an entry, without which the tool works.
func checkDoc(e toolfile.Entry, dir string, r *report) {
	if e.Doc == "" {
		return
	}
	path := e.Doc
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			_ = f.Close()
		}
	}
	if err != nil {
		r.fault(e.Name, "its usage text cannot be read, so that a model has the description alone: "+sentence(err), "correct doc, or take it out; a relative path starts at the workdir")
	}
}

// checkDefs reports what is wrong with entries besides their programs.
func checkDefs(entries []toolfile.Entry, dir string, r *report) {
	_, err := tool.LoadTools(toolfile.Defs(entries), dir, zap.NewNop())
	for _, problem := range toolfile.Problems(err) {
		r.fault("tools file", sentence(problem), "no tool at all is loaded until this is corrected")
	}
}

// packages are what holds the programs of the built-in tools file, where it is
// not called like them.
var packages = map[string]string{
	"sh": "dash", "find": "findutils", "wc": "coreutils", "sort": "coreutils", "head": "coreutils",
}

// installers are the package managers that are looked for, with the words that
// install a package.
var installers = []struct{ name, words string }{
	{"apt-get", "apt-get install"}, {"dnf", "dnf install"}, {"apk", "apk add"}, {"pacman", "pacman -S"},
	{"zypper", "zypper install"}, {"brew", "brew install"}, {"winget", "winget install"},
}

// install says how a program is got.
func install(binary string) string {
	if !program.IsBare(binary) {
		return "put the program there, or correct its path (a relative one starts at the workdir)"
	}
	pkg := binary
	if runtime.GOOS == "linux" && packages[binary] != "" {
		pkg = packages[binary]
	}
	for _, i := range installers {
		if _, err := exec.LookPath(i.name); err == nil {
			return fmt.Sprintf("install it (%s %s, if its package is called so)", i.words, pkg)
		}
	}
	return fmt.Sprintf("install it with this system's package manager (its package may be called %s), or put the directory of the program into PATH", pkg)
}
