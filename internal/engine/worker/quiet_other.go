//go:build !unix

package worker

// isQuiet does not know here, so that no free connection is used again.
func (*conn) isQuiet() bool { return false }
