package changeset

import (
	"context"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// removeOld deletes what a placed unit set aside: what was read there, and nothing else.
func (u *unit) removeOld() error {
	dir, _, err := u.set.parent(u.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := u.temp
	if u.late {
		name = u.name
		// Nothing ends this any more, but it cannot be taken back either.
		if err := u.verifyTree(context.Background(), dir, name); err != nil {
			return err
		}
	}
	for _, c := range slices.Backward(u.all) {
		if c.was.form == Nothing || u.late && c.done {
			continue
		}
		if err := remove(dir, u.under(name, c), c.was, c == u.top()); err != nil {
			return err
		}
		c.done = true
	}
	if u.late {
		return syncDir(dir)
	}
	return nil
}

// remove deletes what stands at a path, if it is what is wanted.
func remove(dir *os.File, at string, wanted node, renamed bool) error {
	in, around, err := openDir(dir, path.Dir(at))
	if err != nil {
		return err
	}
	defer in.Close()
	name := path.Base(at)
	now, err := nodeAt(in, name)
	switch {
	case err != nil:
		return err
	case wanted.form == Directory && now.id == wanted.id: // it may be widened, and holds less
	case now == wanted, renamed && now.moved(wanted):
	default:
		return errChanged
	}
	flags := 0
	if wanted.form == Directory {
		flags = unix.AT_REMOVEDIR
	}
	err = unix.Unlinkat(descriptor(in), name, flags)
	if err != unix.EACCES || path.Dir(at) == "." {
		return err
	}
	// The directory it is in goes as well, and may only be read.
	if err := unix.Fchmod(descriptor(in), around.bits|0o700); err != nil {
		return err
	}
	return unix.Unlinkat(descriptor(in), name, flags)
}

// setBits gives the directory of a unit other permissions.
func (u *unit) setBits(dir *os.File, bits uint32) error {
	f, err := openBeneath(dir, u.name, lookFlags|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := nodeOfFile(f)
	if err == nil && n.id != u.top().was.id {
		err = errChanged
	}
	if err != nil {
		return err
	}
	return unix.Fchmodat(unix.AT_FDCWD, behind(f), bits, 0)
}

// widen lets us change what is in a directory, where the command let itself do so.
func (u *unit) widen(context.Context) error {
	const ours = 0o300
	c := u.top()
	if !u.onlyBits() || c.was.bits&ours == ours || c.is.bits&ours != ours {
		return nil
	}
	return u.chmod(c.was.bits | ours)
}

func (u *unit) chmod(bits uint32) error {
	dir, _, err := u.set.parent(u.dir)
	if err != nil {
		return u.fail(u.top(), err)
	}
	defer dir.Close()
	if err := u.setBits(dir, bits); err != nil {
		return u.fail(u.top(), err)
	}
	u.widened = true
	return nil
}
