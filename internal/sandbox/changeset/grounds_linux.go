package changeset

import (
	"errors"
	"os"
	"path"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/denyglob"
)

// A standing is a set of what a grant says about a path.
type standing uint8

const (
	denied standing = 1 << iota
	protected
	around // a directory in which something is denied or protected
	readable
	writable
)

// grounds are what a grant says about paths, and about what stands at them now.
type grounds struct {
	said     map[string]standing // by path, for what is given
	taken    map[string]standing // by folded path, for what is taken back
	stands   map[identity]standing
	patterns *denyglob.Patterns
}

func groundsOf(f durward.Files) (*grounds, error) {
	patterns, err := denyglob.Compile(f.DenyGlobs)
	if err != nil {
		return nil, err
	}
	g := &grounds{said: make(map[string]standing), taken: make(map[string]standing), stands: make(map[identity]standing), patterns: patterns}
	for _, p := range f.Read {
		g.said[p] |= readable
	}
	for _, p := range f.Write {
		g.said[p] |= writable
	}
	return g, errors.Join(g.take(f.Deny, denied), g.take(f.Protect, protected))
}

// take notes paths that are taken back: what stands at each, what that leads to if it is a
// link, and the directories around it.
func (g *grounds) take(paths []string, as standing) error {
	for _, p := range paths {
		g.taken[folded(p)] |= as
		for dir := path.Dir(p); dir != "/" && dir != "."; dir = path.Dir(dir) {
			g.taken[folded(dir)] |= around
		}
		for _, flags := range []int{unix.AT_SYMLINK_NOFOLLOW, 0} {
			var st unix.Stat_t
			err := uninterrupted(func() error { return unix.Fstatat(unix.AT_FDCWD, p, &st, flags) })
			switch err {
			case nil:
				g.stands[nodeOf(&st).id] |= as
			case unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.ELOOP:
			default:
				return &durward.Error{Reason: durward.SandboxError, Op: opApply, Rule: "filesystem", Hint: "check the path in the policy", Err: &os.PathError{Op: "look at", Path: p, Err: err}}
			}
		}
	}
	return nil
}

// judge says whether the grant lets a change be made.
func (g *grounds) judge(s *Set, c *change) error {
	full := path.Join(s.layers.Path, c.Path)
	all, given := g.along(s, c, full)
	const op = opApply
	switch {
	case all&denied != 0 || g.patterns.Match(full):
		return refusal(op, durward.OutsideRoot, "filesystem.deny", "leave the path alone; the policy denies it", full, "it is denied")
	case all&protected != 0:
		return refusal(op, durward.FilePermission, "filesystem.protect", "leave the path alone; the policy protects it", full, "it is protected")
	case g.taken[folded(full)]&around != 0 && !(c.Kind == Added && c.Is == Directory):
		return refusal(op, durward.FilePermission, "filesystem.protect", "leave the path alone; the policy protects what is in it", full, "something in it is protected or denied")
	case given&writable == 0:
		return refusal(op, durward.OutsideRoot, "filesystem.write", "name the path in filesystem.write", full, "it is not to be written")
	}
	return nil
}

// along gives all that is said of a path and the directories around it, and what the
// innermost of those that are given is given for.
func (g *grounds) along(s *Set, c *change, full string) (all, given standing) {
	all = g.stands[c.was.id]
	if c.was.form == Nothing {
		all = 0
	}
	given = g.said["/"]
	for end := 1; end <= len(full); end++ {
		if end < len(full) && full[end] != '/' {
			continue
		}
		part := full[:end]
		all |= g.taken[folded(part)] &^ around
		if is := g.said[part]; is != 0 {
			given = is
		}
	}
	for dir := path.Dir(c.Path); ; dir = path.Dir(dir) {
		if n, ok := s.dirs[dir]; ok {
			all |= g.stands[n.id]
		}
		if dir == "." {
			return all, given
		}
	}
}

// folded gives one form to all spellings that a file system may take for the same name.
func folded(p string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, p)
}
