package fsroot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/durward/durward"
)

// A refusal is a verdict of ours, as opposed to an error of the kernel.
type refusal durward.Reason

func (r refusal) Error() string { return durward.Reason(r).Summary() }

// fail gives err the form in which it leaves the package. It names the path as the
// caller wrote it and never where that led.
func fail(op, name string, err error) error {
	reason := ReasonFor(err)
	e := &durward.Error{
		Kind:   kindFor(reason, err),
		Reason: reason,
		Op:     op,
		Retry:  errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EAGAIN),
		Err:    fmt.Errorf("%q: %w", name, err),
	}
	if inner := durward.AsError(err); inner != nil {
		e.Rule, e.Hint = inner.Rule, inner.Hint
	}
	return e
}

// kindFor keeps the kind of a failure that came in from a reader; otherwise the reason
// decides.
func kindFor(reason durward.Reason, err error) durward.Kind {
	var inner *durward.Error
	if errors.As(err, &inner) {
		return durward.KindOf(err)
	}
	return reason.Kind()
}

// ReasonFor gives the reason that stands for an error of the work with files.
func ReasonFor(err error) durward.Reason {
	var r refusal
	if errors.As(err, &r) {
		return durward.Reason(r)
	}
	if reason := durward.ReasonOf(err); reason != "" {
		return reason
	}
	switch {
	case errors.Is(err, context.Canceled):
		return durward.CallCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return durward.DeadlineExceeded
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return reasonForErrno(errno)
	}
	return durward.FileIO
}

func reasonForErrno(errno syscall.Errno) durward.Reason {
	switch errno {
	case syscall.ENOENT:
		return durward.FileNotFound
	case syscall.EEXIST:
		return durward.FileExists
	case syscall.ENOTDIR:
		return durward.NotADirectory
	case syscall.EISDIR, syscall.ENXIO, syscall.ENODEV:
		return durward.NotRegularFile
	case syscall.ELOOP:
		return durward.SymlinkLoop
	case syscall.ENAMETOOLONG:
		return durward.PathTooLong
	case syscall.EACCES, syscall.EPERM, syscall.EROFS:
		return durward.FilePermission
	case syscall.ENOSPC, syscall.EDQUOT:
		return durward.NoSpace
	}
	return durward.FileIO
}

var errClosed = fmt.Errorf("the root is closed: %w", fs.ErrClosed)
