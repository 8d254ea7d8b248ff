//go:build !unix

package daemon

import "net"

// listenPrivately listens on a socket. Who may use it follows from the access
// control list of its directory here.
func listenPrivately(path string) (net.Listener, error) { return net.Listen("unix", path) }
