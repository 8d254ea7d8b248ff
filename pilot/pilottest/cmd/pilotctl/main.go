// Command pilotctl is the fake pilotctl of package pilottest as a program of
// its own. It answers from the simulated network to which HOME or PILOT_SOCKET
// leads, and never touches a real one.
package main

import (
	"os"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

func main() { os.Exit(pilottest.Pilotctl()) }
