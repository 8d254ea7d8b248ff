package pilot

import "time"

// The timers of the verbs. pilotctl has almost none of its own: with a frozen
// daemon or registry it hangs for ever. A verb that waits gets what it waits
// for and spareTime, which covers resolving, the first handshake (21 s) and
// dialling (30 s). Time spent waiting for a free place is not counted.
const (
	spareTime     = 60 * time.Second // of every verb that is not named here
	askWait       = 30 * time.Second // Search, Help and Query wait this long for the reply
	summaryWait   = 60 * time.Second // Summary waits longer: a model writes the reply
	handshakeTime = 120 * time.Second
	sendFileTime  = 15 * time.Minute
	pingTime      = 20 * time.Second // per packet: 10 s to dial and 10 s for the echo
	pingSpare     = 25 * time.Second
	versionTime   = 10 * time.Second
)

// killGrace is how long a pilotctl that was told to end may take to do so.
const killGrace = 500 * time.Millisecond

// pingLimit is the longest that pilotctl can need: it gives each packet
// timeout/count, at least 10 s, to be dialled and again to be answered.
func pingLimit(count, timeoutSeconds int) time.Duration {
	each := 2 * time.Duration(timeoutSeconds) * time.Second / time.Duration(count)
	return time.Duration(count)*max(pingTime, each) + pingSpare
}
