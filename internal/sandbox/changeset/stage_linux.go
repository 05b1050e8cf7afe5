package changeset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path"
	"slices"
)

// Staging writes all that is new beside the place where it is to stand.

// stage builds what is new of a unit under the name temp.
func (u *unit) stage(ctx context.Context) error {
	if u.top().is.form == Nothing || u.onlyBits() {
		return nil
	}
	dir, _, err := u.set.parent(u.dir)
	if err != nil {
		return u.fail(u.top(), err)
	}
	defer dir.Close()
	for _, c := range u.all {
		if c.is.form == Nothing {
			continue
		}
		u.staged = true
		if err := u.build(ctx, dir, c); err != nil {
			return u.fail(c, err)
		}
	}
	return u.fail(u.top(), u.finishDirs(dir))
}

// build makes one file or directory.
func (u *unit) build(ctx context.Context, dir *os.File, c *change) error {
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
	if err := u.set.layers.own(f, c); err != nil {
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
func (u *unit) finishDirs(dir *os.File) error {
	for _, c := range slices.Backward(u.all) {
		if c.is.form != Directory {
			continue
		}
		made, _, err := u.openMade(dir, c.Path)
		if err != nil {
			return err
		}
		if err = u.set.layers.own(made, c); err == nil {
			err = syncDir(made)
		}
		made.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
