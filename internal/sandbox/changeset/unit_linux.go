package changeset

import (
	"context"
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A unit is a change with all that comes or goes with it: what a new directory holds, and
// what a deleted one held. It is made by one rename.
type unit struct {
	set *Set
	all []*change // all[0] is the one whose name is renamed
	// dir and name are where that is, dir relative to lower.
	dir, name string

	// temp is a name beside it: of what is new until it is placed, of what was there after.
	temp string
	// made is what was staged, by the path that it is to have.
	made   map[string]identity
	staged bool
	placed bool
	// late is set where what was there could not be renamed, and is deleted in place.
	late bool
	// widened is set when a directory was given the permissions that it takes to change
	// what is in it.
	widened bool
}

func (u *unit) top() *change { return u.all[0] }

// full gives the path of a change on the machine.
func (u *unit) full(c *change) string { return path.Join(u.set.layers.Path, c.Path) }

func (u *unit) fail(c *change, err error) error { return failed(opApply, u.full(c), err) }

// onlyBits is for a directory that stays: what changed in it are units of their own.
func (u *unit) onlyBits() bool {
	return u.top().was.form == Directory && u.top().is.form == Directory
}

// units parts what is still to be done of a set.
func (s *Set) units() []*unit {
	var list []*unit
	for i := 0; i < len(s.changes); {
		c := s.changes[i]
		u := &unit{set: s, dir: path.Dir(c.Path), name: path.Base(c.Path), temp: tempName(), made: make(map[string]identity)}
		n := 1
		if c.was.form != Directory || c.is.form != Directory {
			for i+n < len(s.changes) && strings.HasPrefix(s.changes[i+n].Path, c.Path+"/") {
				n++
			}
		}
		u.all = s.changes[i : i+n]
		if !c.done {
			list = append(list, u)
		}
		i += n
	}
	return list
}

// parent opens the directory that a change is in, if it is the one that was compared.
func (s *Set) parent(dir string) (*os.File, node, error) {
	f, n, err := openDir(s.layers.Lower, dir)
	if err != nil {
		return nil, node{}, err
	}
	if n.id != s.dirs[dir].id {
		f.Close()
		return nil, node{}, errChanged
	}
	return f, n, nil
}

// verify finds out whether all that the unit is about is what it was.
func (u *unit) verify(ctx context.Context) error {
	dir, _, err := u.set.parent(u.dir)
	if err != nil {
		return u.fail(u.top(), err)
	}
	defer dir.Close()
	if err := u.verifyTree(ctx, dir, u.name); err != nil || !u.onlyBits() {
		return err
	}
	return u.verifyOwner()
}

// verifyTree compares what stands at a name with what the unit is to replace.
func (u *unit) verifyTree(ctx context.Context, dir *os.File, name string) error {
	held := make(map[string]int) // by path of a directory that goes, the names in it
	for i, c := range u.all {
		switch {
		case ctx.Err() != nil:
			return durward.Ended(ctx, opApply)
		case c.done, i > 0 && c.was.form == Nothing:
			continue // it is deleted, or in a directory that is still to be made
		}
		if err := verifyNode(dir, u.under(name, c), c.was, name == u.temp && i == 0); err != nil {
			return u.fail(c, err)
		}
		if i > 0 {
			held[path.Dir(c.Path)]++
		}
	}
	for _, c := range u.all {
		if c.done || c.was.form != Directory || u.onlyBits() {
			continue
		}
		if err := verifyHolds(dir, u.under(name, c), held[c.Path]); err != nil {
			return u.fail(c, err)
		}
	}
	return nil
}

// under gives where a change of the unit is when its first one has this name.
func (u *unit) under(name string, c *change) string { return name + c.Path[len(u.top().Path):] }

// verifyOwner finds out whether we may give a directory other permissions.
func (u *unit) verifyOwner() error {
	if user := os.Geteuid(); user != 0 && user != int(u.top().was.uid) {
		return u.fail(u.top(), unix.EPERM)
	}
	return nil
}

// verifyNode compares what stands at a path. What was renamed by us has changed by that.
func verifyNode(dir *os.File, at string, was node, renamed bool) error {
	in, _, err := openDir(dir, path.Dir(at))
	if err != nil {
		return err
	}
	defer in.Close()
	now, err := nodeAt(in, path.Base(at))
	if err == nil && now != was && !(renamed && now.moved(was)) {
		err = errChanged
	}
	return err
}

// verifyHolds finds out whether nothing was added to a directory that is to go.
func verifyHolds(dir *os.File, at string, count int) error {
	f, _, err := openDir(dir, at)
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(count + 1)
	if len(names) > count {
		return errChanged
	}
	if len(names) == 0 {
		return nil // its end
	}
	return err
}

// rename gives what is new its name, and sets aside what was there.
func (u *unit) rename(ctx context.Context) error {
	if u.onlyBits() {
		return nil
	}
	dir, _, err := u.set.parent(u.dir)
	if err != nil {
		return u.fail(u.top(), err)
	}
	defer dir.Close()
	if err := u.place(dir); err != nil {
		return u.fail(u.top(), err)
	}
	if !u.late && u.top().was.form != Nothing {
		if err := u.verifyTree(ctx, dir, u.temp); err != nil {
			return err
		}
	}
	return u.fail(u.top(), syncDir(dir))
}

func (u *unit) place(dir *os.File) error {
	c := u.top()
	now, err := nodeAt(dir, u.name)
	if err == nil && now != c.was {
		err = errChanged
	}
	if err == nil && c.is.form != Nothing {
		err = u.isMade(dir, u.temp)
	}
	switch {
	case err != nil:
		return err
	case c.was.form == Nothing:
		err = moveNew(dir, u.temp, u.name)
	case c.is.form == Nothing:
		err = moveNew(dir, u.name, u.temp)
		if err == unix.EXDEV {
			u.late, err = true, nil
		}
	default:
		u.temp, err = exchange(dir, u.temp, u.name)
		if err == unix.EXDEV {
			err = errFixed
		}
	}
	u.placed = err == nil
	if err == nil && c.is.form != Nothing {
		err = u.confirm(dir)
	}
	return err
}

// confirm finds out whether it is what we made that got the name of the unit. What somebody
// put in its place at the last moment loses that name again.
func (u *unit) confirm(dir *os.File) error {
	err := u.isMade(dir, u.name)
	if err == nil {
		return nil
	}
	if back := u.swapBack(dir); back != nil {
		return errors.Join(err, back)
	}
	u.placed = false
	return errors.Join(err, u.noteAgain(dir))
}

// swapBack gives what stands at the name of the unit the one beside it, and the other way
// round.
func (u *unit) swapBack(dir *os.File) (err error) {
	if u.top().was.form == Nothing {
		return moveNew(dir, u.name, u.temp)
	}
	u.temp, err = exchange(dir, u.temp, u.name)
	return err
}

// finish does what is left when all has its place.
func (u *unit) finish() error {
	if u.onlyBits() {
		err := u.chmod(u.top().is.bits)
		u.top().done = err == nil
		return err
	}
	if !u.late {
		u.setDone()
	}
	return u.removeOld()
}

func (u *unit) setDone() {
	for _, c := range u.all {
		c.done = true
	}
}

// remains gives where something is left that nobody needs, if it is or if nobody can tell.
func (u *unit) remains() []string {
	if !u.staged && !u.placed {
		return nil
	}
	dir, _, err := u.set.parent(u.dir)
	if err == nil {
		defer dir.Close()
		var left node
		if left, err = nodeAt(dir, u.temp); err == nil && left.form == Nothing {
			return nil
		}
	}
	return []string{path.Join(u.set.layers.Path, u.dir, u.temp)}
}

// takeBack makes everything of the unit what it was.
func (u *unit) takeBack() error {
	if !u.placed && !u.widened && !u.staged {
		return nil
	}
	dir, _, err := u.set.parent(u.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if u.placed {
		if err := u.putBack(dir); err != nil {
			return err
		}
		u.placed = false
		if err := u.noteAgain(dir); err != nil {
			return err
		}
	}
	if u.widened {
		if err := u.setBits(dir, u.top().was.bits); err != nil {
			return err
		}
		u.widened = false
	}
	return u.discard(dir)
}

func (u *unit) putBack(dir *os.File) error {
	c := u.top()
	if c.is.form == Nothing {
		if u.late {
			return nil
		}
		return moveNew(dir, u.temp, u.name)
	}
	if err := u.isMade(dir, u.name); err != nil {
		return err
	}
	return u.swapBack(dir)
}

// noteAgain takes note that our renames are not a change by others.
func (u *unit) noteAgain(dir *os.File) error {
	c := u.top()
	now, err := nodeAt(dir, u.name)
	if err == nil && now.moved(c.was) {
		c.was = now
	}
	return err
}
