package changeset

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A Set is all that was changed in one workspace. It is for one goroutine.
type Set struct {
	layers  Layers
	changes []*change
	// dirs are the directories of lower that were compared, by their path; "." is lower.
	dirs map[string]node
}

// A change with what it takes to make it.
type change struct {
	Change
	was, is node
	done    bool
}

// Read compares the two trees. The changes are in the order of a walk: by name, a directory
// before what it holds.
//
// maxBytes bounds the size of the files in upper, all together; zero means the default of
// limits.tmpBytes, [durward.Unlimited] none. More than that, or than 200 000 files and
// directories to look at, or a tree of more than 128 directories one in the other, is an
// error with reason TooManyChanges. What cannot be read is one with that of the failure.
//
// A workspace that others change meanwhile is compared as it is found, or not at all: then
// the reason is ChangedMeanwhile. What is changed later is noticed by [Apply].
func Read(ctx context.Context, l Layers, maxBytes int64) (*Set, error) {
	return read(ctx, l, newBounds(maxBytes))
}

func read(ctx context.Context, l Layers, b bounds) (*Set, error) {
	w := &walk{ctx: ctx, bounds: b, layers: l, set: &Set{layers: l, dirs: make(map[string]node)}}
	if err := w.root(); err != nil {
		return nil, err
	}
	return w.set, nil
}

// Changes lists the changes.
func (s *Set) Changes() []Change {
	list := make([]Change, len(s.changes))
	for i, c := range s.changes {
		list[i] = c.Change
	}
	return list
}

// failed gives an error of the kernel the form in which it leaves the package.
func failed(op, path string, err error) error {
	if err == nil || durward.AsError(err) != nil {
		return err
	}
	e := &durward.Error{Op: op, Reason: reasonFor(err), Err: &os.PathError{Op: "at", Path: quoted(path), Err: err}}
	switch e.Reason {
	case durward.ChangedMeanwhile:
		e.Hint = "run the command again on what is there now"
	case durward.SandboxUnavailable:
		e.Hint = "make this change by hand first, or run the command without copyOnWrite"
	}
	return e
}

func reasonFor(err error) durward.Reason {
	for _, row := range []struct {
		err    error
		reason durward.Reason
	}{
		{errChanged, durward.ChangedMeanwhile},
		{errFixed, durward.SandboxUnavailable},
		// A name that was there is not, or is another thing, or leads elsewhere now.
		{unix.ENOENT, durward.ChangedMeanwhile},
		{unix.ENOTDIR, durward.ChangedMeanwhile},
		{unix.ELOOP, durward.ChangedMeanwhile},
		{unix.EXDEV, durward.ChangedMeanwhile},
		{unix.EEXIST, durward.ChangedMeanwhile},
		{unix.ENOTEMPTY, durward.ChangedMeanwhile},
		{unix.EACCES, durward.FilePermission},
		{unix.EPERM, durward.FilePermission},
		{unix.EROFS, durward.FilePermission},
		{unix.ENOSPC, durward.NoSpace},
		{unix.EDQUOT, durward.NoSpace},
		{unix.ENOSYS, durward.SandboxUnavailable},
	} {
		if errors.Is(err, row.err) {
			return row.reason
		}
	}
	return durward.FileIO
}
