package hostfs

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// maxDepth is how deep a tree may be that is removed or copied: a directory is open on each
// level.
const maxDepth = 512

type removeInput struct {
	Path      *string `json:"path"`
	Recursive *bool   `json:"recursive"`
	Force     *bool   `json:"force"`
}

// remove takes a name away with what is beneath it. A link is removed, and not what it leads
// to.
func (r *request) remove(ctx context.Context) (*work, error) {
	var in removeInput
	if err := r.read(&in); err != nil {
		return nil, err
	}
	n, err := r.name("path", in.Path)
	if err != nil {
		return nil, err
	}
	if err := r.begin(ctx, true); err != nil {
		return nil, err
	}
	p, err := r.spot(ctx, n, false)
	if err != nil {
		return nil, err
	}
	force := orTrue(in.Force)
	if err := r.judgeRemoved(p, force); err != nil {
		p.Close()
		return nil, err
	}
	return r.ready(func(ctx context.Context, _ *work) (durward.Result, error) {
		err := r.hold.Do(ctx, func() error {
			if p.at == nothing {
				return nil // it is gone
			}
			err := r.removed(ctx, p, orTrue(in.Recursive))
			if err == unix.ENOENT && force {
				err = nil
			}
			return r.failed(n, err)
		})
		if err != nil {
			return durward.Result{}, err
		}
		return r.empty(), nil
	}, p), nil
}

func (r *request) judgeRemoved(p *place, force bool) error {
	switch {
	case p.dir == nothing: // the root directory
		return r.refuse(durward.FilePermission, p.named)
	case p.at != nothing:
		return r.failed(p.named, r.hold.Removes(p.dir, p.name()))
	}
	if err := r.hold.Makes(p.dir, p.names...); err != nil {
		return r.failed(p.named, err)
	}
	if p.err == unix.ENOENT && force && !r.barred(p) {
		return nil
	}
	return r.unreached(p)
}

func (r *request) removed(ctx context.Context, p *place, recursive bool) error {
	if err := r.hold.Removes(p.dir, p.name()); err != nil {
		return err
	}
	if recursive {
		return r.removeTree(ctx, p.dir, p.name(), maxDepth)
	}
	if p.isDir() {
		return unix.Unlinkat(p.dir, p.name(), unix.AT_REMOVEDIR)
	}
	return unix.Unlinkat(p.dir, p.name(), 0)
}

// removeTree removes a name and what is beneath it. It goes down by descriptors alone, and
// through no link.
func (r *request) removeTree(ctx context.Context, dir int, name string, depth int) error {
	switch {
	case ctx.Err() != nil:
		return durward.Ended(ctx, r.op)
	case depth == 0:
		return unix.ENAMETOOLONG
	}
	err := unix.Unlinkat(dir, name, 0)
	if err == nil {
		return nil
	}
	fd, opened := openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if opened == unix.ENOTDIR || opened == unix.ELOOP { // so it was no directory before
		return err
	}
	if opened != nil {
		return opened
	}
	inside := os.NewFile(uintptr(fd), name)
	defer inside.Close()
	for range maxAttempts { // somebody may be filling it
		if err := r.empties(ctx, inside, depth); err != nil {
			return err
		}
		if err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != unix.ENOTEMPTY && err != unix.EEXIST {
			return err
		}
	}
	return err
}

// empties removes what is in a directory. What another removes meanwhile is as good as
// removed.
func (r *request) empties(ctx context.Context, dir *os.File, depth int) error {
	const some = 1024
	for removed := true; removed; {
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
		names, err := dir.Readdirnames(some)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		removed = false
		for _, name := range names {
			err := r.removeInside(ctx, int(dir.Fd()), name, depth)
			if err != nil && err != unix.ENOENT {
				return err
			}
			removed = removed || err == nil
		}
	}
	return nil
}

func (r *request) removeInside(ctx context.Context, dir int, name string, depth int) error {
	if r.hold.Judges() {
		if err := r.hold.Makes(dir, name); err != nil {
			return err
		}
	}
	return r.removeTree(ctx, dir, name, depth-1)
}
