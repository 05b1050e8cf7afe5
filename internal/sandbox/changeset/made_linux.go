package changeset

import (
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// What is staged lies in a directory that may be another's, who can put anything in its
// place. So what we make is noted when we have made it, and looked at again each time before
// something is made in it, changed of it, or deleted.

// makeDir makes a directory and notes which one it is.
func (u *unit) makeDir(in *os.File, name string, c *change) error {
	since := birthHere(in)
	if err := unix.Mkdirat(descriptor(in), name, 0o700); err != nil {
		return err
	}
	u.made[c.Path] = identity{} // it is there, and nobody knows yet what it is
	f, n, err := openDir(in, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := isNew(f, n, since); err != nil {
		return err
	}
	u.made[c.Path] = n.id
	return nil
}

// isNew finds out whether a directory can be one that we have just made: it is ours alone,
// holds nothing, was not renamed since, and not made before. That an older one of ours was put
// in its place is told by when it was made, which nobody can set; and where that is not known,
// by the times that the rename sets one of.
func isNew(f *os.File, n node, since int64) error {
	var st unix.Stat_t
	if err := unix.Fstat(descriptor(f), &st); err != nil {
		return err
	}
	const ticks = time.Second // both times are set by the same call
	apart := time.Duration(st.Ctim.Nano() - st.Mtim.Nano())
	if int(n.uid) != os.Geteuid() || n.bits&^unix.S_ISGID != 0o700 || apart.Abs() > ticks || birth(f) < since {
		return errChanged
	}
	_, err := f.Readdirnames(1)
	switch {
	case err == nil:
		return errChanged
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// birthHere gives the birth of a file that is made in a directory now, and has no name there:
// whatever is made after it was born no earlier. It is zero where that cannot be had.
func birthHere(in *os.File) int64 {
	fd, err := unix.Openat(descriptor(in), ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return 0
	}
	f := os.NewFile(uintptr(fd), "nameless")
	defer f.Close()
	return birth(f)
}

// birth gives when a file was made, in nanoseconds by the clock of its file system; zero where
// that does not note it.
func birth(f *os.File) int64 {
	var x unix.Statx_t
	err := unix.Statx(descriptor(f), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &x)
	if err != nil || x.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return x.Btime.Sec*int64(time.Second) + int64(x.Btime.Nsec)
}

// makeFile makes a file and notes which one it is.
func (u *unit) makeFile(in *os.File, name string, c *change) (*os.File, error) {
	fd, err := unix.Openat(descriptor(in), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	u.made[c.Path] = identity{}
	f := os.NewFile(uintptr(fd), name)
	n, err := nodeOfFile(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	u.made[c.Path] = n.id
	return f, nil
}

// openMade opens a directory that we made, if what is in its place is that.
func (u *unit) openMade(dir *os.File, at string) (*os.File, node, error) {
	f, n, err := openDir(dir, u.temp+at[len(u.top().Path):])
	if reasonFor(err) == durward.ChangedMeanwhile {
		err = errChanged // whatever is there instead
	}
	if err != nil {
		return nil, node{}, err
	}
	if id, ok := u.made[at]; !ok || n.id != id {
		f.Close()
		return nil, node{}, errChanged
	}
	return f, n, nil
}

// openAround opens the directory in which a change of the unit is staged.
func (u *unit) openAround(dir *os.File, c *change) (*os.File, node, error) {
	if c == u.top() {
		return openDir(dir, ".")
	}
	return u.openMade(dir, path.Dir(c.Path))
}

// isMade finds out whether what we staged is what stands at a name beside it.
func (u *unit) isMade(dir *os.File, name string) error {
	now, err := nodeAt(dir, name)
	if err == nil && (now.form == Nothing || now.id != u.made[u.top().Path]) {
		err = errChanged
	}
	return err
}

// discard deletes what was staged. What somebody else put there stays, and so does what
// cannot be told from that.
func (u *unit) discard(dir *os.File) error {
	if !u.staged {
		return nil
	}
	var first error
	for _, c := range slices.Backward(u.all) {
		if _, ok := u.made[c.Path]; !ok {
			continue // it was not come to, or is gone
		}
		err := u.discardOne(dir, c)
		if err == nil {
			delete(u.made, c.Path)
		} else if first == nil {
			first = err
		}
	}
	u.staged = first != nil
	return first
}

func (u *unit) discardOne(dir *os.File, c *change) error {
	in, around, err := u.openAround(dir, c)
	if err != nil {
		return err
	}
	defer in.Close()
	name := path.Base(u.under(u.temp, c))
	now, err := nodeAt(in, name)
	if err == nil && now.id != u.made[c.Path] {
		err = errChanged
	}
	if err != nil || now.form == Nothing {
		return err
	}
	flags := 0
	if c.is.form == Directory {
		flags = unix.AT_REMOVEDIR
	}
	err = unix.Unlinkat(descriptor(in), name, flags)
	if err != unix.EACCES || c == u.top() {
		return err
	}
	if err := unix.Fchmod(descriptor(in), around.bits|0o700); err != nil {
		return err
	}
	return unix.Unlinkat(descriptor(in), name, flags)
}
