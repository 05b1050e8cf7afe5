package content

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// Index is the file that stands for its directory.
const Index = "README.md"

// A Local is a [Resolver] for a directory of this machine. Links are followed while
// they stay below the root. It may be used from any goroutine.
type Local struct {
	root     *fsroot.Root
	physical string
	hidden   []string // files
	closed   []string // directories below the root in which nothing is found
	kept     kept
}

// OpenLocal opens a directory. The hidden files, named by physical paths, are not found
// in it, under whatever name; nor is what lies in a hidden directory. Close it after
// use.
func OpenLocal(dir string, hidden ...string) (*Local, error) {
	physical, err := filepath.Abs(dir)
	if err == nil {
		physical, err = filepath.EvalSymlinks(physical)
	}
	if err != nil {
		return nil, &durward.Error{
			Reason: durward.FileNotFound, Op: "open site", Hint: "name a directory that exists", Err: fmt.Errorf("%s: %w", dir, bare(err)),
		}
	}
	root, err := fsroot.Open(physical)
	if err != nil {
		return nil, err
	}
	l := &Local{root: root, physical: physical}
	for _, path := range hidden {
		if path == physical {
			return nil, errors.Join(allHidden(path), root.Close())
		}
		l.hide(path)
	}
	return l, nil
}

func allHidden(path string) error {
	return &durward.Error{
		Reason: durward.BadUsage, Op: "open site", Hint: "keep what nobody is to see, as the audit log, in another directory",
		Err: fmt.Errorf("%s is to be served and to be hidden", path),
	}
}

// hide notes a path that is hidden. A directory elsewhere holds nothing of the site.
func (l *Local) hide(path string) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		l.hidden = append(l.hidden, path)
		return
	}
	if _, ok := fsroot.Below(l.physical, path); ok {
		l.closed = append(l.closed, path+string(filepath.Separator))
	}
}

