//go:build !linux && !darwin

package cli

import (
	"errors"
	"os"

	"github.com/durward/durward"
)

// isTerminal reports whether a stream is a terminal, or may be one.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok || f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func terminalSize(any) (durward.WindowSize, bool) { return durward.WindowSize{}, false }

func makeRaw(any) (restore func(), err error) {
	return nil, &durward.Error{
		Reason: durward.NotSupported, Op: "terminal", Hint: "use exec without --stream",
		Err: errors.New("terminals are not supported on this system"),
	}
}

func forgetTyped(any) {}

func (x *execution) followSize(durward.Session) (stop func()) { return func() {} }
