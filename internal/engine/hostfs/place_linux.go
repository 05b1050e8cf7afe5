package hostfs

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

const (
	asPlace  = unix.O_PATH | unix.O_CLOEXEC
	maxLinks = 40 // as the kernel counts them
	nothing  = -1 // in place of a descriptor
)

// A place is where a path leads. Its descriptors can do nothing but say what is there and
// lead on.
type place struct {
	named
	// at is what stands there; nothing if nothing does, or it could not be reached for err.
	at   int
	stat unix.Stat_t
	err  error
	// link is set where the path is that of a symlink, which was followed.
	link bool
	// dir is the directory that names are in: that of what stands there, or what is missing
	// on the way to it and its own name last. The root directory is in none.
	dir   int
	names []string
}

// Close gives up the place. It may be called again.
func (p *place) Close() error {
	for _, fd := range []*int{&p.at, &p.dir} {
		if *fd != nothing {
			unix.Close(*fd)
			*fd = nothing
		}
	}
	return nil
}

func (p *place) isDir() bool     { return p.stat.Mode&unix.S_IFMT == unix.S_IFDIR }
func (p *place) isRegular() bool { return p.stat.Mode&unix.S_IFMT == unix.S_IFREG }
func (p *place) isLink() bool    { return p.stat.Mode&unix.S_IFMT == unix.S_IFLNK }

// name is that of what stands there in its directory, or would.
func (p *place) name() string { return p.names[len(p.names)-1] }

// take has the place be what is open as fd.
func (p *place) take(fd int) error {
	p.at = fd
	return unix.Fstat(fd, &p.stat)
}

// find leads a path to its end. What is not there, or may not be read, is an error.
func (r *request) find(ctx context.Context, n named) (*place, error) {
	return apart(ctx, r.op, func() (*place, error) {
		p := &place{named: n, at: nothing, dir: nothing}
		if err := r.reach(p); err != nil {
			p.Close()
			return nil, err
		}
		return p, nil
	})
}

func (r *request) reach(p *place) error {
	fd, err := openat(unix.AT_FDCWD, p.path, asPlace|unix.O_NOFOLLOW)
	if err == nil {
		err = p.take(fd)
	}
	if err == nil && p.isLink() {
		if err := r.hold.Reads(p.at); err != nil {
			return r.failed(p.named, err)
		}
		p.link = true
		p.Close()
		if fd, err = openat(unix.AT_FDCWD, p.path, asPlace); err == nil {
			err = p.take(fd)
		}
	}
	if err != nil {
		return r.lost(p.named, err)
	}
	return r.failed(p.named, r.hold.Reads(p.at))
}