// bare gives an error without the path that is named beside it.
func bare(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Root is the directory's physical path.
func (l *Local) Root() string { return l.physical }

// Close closes the directory. Files opened from it stay open.
func (l *Local) Close() error {
	l.kept.close()
	return l.root.Close()
}

// Resolve finds the file that a path names.
func (l *Local) Resolve(_ context.Context, name string) (*Content, error) {
	if name == "" {
		return l.open(Index)
	}
	c, err := l.open(name)
	switch reason := durward.ReasonOf(err); {
	case errors.Is(err, errHidden): // and so there is nothing of that name
	case reason == durward.NotRegularFile: // a directory, or nothing to be read
		c, err = l.open(path.Join(name, Index))
	case reason == durward.FileNotFound, reason == durward.NotADirectory:
		c, err = l.open(name + ".md")
	}
	switch durward.ReasonOf(err) {
	case durward.FileNotFound, durward.NotADirectory, durward.NotRegularFile, durward.PathTooLong, durward.SymlinkLoop, durward.SpecialFilesystem:
		return nil, notFound()
	}
	return c, err
}

// errHidden is the error of a hidden file. To a caller it is like that of a missing one.
var errHidden = notFound()

// open finds one file and tells all about it by what was found.
func (l *Local) open(name string) (*Content, error) {
	f, err := l.root.FindFile(name, rules)
	if durward.ReasonOf(err) == durward.OutsideRoot {
		f, err = l.openPhysical(name, err)
	}
	if durward.ReasonOf(err) == durward.OutsideRoot && l.Hides(name) {
		return nil, errHidden // like every other name of a hidden file
	}
	if err != nil {
		return nil, err
	}
	if l.hides(f, name) {
		f.Close()
		return nil, errHidden
	}
	return &Content{
		Body: f, Path: name, Size: f.Info.Size, ModTime: f.Info.Modified, Key: keyOf(f.Info, time.Now()),
		physical: func() (string, error) { return l.pathOf(f, name) }, file: identityOf(f.Info),
		read: func(buffer []byte, most int64) ([]byte, error) { return l.kept.read(f, buffer, most) },
	}, nil
}

// pathOf gives the physical path of a file. Without links on the way it is where the
// name says.
func (l *Local) pathOf(f *fsroot.Handle, name string) (string, error) {
	if f.Plain {
		return filepath.Join(l.physical, filepath.FromSlash(name)), nil
	}
	return f.PhysicalPath()
}

// Pages may lie anywhere; what they may hold is judged by the reader.
var rules = fsroot.Rules{AllowNetworkFS: true}

// openPhysical finds a file that an absolute link may have led to: such a link leaves
// every root, also one that it leads back into.
func (l *Local) openPhysical(name string, refused error) (*fsroot.Handle, error) {
	physical, err := filepath.EvalSymlinks(filepath.Join(l.physical, filepath.FromSlash(name)))
	if err != nil {
		return nil, refused
	}
	inside, ok := fsroot.Below(l.physical, physical)
	if !ok {
		return nil, refused
	}
	f, err := l.root.FindFile(inside, rules)
	if err == nil {
		f.Plain = false // not by the name that was asked for
	}
	return f, err
}

// hides reports whether a file is one of the hidden ones, by any name.
func (l *Local) hides(f *fsroot.Handle, name string) bool {
	return len(l.hidden) > 0 && l.isHidden(f.Info) || len(l.closed) > 0 && l.isClosed(f, name)
}

func (l *Local) isClosed(f *fsroot.Handle, name string) bool {
	physical, err := l.pathOf(f, name)
	return err != nil || slices.ContainsFunc(l.closed, func(dir string) bool { return strings.HasPrefix(physical, dir) })
}

func (l *Local) isHidden(found fsroot.Info) bool {
	return slices.ContainsFunc(l.hidden, func(hidden string) bool {
		file, ok := identityAt(hidden)
		return ok && file == identityOf(found)
	})
}

// Hides reports whether a name below the root is one of a hidden file or directory: its
// own, that of a link to it, or another one of the same file.
func (l *Local) Hides(name string) bool {
	if len(l.hidden)+len(l.closed) == 0 {
		return false
	}
	info, err := os.Stat(filepath.Join(l.physical, filepath.FromSlash(name)))
	return err == nil && slices.ContainsFunc(slices.Concat(l.hidden, l.closed), func(path string) bool {
		hidden, err := os.Stat(path)
		return err == nil && os.SameFile(info, hidden)
	})
}

// settled is how long ago a file must have changed before its times are believed to
// tell it from the next version: clocks of file systems are coarse.
const settled = time.Second

func keyOf(i fsroot.Info, now time.Time) string {
	if now.Sub(i.Changed) < settled {
		return ""
	}
	key := make([]byte, 0, 64)
	for _, n := range []int64{int64(i.Device), int64(i.Inode), i.Size, i.Modified.UnixNano(), i.Changed.UnixNano()} {
		key = append(strconv.AppendInt(key, n, 36), '.')
	}
	return string(key)
}

// List gives the paths of all files.
func (l *Local) List(ctx context.Context) ([]string, error) {
	var all []string
	err := l.walk(ctx, "", &all)
	slices.Sort(all)
	return all, err
}

func (l *Local) walk(ctx context.Context, dir string, all *[]string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := l.root.OpenDir(path.Join(".", dir), rules)
	if err != nil {
		return err
	}
	entries, err := d.ReadDir(-1)
	d.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if clean, err := CleanPath(name); err != nil || clean != name {
			continue
		}
		if e.IsDir() {
			if err := l.walk(ctx, name, all); err != nil && !gone(err) {
				return err
			}
		} else if l.isFile(name) {
			*all = append(*all, name)
		}
	}
	return nil
}

// gone reports whether a directory went away, or cannot be looked into.
func gone(err error) bool {
	reason := durward.ReasonOf(err)
	return reason == durward.FileNotFound || reason == durward.NotADirectory || reason == durward.FilePermission
}

func (l *Local) isFile(name string) bool {
	c, err := l.open(name)
	if err != nil {
		return false
	}
	c.Body.Close()
	return true
}
