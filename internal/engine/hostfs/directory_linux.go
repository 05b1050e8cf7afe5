package hostfs

import (
	"context"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

type createInput struct {
	Path      *string `json:"path"`
	Recursive *bool   `json:"recursive"`
}

// createDirectory makes a directory and, if asked, those that are missing around it.
func (r *request) createDirectory(ctx context.Context) (*work, error) {
	var in createInput
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
	recursive := orTrue(in.Recursive)
	if err := r.judgeDirectory(p, recursive); err != nil {
		p.Close()
		return nil, err
	}
	return r.ready(func(ctx context.Context, _ *work) (durward.Result, error) {
		err := r.hold.Do(ctx, func() error {
			if p.at != nothing {
				return nil // it is there
			}
			fd, err := r.makeDirectories(p, recursive)
			if err != nil {
				return r.failed(n, err)
			}
			return unix.Close(fd)
		})
		if err != nil {
			return durward.Result{}, err
		}
		return r.empty(), nil
	}, p), nil
}

func (r *request) judgeDirectory(p *place, recursive bool) error {
	if p.at != nothing {
		return r.judgeThere(p, recursive)
	}
	if err := r.hold.Makes(p.dir, p.names...); err != nil {
		return r.failed(p.named, err)
	}
	if p.err != unix.ENOENT || len(p.names) > 1 && !recursive || r.barred(p) {
		return r.unreached(p)
	}
	return r.noInterface(p.named, p.dir)
}

// judgeThere judges a directory that is there already, which is good if that was asked for.
// A link to one is as good. What it leads to that is hidden is as good as nothing.
func (r *request) judgeThere(p *place, recursive bool) error {
	if r.hold.Reads(p.at) != nil {
		return r.hidden(p)
	}
	there := p.isDir()
	if p.isLink() {
		fd, err := openat(unix.AT_FDCWD, p.path, asPlace|unix.O_DIRECTORY)
		if there = err == nil; there {
			there = r.hold.Reads(fd) == nil
			unix.Close(fd)
		}
	}
	if !recursive || !there {
		return r.refuse(durward.FileExists, p.named)
	}
	return nil
}

// hidden refuses to say that something is there, in the words in which it would be refused to
// make it.
func (r *request) hidden(p *place) error {
	dir, names := p.dir, p.names
	if dir == nothing {
		dir, names = p.at, []string{"."}
	}
	if err := r.hold.Makes(dir, names...); err != nil {
		return r.failed(p.named, err)
	}
	return r.refuse(durward.OutsideRoot, p.named)
}

// makeDirectories makes the names of a place, each in the one before, and gives the last one
// open as a place. If it fails it takes away those that it has made, unless somebody has used
// them.
func (r *request) makeDirectories(p *place, recursive bool) (int, error) {
	if err := r.hold.Makes(p.dir, p.names...); err != nil {
		return nothing, err
	}
	at, err := dup(p.dir)
	if err != nil {
		return nothing, err
	}
	t := &trail{at: at}
	for _, name := range p.names {
		if err := t.enter(name, recursive); err != nil {
			t.end(true)
			return nothing, err
		}
	}
	t.end(false)
	return t.at, nil
}

// A trail is a way through directories of which some were made.
type trail struct {
	at   int // the last of them
	made []made
}

// A made directory has the name that it was made by in a directory that is open.
type made struct {
	in   int
	name string
}

// enter goes into a directory, and makes it if nothing is there. It goes through no link.
func (t *trail) enter(name string, mayExist bool) error {
	err := unix.Mkdirat(t.at, name, 0o777)
	ours := err == nil
	if !ours && (err != unix.EEXIST || !mayExist) {
		return err
	}
	fd, err := openat(t.at, name, asPlace|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return unix.EEXIST // what is there now is no directory
	}
	if ours {
		t.made = append(t.made, made{t.at, name})
	} else {
		unix.Close(t.at)
	}
	t.at = fd
	return nil
}

// end leaves the trail behind, and with undo takes away what was made, unless somebody has
// used it.
func (t *trail) end(undo bool) {
	for _, m := range slices.Backward(t.made) {
		if undo {
			unix.Unlinkat(m.in, m.name, unix.AT_REMOVEDIR)
		}
		unix.Close(m.in)
	}
	if undo {
		unix.Close(t.at)
	}
}
