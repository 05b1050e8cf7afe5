//go:build linux || darwin

package fsroot

import (
	"slices"
	"strings"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

// A parent is the open directory a file is written to, with the directories that were
// made to get there.
type parent struct {
	fd   int
	made []madeDir
}

// A madeDir is a directory we made: name in the directory in, which is ours to close.
type madeDir struct {
	in   int
	name string
}

// openParent opens dir, in which base is to be written, and judges it before anything is
// made in it.
func (r *Root) openParent(dir, base string, o WriteOptions) (*parent, error) {
	fd, missing, err := r.openExisting(dir, links(o.NoLinks))
	if err != nil {
		return nil, err
	}
	p := &parent{fd: fd}
	if err := judgeFilesystem(fd, o.Rules); err != nil {
		p.close(false)
		return nil, err
	}
	if err := o.admit(Place{FD: fd, Names: append(slices.Clip(missing), base)}); err != nil {
		p.close(false)
		return nil, err
	}
	if len(missing) > 0 && !o.CreateParents {
		p.close(false)
		return nil, refusal(durward.ParentMissing)
	}
	for _, name := range missing {
		if err := p.descend(name); err != nil {
			p.close(false)
			return nil, err
		}
	}
	return p, nil
}

// openExisting opens the longest part of dir that exists and gives the components that
// do not. Those may not hold "..": what does not exist has no parent to go to.
func (r *Root) openExisting(dir string, l links) (fd int, missing []string, err error) {
	for {
		fd, err = r.lead(dir, l, r.by.dir)
		if err != unix.ENOENT || dir == "." {
			return fd, missing, err
		}
		var name string
		dir, name = cutLast(dir)
		if name == ".." {
			return -1, nil, unix.ENOENT
		}
		if name != "." {
			missing = append([]string{name}, missing...)
		}
	}
}

// cutLast parts the last component from a path: "a/b/" is "a/" and "b", "b" is "." and "b".
func cutLast(path string) (rest, last string) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ".", path
	}
	return path[:i+1], path[i+1:]
}

// descend makes name and goes into it. If somebody else made it meanwhile, it is gone
// into all the same, unless it is a link.
func (p *parent) descend(name string) error {
	err := unix.Mkdirat(p.fd, name, 0o700)
	if err != nil && err != unix.EEXIST {
		return err
	}
	ours := err == nil
	fd, err := openat(p.fd, name, listFlags|unix.O_NOFOLLOW)
	if err != nil {
		return p.enterFailed(name, ours, err)
	}
	if ours {
		syncDir(p.fd)
		p.made = append(p.made, madeDir{in: p.fd, name: name})
	} else {
		unix.Close(p.fd)
	}
	p.fd = fd
	return nil
}

func (p *parent) enterFailed(name string, ours bool, err error) error {
	if ours {
		unix.Unlinkat(p.fd, name, unix.AT_REMOVEDIR)
	}
	var st unix.Stat_t
	if unix.Fstatat(p.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return refusal(durward.SymlinkTarget)
	}
	return err
}

// close closes the directories and, unless they are to be kept, removes those that were
// made. One that somebody else has used meanwhile is not empty and stays.
func (p *parent) close(keep bool) {
	unix.Close(p.fd)
	for i := len(p.made) - 1; i >= 0; i-- {
		m := p.made[i]
		if !keep {
			unix.Unlinkat(m.in, m.name, unix.AT_REMOVEDIR)
		}
		unix.Close(m.in)
	}
}
