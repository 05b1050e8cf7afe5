package pathguard

import (
	"context"
	"os"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// Files carries out what the guard has found a place for, under whatever confines it. A
// confined.Access is one.
type Files interface {
	OpenFile(ctx context.Context, root *fsroot.Root, name string, rules fsroot.Rules) (*fsroot.File, error)
	OpenDir(ctx context.Context, root *fsroot.Root, name string, rules fsroot.Rules) (*os.File, error)
	WriteFile(ctx context.Context, root *fsroot.Root, name string, content []byte, o fsroot.WriteOptions) error
}

// OpenFile opens a regular file for reading. The caller closes it.
func (g *Guard) OpenFile(ctx context.Context, files Files, path string) (*fsroot.File, error) {
	const op = "file.open"
	return settled(op, path, func() (*fsroot.File, error) {
		p, err := g.findThere(ctx, op, path)
		if err != nil {
			return nil, err
		}
		defer p.close()
		if !p.isFile() {
			return nil, refused(durward.NotRegularFile, op, path, "name a regular file")
		}
		rules := g.o.Rules
		rules.Seen = p.seen
		f, err := files.OpenFile(ctx, p.root, p.name, rules)
		if err != nil {
			return nil, came(op, path, err)
		}
		g.passed("file", "is a regular one of %d bytes, and its links and file system meet the rules", f.Info.Size)
		return f, nil
	})
}

// OpenWorkingDir opens a directory to start a command in. Its reasons are those of a working
// directory. The caller closes it.
func (g *Guard) OpenWorkingDir(ctx context.Context, files Files, path string) (*os.File, error) {
	dir, err := g.OpenDir(ctx, files, path)
	e := durward.AsError(err)
	if e == nil {
		return dir, err
	}
	switch e.Reason {
	case durward.OutsideRoot:
		e.Kind, e.Reason = 0, durward.DirDenied
	case durward.NotADirectory:
		e.Kind, e.Reason = 0, durward.DirUnavailable
	}
	return nil, e
}

// OpenDir opens a directory, for the names in it. The caller closes it.
func (g *Guard) OpenDir(ctx context.Context, files Files, path string) (*os.File, error) {
	const op = "dir.open"
	return settled(op, path, func() (*os.File, error) {
		p, err := g.findThere(ctx, op, path)
		if err != nil {
			return nil, err
		}
		defer p.close()
		if !p.isDir() {
			return nil, refused(durward.NotADirectory, op, path, "name a directory")
		}
		dir, err := files.OpenDir(ctx, p.root, p.name, g.o.Rules)
		if err != nil {
			return nil, came(op, path, err)
		}
		g.passed("directory", "is one, and its file system meets the rules")
		return dir, nil
	})
}

// findThere finds what exists.
func (g *Guard) findThere(ctx context.Context, op, path string) (*place, error) {
	p, err := g.find(ctx, op, path, following, remembered)
	if durward.ReasonOf(err) == durward.DotDotInMissingPath { // to the kernel it is not there
		return nil, notThere(op, path)
	}
	if err != nil {
		return nil, err
	}
	if p.missing > 0 {
		p.close()
		return nil, notThere(op, path)
	}
	return p, nil
}

func notThere(op, path string) error {
	return refused(durward.FileNotFound, op, path, "check the path")
}
