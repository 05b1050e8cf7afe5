//go:build !linux && !darwin && !windows

package process

import "os"

func pipe(oursReads bool) (ours, theirs *os.File, err error) {
	if ours, theirs, err = os.Pipe(); !oursReads {
		ours, theirs = theirs, ours
	}
	return ours, theirs, err
}

func nothing() (*os.File, error) { return os.Open(os.DevNull) }

// pending: no command runs on this system.
func pending(*os.File) int { return 0 }
