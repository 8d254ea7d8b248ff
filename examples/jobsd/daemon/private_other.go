//go:build !unix

package daemon

import "net"

// nobodyListens tells whether a socket is one that a process left that died. The
// errors of connecting do not tell more here.
func nobodyListens(error) bool { return true }

// listenPrivately listens on a socket. Who may use it follows from the access
// control list of its directory here.
func listenPrivately(path string) (net.Listener, error) { return net.Listen("unix", path) }
