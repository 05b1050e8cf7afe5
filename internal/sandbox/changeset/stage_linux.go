package changeset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// Staging writes all that is new beside the place where it is to stand.

// stage builds what is new of a unit under the name temp.
func (u *unit) stage(ctx context.Context) error {
	if u.top().is.form == Nothing || u.onlyBits() {
		return nil
	}
	dir, around, err := u.set.parent(u.dir)
	if err != nil {
		return u.fail(u.top(), err)
	}
	defer dir.Close()
	for _, c := range u.all {
		if c.is.form == Nothing {
			continue
		}
		u.staged = true
		if err := u.build(ctx, dir, c, around); err != nil {
			return u.fail(c, err)
		}
	}
	return u.fail(u.top(), u.finishDirs(dir, around))
}

// build makes one file or directory.
func (u *unit) build(ctx context.Context, dir *os.File, c *change, around node) error {
	in, _, err := u.openAround(dir, c)
	if err != nil {
		return err
	}
	defer in.Close()
	name := path.Base(u.under(u.temp, c))
	if c.is.form == Directory {
		return u.makeDir(in, name, c)
	}
	f, err := u.makeFile(in, name, c)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := u.fill(ctx, f, c); err != nil {
		return err
	}
	if err := own(f, c, around); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// fill copies what was read in upper, and makes sure that it is that.
func (u *unit) fill(ctx context.Context, to io.Writer, c *change) error {
	from, err := elsewhere(func() (*os.File, error) { return openFile(u.set.layers.Upper, c.Path, c.is) })
	if err != nil {
		return err
	}
	defer from.Close()
	h := sha256.New()
	n, err := copyChunks(ctx, opApply, io.MultiWriter(to, h), io.LimitReader(from, c.is.size+1))
	if err == nil && (n != c.is.size || hex.EncodeToString(h.Sum(nil)) != c.SHA256) {
		err = errChanged
	}
	return err
}

// finishDirs gives new directories their permissions once all is in them.
func (u *unit) finishDirs(dir *os.File, around node) error {
	for _, c := range slices.Backward(u.all) {
		if c.is.form != Directory {
			continue
		}
		made, _, err := u.openMade(dir, c.Path)
		if err != nil {
			return err
		}
		if err = own(made, c, around); err == nil {
			err = syncDir(made)
		}
		made.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// own gives what was made its owner and its permissions. A file that was there keeps its
// owner; what is new gets that of the directory it lands in, where we may say whose it is.
func own(f *os.File, c *change, around node) error {
	bits := c.is.bits & permissionBits
	if c.is.form == Directory {
		bits = c.is.bits
	}
	fd := descriptor(f)
	switch {
	case c.was.form == File && c.is.form == File:
		if err := unix.Fchown(fd, int(c.was.uid), int(c.was.gid)); err != nil {
			// Each class of users may now be another one: they get what all had.
			shared := (bits >> 6) & (bits >> 3) & bits & 0o7
			bits = bits&0o700 | shared<<3 | shared
		}
	case os.Geteuid() == 0:
		// In a user namespace there may be owners that cannot be named: then it is ours.
		if err := unix.Fchown(fd, int(around.uid), int(around.gid)); err != nil && err != unix.EPERM && err != unix.EINVAL {
			return err
		}
	}
	return unix.Fchmod(fd, bits)
}