// lost gives the error of a path that leads nowhere, as its client may see it: it says no
// more of what may not be read than that it is not there.
func (r *request) lost(n named, err error) error {
	if !r.hold.Confines() {
		return r.failed(n, err)
	}
	plain, without := unix.Openat2(unix.AT_FDCWD, n.path, &unix.OpenHow{Flags: asPlace, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if without == nil {
		unix.Close(plain)
	}
	if without != err || err == unix.ELOOP { // a link leads there
		return r.failed(n, unix.ENOENT)
	}
	dir, names, ended := nearest(unix.AT_FDCWD, n.path)
	if dir == nothing {
		return r.failed(n, ended)
	}
	defer unix.Close(dir)
	if hidden := r.hold.Reads(dir); hidden != nil {
		return r.failed(n, hidden)
	}
	if err != unix.ENOTDIR || len(names) == 0 {
		return r.failed(n, err)
	}
	file, failed := openat(dir, names[0], asPlace|unix.O_NOFOLLOW)
	if failed != nil {
		return r.failed(n, failed)
	}
	defer unix.Close(file)
	if hidden := r.hold.Reads(file); hidden != nil {
		return r.failed(n, hidden)
	}
	return r.failed(n, err)
}

// spot leads a path to the directory that it is in, and to what stands there. With follow
// the place is that which a symlink leads to, whether or not anything is there. What cannot
// be reached is no error of spot; err of the place says why.
func (r *request) spot(ctx context.Context, n named, follow bool) (*place, error) {
	return apart(ctx, r.op, func() (*place, error) {
		p := &place{named: n, at: nothing, dir: nothing}
		err := p.settle(follow)
		if err == nil {
			return p, nil
		}
		p.Close()
		if r.hold.Confines() { // a link may have led where nothing may be known of
			return nil, r.refuse(durward.OutsideRoot, n)
		}
		return nil, r.failed(n, err)
	})
}

// settle follows links one by one, each from the directory that it was found in.
func (p *place) settle(follow bool) error {
	from, to := unix.AT_FDCWD, p.path
	for range maxLinks {
		text, err := p.step(from, to, follow)
		if from != unix.AT_FDCWD {
			unix.Close(from)
		}
		if err != nil || text == "" {
			return err
		}
		from, to = p.dir, text
		p.dir, p.names, p.link = nothing, nil, true
	}
	if from != unix.AT_FDCWD {
		unix.Close(from)
	}
	return unix.ELOOP
}

// step leads a path to its place, and gives the text of the link that is there if it is to
// be followed.
func (p *place) step(from int, to string, follow bool) (text string, err error) {
	dir, name := path.Split(to)
	if name == "" || name == "." || name == ".." { // a directory if anything
		var fd int
		if fd, p.err = openat(from, to, asPlace|unix.O_DIRECTORY); p.err != nil {
			return "", p.err
		}
		return "", p.take(fd)
	}
	var missing []string
	p.dir, missing, p.err = nearest(from, dir)
	p.names = append(missing, name)
	if p.dir == nothing || p.err != nil {
		if p.dir == nothing {
			return "", p.err
		}
		return "", nil
	}
	fd, err := openat(p.dir, name, asPlace|unix.O_NOFOLLOW)
	if err != nil {
		p.err = err
		return "", nil
	}
	if err := p.take(fd); err != nil || !p.isLink() || !follow {
		return "", err
	}
	defer func() { unix.Close(p.at); p.at = nothing }()
	return readLink(p.at)
}

// nearest opens a directory, or else the last on the way there that can be opened, with the
// names that follow and why they could not be.
func nearest(from int, dir string) (fd int, missing []string, err error) {
	if dir == "" {
		dir = "."
	}
	for {
		fd, failed := openat(from, dir, asPlace|unix.O_DIRECTORY)
		if failed == nil {
			return fd, missing, err
		}
		if err == nil {
			err = failed
		}
		clean := strings.TrimRight(dir, "/")
		if clean == "" || clean == "." {
			return nothing, nil, err
		}
		up, name := path.Split(clean)
		missing = slices.Insert(missing, 0, name)
		if dir = up; dir == "" {
			dir = "."
		}
	}
}

// readLink gives what an open link says.
func readLink(fd int) (string, error) {
	const most = 4096
	buf := make([]byte, most)
	n, err := unix.Readlinkat(fd, "", buf)
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return "", unix.ENOENT
	case n == most:
		return "", unix.ENAMETOOLONG
	}
	return string(buf[:n]), nil
}

// reopen opens what is open as a place so that it can be used. It is the same file or
// directory, whatever has its name now.
func reopen(fd, flags int) (int, error) {
	return openat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC)
}

func dup(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }

func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0o666)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// holdsContent refuses what is no regular file, and under a confinement one that is an
// interface of the kernel: some tell of durward itself.
func (r *request) holdsContent(n named, fd int, stat *unix.Stat_t) error {
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return r.refuse(durward.NotRegularFile, n)
	}
	return r.noInterface(n, fd)
}

func (r *request) noInterface(n named, fd int) error {
	if !r.hold.Confines() {
		return nil
	}
	is, err := fsroot.IsInterface(fd)
	if err == nil && is {
		return r.refuse(durward.SpecialFilesystem, n)
	}
	return r.failed(n, err)
}
