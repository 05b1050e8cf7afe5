//go:build !linux

package httpedge

// peerOf knows no more than what net/http read.
func peerOf(c *conn) peerState { return c.noted() }
