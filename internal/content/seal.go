package content

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward/internal/fsroot"
)

// A Seal knows the pages that were there when it was made and that the user of their
// commands could not write. It may be used from any goroutine.
type Seal struct {
	local *Local
	user  func(dir string) (User, error)
	// pages are the files by their physical paths.
	pages    map[string]identity
	unsealed []string
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
		if isPage(path) {
			s.take(path)
		}
	}
	return s, nil
}

func isPage(path string) bool { return strings.HasSuffix(path, ".md") }

// take looks at one page.
func (s *Seal) take(path string) {
	c, err := s.local.open(path)
	if err != nil {
		return // it went away
	}
	defer c.Body.Close()
	if p, ok := s.unwritable(c); ok {
		s.pages[p.path] = p.file
	} else {
		s.unsealed = append(s.unsealed, path)
	}
}

// Unsealed gives the paths of the other pages that were there, sorted.
func (s *Seal) Unsealed() iter.Seq[string] { return slices.Values(s.unsealed) }

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
	if c.physical == nil || !isPage(c.Path) {
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
	p, ok = s.look(user, physical)
	return p, ok && !p.writable && p.file == c.file
}

// look goes from the root to a physical path, if it leads there and all can be seen.
func (s *Seal) look(user User, physical string) (p place, ok bool) {
	below, ok := fsroot.Below(s.local.physical, physical)
	if !ok {
		return place{}, false
	}
	var err error
	p.path = s.local.physical
	for _, name := range append([]string{""}, strings.Split(filepath.ToSlash(below), "/")...) {
		p.path = filepath.Join(p.path, name)
		p.replaceable = p.replaceable || p.writable
		if p.writable, p.file, err = user.canWrite(p.path); err != nil {
			return place{}, false
		}
	}
	return p, true
}
