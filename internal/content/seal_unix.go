//go:build unix

package content

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A User is somebody who may be able to write files.
type User struct {
	UID uint32
	// GIDs are all groups of the user's.
	GIDs []uint32
}

// A Seal knows the pages that were there when it was made and that the user of their
// commands could not write. It may be used from any goroutine.
type Seal struct {
	local *Local
	user  func(dir string) (User, error)
	// pages are the files by their physical paths.
	pages map[string]identity
}

// Seal looks at all pages, which are the files that end in .md. To user it gives the
// directory in which the commands of a page run; where that fails the page is taken for
// one that can be written.
func (l *Local) Seal(ctx context.Context, user func(dir string) (User, error)) (*Seal, error) {
	s := &Seal{local: l, user: user, pages: map[string]identity{}}
	paths, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if !strings.HasSuffix(path, ".md") {
			continue
		}
		c, err := l.open(path)
		if err != nil {
			continue // it went away
		}
		if p, ok := s.unwritable(c); ok {
			s.pages[p.path] = p.file
		}
		c.Body.Close()
	}
	return s, nil
}

// Holds reports whether a page is a sealed one, and its user cannot write it now either.
// One that the user could have put in its place, in a directory that is theirs to write,
// must still be the same file.
func (s *Seal) Holds(c *Content) bool {
	p, ok := s.unwritable(c)
	was, sealed := s.pages[p.path]
	return ok && sealed && (!p.replaceable || p.file == was)
}

// A place is where a page physically lies, and what the user of its commands can do
// there.
type place struct {
	path string
	file identity
	// writable tells of the page itself, and replaceable of a directory on the way to it.
	writable, replaceable bool
}

// unwritable gives the place of a page that its user cannot write.
func (s *Seal) unwritable(c *Content) (p place, ok bool) {
	if c.physical == nil || !strings.HasSuffix(c.Path, ".md") {
		return place{}, false
	}
	physical, err := c.physical()
	if err != nil {
		return place{}, false
	}
	user, err := s.user(filepath.Dir(physical))
	if err != nil {
		return place{}, false
	}
	p, err = s.look(user, physical)
	return p, err == nil && !p.writable && p.file == c.file
}

// look goes from the root to a physical path.
func (s *Seal) look(user User, physical string) (p place, err error) {
	below, err := filepath.Rel(s.local.physical, physical)
	if err != nil {
		return place{}, err
	}
	p.path = s.local.physical
	for _, name := range append([]string{""}, strings.Split(below, "/")...) {
		p.path = filepath.Join(p.path, name)
		p.replaceable = p.replaceable || p.writable
		if p.writable, p.file, err = user.canWrite(p.path); err != nil {
			return place{}, err
		}
	}
	return p, nil
}

// canWrite reports whether the user can write a file or directory: is allowed to, or can
// allow it to themselves, as its owner and root can.
func (u User) canWrite(path string) (bool, identity, error) { return u.can(path, 0o2) }

// CanRead reports whether the user can read a file, or can allow it to themselves, as far
// as the file itself tells.
func (u User) CanRead(path string) (bool, error) {
	can, _, err := u.can(path, 0o4)
	return can, err
}

// can looks for one right, given as a bit of others.
func (u User) can(path string, right os.FileMode) (bool, identity, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, identity{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false, identity{}, errors.ErrUnsupported
	}
	file := identity{uint64(st.Dev), st.Ino}
	mode := info.Mode().Perm()
	if u.UID == 0 || u.UID == st.Uid || mode&right != 0 {
		return true, file, nil
	}
	// With an access list, the bits of the group are the most that it gives to anybody.
	byGroup := mode&(right<<3) != 0 && (slices.Contains(u.GIDs, st.Gid) || hasAccessList(path))
	return byGroup, file, nil
}

func hasAccessList(path string) bool {
	n, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0 || err == unix.EACCES || err == unix.EPERM
}
