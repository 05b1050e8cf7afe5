package hostfs

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

type copyInput struct {
	SourcePath      *string `json:"sourcePath"`
	DestinationPath *string `json:"destinationPath"`
	Recursive       *bool   `json:"recursive"`
}

// copy copies a file, a link as a link, or a directory with what is beneath it into one that
// may be there already. Beneath a directory what is none of these is left out.
func (r *request) copy(ctx context.Context) (*work, error) {
	var in copyInput
	if err := r.read(&in); err != nil {
		return nil, err
	}
	from, err := r.name("sourcePath", in.SourcePath)
	if err != nil {
		return nil, err
	}
	to, err := r.name("destinationPath", in.DestinationPath)
	if err != nil {
		return nil, err
	}
	if in.Recursive == nil {
		return nil, r.missing("recursive")
	}
	if err := r.begin(ctx, true); err != nil {
		return nil, err
	}
	source, err := r.copied(ctx, from, *in.Recursive)
	if err != nil {
		return nil, err
	}
	target, err := r.copyTarget(ctx, source, to)
	if err != nil {
		source.Close()
		return nil, err
	}
	return r.ready(func(ctx context.Context, _ *work) (durward.Result, error) {
		c := &copying{request: r, to: to}
		if err := r.hold.Do(ctx, func() error { return r.failed(to, c.copy(ctx, source, target)) }); err != nil {
			return durward.Result{}, err
		}
		return r.empty(), nil
	}, source, target), nil
}

// copied finds what is to be copied.
func (r *request) copied(ctx context.Context, n named, recursive bool) (*place, error) {
	return apart(ctx, r.op, func() (*place, error) {
		p := &place{named: n, at: nothing, dir: nothing}
		fd, err := openat(unix.AT_FDCWD, n.path, asPlace|unix.O_NOFOLLOW)
		if err != nil {
			return nil, r.lost(n, err)
		}
		if err = p.take(fd); err == nil {
			err = r.hold.Reads(fd)
		}
		switch {
		case err != nil:
			err = r.failed(n, err)
		case p.isDir() && !recursive:
			err = r.refuse(durward.NeedsRecursive, n)
		case !p.isDir() && !p.isLink():
			err = r.holdsContent(n, fd, &p.stat)
		}
		if err != nil {
			p.Close()
			return nil, err
		}
		return p, nil
	})
}

