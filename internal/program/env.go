package program

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// credentialParts are the words that make the name of a variable look like a
// credential's when one stands between its underscores.
var credentialParts = map[string]bool{
	"KEY": true, "TOKEN": true, "SECRET": true, "PASSWORD": true, "PASSWD": true, "CREDENTIALS": true,
}

// defaultPath is the PATH of a child where this process has none.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// looksSecret reports whether a variable of this name is withheld from children.
func looksSecret(name string) bool {
	for part := range strings.SplitSeq(strings.ToUpper(name), "_") {
		if credentialParts[part] {
			return true
		}
	}
	return false
}

// CheckEnv returns what is wrong with the entries for [Environment].
func CheckEnv(env []string) []error {
	var errs []error
	seen := make(map[string]bool, len(env))
	for i, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		switch key := envKey(name); {
		case strings.ContainsRune(entry, 0):
			errs = append(errs, fmt.Errorf("entry %d of Env holds a NUL character", i+1))
		case name == "" || strings.TrimSpace(name) != name:
			errs = append(errs, fmt.Errorf("entry %d of Env is neither KEY=VALUE nor KEY", i+1))
		case seen[key]:
			errs = append(errs, fmt.Errorf("entry %d of Env names %s a second time", i+1, name))
		default:
			seen[key] = true
		}
	}
	return errs
}

// Environment returns the environment of a child that runs in workDir, an absolute
// path: this process's as it is now, without what looks like a credential, changed
// by the entries. KEY=VALUE sets a variable, KEY passes one on that is withheld
// otherwise. PATH begins with usr/bin below workDir.
func Environment(entries []string, workDir string) []string {
	named := make(map[string]bool, len(entries))
	path, hasPath := os.LookupEnv("PATH")
	if !hasPath && runtime.GOOS != "windows" {
		path = defaultPath
	}
	var set []string
	for _, entry := range entries {
		name, value, sets := strings.Cut(entry, "=")
		key := envKey(name)
		named[key] = true
		switch {
		case sets && key == "PATH":
			path = value
		case sets:
			set = append(set, entry)
		}
	}
	env := make([]string, 0, len(os.Environ())+len(set)+2)
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if key := envKey(name); key == "PATH" || key == "PWD" || looksSecret(name) && !named[key] {
			continue
		}
		env = append(env, entry)
	}
	env = append(env, "PWD="+workDir, "PATH="+withUsrBin(path, workDir))
	return append(env, set...) // of two entries for one name the last counts
}

// withUsrBin puts usr/bin below workDir in front of a PATH. A workDir that holds
// the separator cannot stand in one: it would be two entries, the second of them
// relative.
func withUsrBin(path, workDir string) string {
	bin := filepath.Join(workDir, "usr", "bin")
	switch {
	case strings.ContainsRune(bin, filepath.ListSeparator):
		return path
	case path == "":
		return bin
	}
	return bin + string(filepath.ListSeparator) + path
}

// envKey returns what tells variables apart: the name, on Windows without case.
func envKey(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}
