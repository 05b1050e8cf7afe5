package confined

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/denyglob"
)

// noted is what stands at the paths of a grant, at one moment.
type noted struct {
	stands  map[identity]standing
	missing []absence
}

// An absence is a path at which nothing stands: names that are missing in a directory, the
// first of them at least.
type absence struct {
	in     identity
	names  []string
	stands standing
}

// note looks at the paths of the terms.
func (t *terms) note() (*noted, error) {
	n := &noted{stands: make(map[identity]standing)}
	for path, stands := range t.said {
		if err := n.add(path, stands); err != nil {
			return nil, unseen(path, err)
		}
	}
	return n, nil
}

// search adds what patterns deny now.
func (t *terms) search(ctx context.Context, op string, n *noted) error {
	if len(t.globs) == 0 {
		return nil
	}
	within, err := t.within()
	if err != nil || len(within) == 0 {
		return err
	}
	found, err := denyglob.Expand(ctx, t.globs, within)
	switch {
	case ctx.Err() != nil:
		return durward.Ended(ctx, op)
	case err != nil:
		return err
	}
	for _, path := range found {
		if err := n.add(path, denied); err != nil {
			return unseen(path, err)
		}
	}
	return nil
}

// add notes what stands at a path, and what that leads to if it is a symlink; or else the
// nearest directory above it, and the names that are missing there. What cannot be entered
// by us is missing: no operation of ours gets there.
func (n *noted) add(path string, stands standing) error {
	id, typ, err := identify(unix.AT_FDCWD, path, false)
	var names []string
	for dir := path; unreached(err) && dir != "/"; id, _, err = identify(unix.AT_FDCWD, dir, true) {
		names = append(names, filepath.Base(dir))
		dir = filepath.Dir(dir)
	}
	switch {
	case err != nil:
		return err
	case len(names) > 0:
		slices.Reverse(names)
		n.missing = append(n.missing, absence{in: id, names: names, stands: stands})
		return nil
	}
	n.stands[id] |= stands
	if typ != unix.S_IFLNK {
		return nil
	}
	to, _, err := identify(unix.AT_FDCWD, path, true)
	if err == nil {
		n.stands[to] |= stands
	}
	if unreached(err) {
		return nil
	}
	return err
}

func unreached(err error) bool { return gone(err) || err == unix.EACCES || err == unix.ELOOP }

func unseen(path string, err error) error {
	const hint = "check the path in the policy"
	return &durward.Error{Reason: durward.SandboxError, Op: "confine files", Rule: "filesystem", Hint: hint, Err: &os.PathError{Op: "look at", Path: path, Err: err}}
}
