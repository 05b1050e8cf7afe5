package pathguard

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// refused is a verdict on a path.
func refused(reason durward.Reason, op, path, hint string) *durward.Error {
	return &durward.Error{Reason: reason, Op: op, Hint: hint, Path: path, Err: fmt.Errorf("%q: %s", path, reason.Summary())}
}

// outside is the one answer to whatever is outside.
func outside(op, path string) error {
	return refused(durward.OutsideRoot, op, path, "use a path within the allowed roots")
}

// failed gives err the form in which it leaves the package: it names the path as the
// caller wrote it and nothing that it led to. It gives nil for nil.
func failed(op, path string, err error) error {
	if err == nil {
		return nil
	}
	reason := durward.DotDotInMissingPath
	if err != errDotDot {
		reason = fsroot.ReasonFor(err)
	}
	e := refused(reason, op, path, "")
	if inner := durward.AsError(err); inner != nil {
		e.Kind, e.Rule, e.Hint, e.Retry = durward.KindOf(err), inner.Rule, inner.Hint, inner.Retry
	}
	if cause := causeOf(err); cause != nil {
		e.Err = fmt.Errorf("%q: %w", path, cause)
	}
	return e
}

// causeOf gives what of the cause of err does not tell where a path led.
func causeOf(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	switch durward.KindOf(err) {
	case durward.Timeout, durward.Cancelled, durward.Unavailable:
		return errors.Unwrap(durward.AsError(err))
	}
	return nil
}
