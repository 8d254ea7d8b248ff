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
	turn := c.versionTurn()
	if err := take(ctx, turn); err != nil {
		return generationUnknown, err
	}
	defer func() { <-turn }()
	if c.release != generationUnknown {
		return c.release, nil
	}
	r, err := o.child(ctx, argv{}.add("version"), versionTime, nil)
	if err != nil {
		return generationUnknown, err
	}
	if r.Cancelled && ctx.Err() != nil {
		return generationUnknown, ctx.Err()
	}
	if c.release = generationOf(r); c.release == generationUnknown {
		return generationUnknown, &Error{Code: codeNoAnswer, Message: "pilotctl did not tell its version, which decides how this can be sent", Hint: "nothing was sent; try once more later, or tell the user", ours: true}
	}
	return c.release, nil
}

// versionTurn is held by the one call that asks.
func (c *Client) versionTurn() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking == nil {
		c.asking = make(chan struct{}, 1)
	}
	return c.asking
}

// generationOf reads the answer to the version command. A build without a
// number is taken for the generation that can do less.
func generationOf(r *run.Result) generation {
	switch {
	case r.ExitCode < 0 || r.ExitCode > 2:
		return generationUnknown // something ended it, or a wrapper did not get to it
	case r.ExitCode > 0:
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
