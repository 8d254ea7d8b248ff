package pilot

import (
	"context"
	"regexp"
	"strconv"

	"github.com/fantasytools/fantasytools/internal/run"
)

// generation is the way of speaking of a pilotctl. There are three: 1.2, which
// does not know a version command; 1.13 and later; and 1.16 and later, which
// takes a message from a file.
type generation int

const (
	generationUnknown generation = iota
	generation12
	generation113
	generation116
)

var versionNumber = regexp.MustCompile(`(?m)^\s*(?:pilotctl\s+)?v?(\d{1,6})\.(\d{1,6})`)

// generation asks pilotctl for its version, once in the life of a Client and
// only where what it is given depends on it.
func (o *op) generation(ctx context.Context) (generation, error) {
	c := o.client
	c.mu.Lock()
	known := c.release
	c.mu.Unlock()
	if known != generationUnknown {
		return known, nil
	}
	r, err := o.child(ctx, argv{}.add("version"), versionTime, nil)
	if err != nil {
		return generationUnknown, err
	}
	g := generationOf(r)
	c.mu.Lock()
	c.release = g
	c.mu.Unlock()
	return g, nil
}

// generationOf reads the answer to the version command. A build without a
// number is taken for the generation that can do less.
func generationOf(r *run.Result) generation {
	if r.TimedOut {
		return generationUnknown
	}
	if r.ExitCode != 0 {
		return generation12
	}
	m := versionNumber.FindSubmatch(r.Stdout.Head)
	if m == nil {
		return generation113
	}
	major, _ := strconv.Atoi(string(m[1])) // the pattern lets only digits through
	minor, _ := strconv.Atoi(string(m[2]))
	switch {
	case major > 1 || major == 1 && minor >= 16:
		return generation116
	case major == 1 && minor >= 13:
		return generation113
	}
	return generation12
}
