package pilottest

// Generation is a line of pilotctl releases that behave alike. A node of the
// network runs one: its pilotctl and its daemon.
type Generation string

// The generations that differ in how they parse arguments, what they answer
// and what they store.
const (
	V12  Generation = "1.2"  // 1.2.2: cannot wait for a reply, no trust gate, numeric node ids only
	V113 Generation = "1.13" // 1.13.x: reports a failed send with exit status 0
	V116 Generation = "1.16" // 1.16 and later: message ids, strict flags of send-message
)

func (g Generation) valid() bool { return g == V12 || g == V113 || g == V116 }

// modern tells the generations with the trust gate, help flags and the newer
// argument parser from 1.2.
func (g Generation) modern() bool { return g != V12 }

// version is what `pilotctl version` prints.
func (g Generation) version() string {
	if g == V113 {
		return "v1.13.9"
	}
	return "v1.16.0"
}