// copyTarget finds where the copy is to stand, and judges it.
func (r *request) copyTarget(ctx context.Context, source *place, to named) (*place, error) {
	if source.isRegular() {
		if err := r.mayGrow(source.named, source.stat.Size); err != nil {
			return nil, err
		}
		return r.targetAt(ctx, to)
	}
	p, err := r.spot(ctx, to, source.isDir())
	if err != nil {
		return nil, err
	}
	if err := r.judgeCopy(source, p); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (r *request) judgeCopy(source, p *place) error {
	if source.isDir() {
		if into, err := isInside(source, p); err != nil || into {
			if err == nil {
				err = r.refuse(durward.IntoItself, p.named)
			}
			return r.failed(p.named, err)
		}
	}
	switch {
	case p.at != nothing && source.isDir() && p.isDir():
		return r.failed(p.named, r.hold.Makes(p.at, "."))
	case p.at != nothing && p.dir == nothing, p.at != nothing && r.hold.Makes(p.dir, p.name()) == nil:
		return r.refuse(durward.FileExists, p.named)
	}
	if err := r.hold.Makes(p.dir, p.names...); err != nil {
		return r.failed(p.named, err)
	}
	if p.err != unix.ENOENT || len(p.names) > 1 && !source.isDir() || r.barred(p) {
		return r.unreached(p)
	}
	return r.noInterface(p.named, p.dir)
}

// isInside reports whether a place is that of a directory, or beneath it.
func isInside(dir, p *place) (bool, error) {
	at := p.dir
	if p.at != nothing && p.isDir() {
		at = p.at
	}
	fd, err := openat(at, ".", asPlace|unix.O_DIRECTORY)
	for err == nil {
		var here, above unix.Stat_t
		if err = unix.Fstat(fd, &here); err != nil {
			break
		}
		if sameFile(&here, &dir.stat) {
			unix.Close(fd)
			return true, nil
		}
		up, failed := openat(fd, "..", asPlace|unix.O_DIRECTORY)
		unix.Close(fd)
		fd, err = up, failed
		if err == nil {
			err = unix.Fstat(fd, &above)
		}
		if err == nil && sameFile(&above, &here) { // the root directory
			unix.Close(fd)
			return false, nil
		}
	}
	if fd >= 0 {
		unix.Close(fd)
	}
	return false, err
}

func sameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// A copying is one copy of a whole tree.
type copying struct {
	*request
	to   named
	made directory // where the copy of a directory stands, which is never gone into
}

func (c *copying) copy(ctx context.Context, source, target *place) error {
	switch {
	case source.isLink():
		return c.copyLink(source.at, target.dir, target.name())
	case source.isDir():
		return c.copyDirectory(ctx, source, target)
	case target.at != nothing && sameFile(&source.stat, &target.stat):
		return nil // it is its own copy
	}
	return c.copyFile(ctx, source, target)
}

func (c *copying) copyLink(at, dir int, name string) error {
	text, err := readLink(at)
	if err != nil {
		return err
	}
	if err := c.hold.Makes(dir, name); err != nil {
		return err
	}
	return unix.Symlinkat(text, dir, name)
}

func (c *copying) copyFile(ctx context.Context, source, target *place) error {
	f, err := c.create(ctx, target)
	if err != nil {
		return err
	}
	return c.fill(ctx, source, f)
}

// fill copies a file into one that is open and empty.
func (c *copying) fill(ctx context.Context, source *place, f *written) error {
	if sameFile(&f.stat, &source.stat) { // it has another name since it was found
		return f.finish(unix.EBUSY)
	}
	fd, err := reopen(source.at, unix.O_RDONLY)
	if err != nil {
		return f.finish(err)
	}
	from := os.NewFile(uintptr(fd), source.text)
	defer from.Close()
	return f.finish(c.pour(ctx, atOnce{from}, f, &source.stat))
}

// pour copies the content, and whom it may be read by.
func (c *copying) pour(ctx context.Context, from io.Reader, f *written, stat *unix.Stat_t) error {
	const chunkBytes = 256 << 10
	chunk, total := make([]byte, min(chunkBytes, stat.Size+1)), int64(0)
	for {
		n, err := from.Read(chunk)
		if total += int64(n); total > stat.Size {
			if err := c.mayGrow(c.to, total); err != nil {
				return err
			}
		}
		if err := f.write(ctx, chunk[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return unix.Fchmod(f.fd, stat.Mode&0o777)
		}
		if err != nil {
			return err
		}
	}
}

func (c *copying) copyDirectory(ctx context.Context, source, target *place) error {
	if target.at == nothing {
		fd, err := c.makeDirectories(target, true)
		if err != nil {
			return err
		}
		if err := target.take(fd); err != nil {
			return err
		}
	}
	c.made = directory{target.stat.Dev, target.stat.Ino}
	return c.copyTree(ctx, source.at, target.at, maxDepth)
}

// copyTree copies what is in one directory into another. Both are open as places.
func (c *copying) copyTree(ctx context.Context, from, to, depth int) error {
	if depth == 0 {
		return unix.ENAMETOOLONG
	}
	fd, err := reopen(from, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), "")
	defer dir.Close()
	for {
		const some = 512
		names, err := dir.Readdirnames(some)
		for _, name := range names {
			if ctx.Err() != nil {
				return durward.Ended(ctx, c.op)
			}
			if err := c.copyEntry(ctx, fd, to, name, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// copyEntry copies what has a name in one directory to the same name in another. What is
// gone by now, or looks as if it were, is left out; of anything else nothing is.
func (c *copying) copyEntry(ctx context.Context, from, to int, name string, depth int) error {
	source := &place{named: c.to, at: nothing, dir: nothing}
	defer source.Close()
	fd, err := openat(from, name, asPlace|unix.O_NOFOLLOW)
	if err == nil {
		err = source.take(fd)
	}
	switch {
	case err == unix.ENOENT:
		return nil
	case err != nil:
		return err
	}
	if c.hold.Judges() {
		if shown, err := c.shows(source, from, name); err != nil || !shown {
			return err
		}
	}
	switch {
	case source.isLink():
		return c.copyLink(fd, to, name)
	case source.isDir():
		return c.copyBranch(ctx, source, to, name, depth)
	case source.isRegular():
		return c.copyBeside(ctx, source, to, name)
	}
	return nil
}

func (c *copying) copyBranch(ctx context.Context, source *place, to int, name string, depth int) error {
	if (directory{source.stat.Dev, source.stat.Ino}) == c.made {
		return nil
	}
	if c.hold.Judges() {
		if err := c.hold.Makes(to, name); err != nil {
			return err
		}
	}
	if err := unix.Mkdirat(to, name, 0o777); err != nil && err != unix.EEXIST {
		return err
	}
	fd, err := openat(to, name, asPlace|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err == unix.ENOTDIR {
		return unix.EEXIST
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return c.copyTree(ctx, source.at, fd, depth-1)
}

// copyBeside copies a file to a name in a directory.
func (c *copying) copyBeside(ctx context.Context, source *place, to int, name string) error {
	if err := c.mayGrow(c.to, source.stat.Size); err != nil {
		return err
	}
	dir, err := dup(to)
	if err != nil {
		return err
	}
	target := &place{named: c.to, at: nothing, dir: dir, names: []string{name}}
	defer target.Close()
	fd, err := openat(dir, name, asPlace|unix.O_NOFOLLOW)
	if err == nil {
		err = target.take(fd)
	}
	if err != nil && err != unix.ENOENT {
		return err
	}
	target.err = err
	if target.at != nothing && target.isLink() {
		return unix.EEXIST
	}
	if err := c.judgeTarget(target); err != nil {
		return err
	}
	if target.at != nothing && sameFile(&source.stat, &target.stat) {
		return nil
	}
	f, err := c.createOnce(target)
	if err != nil {
		return err
	}
	return c.fill(ctx, source, f)
}
