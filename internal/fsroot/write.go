//go:build linux || darwin

package fsroot

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"strings"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

// WriteFile makes or replaces a regular file with what from holds, and gives the number
// of bytes written. The file appears whole or not at all: a write that fails, or whose
// ctx ends first, changes nothing and leaves nothing behind. A new file has mode 0600;
// a replaced one keeps its permission bits, gains none, and loses set-id bits. A
// symbolic link is never written through.
//
// ctx is looked at between chunks; WriteFile does not interrupt a Read of from.
func (r *Root) WriteFile(ctx context.Context, name string, from io.Reader, o WriteOptions) (int64, error) {
	n, err := r.writeFile(ctx, name, from, o)
	if err != nil {
		return 0, fail("file.write", name, err)
	}
	return n, nil
}

func (r *Root) writeFile(ctx context.Context, name string, from io.Reader, o WriteOptions) (n int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	dir, base, err := r.split(name, links(o.NoLinks))
	if err != nil {
		return 0, err
	}
	p, err := r.openParent(dir, base, o)
	if err != nil {
		return 0, err
	}
	defer func() { p.close(err == nil) }()
	return target{dir: p.fd, name: base}.write(ctx, from, o)
}

// split parts a name into the directory and the file in it. A name that can only mean
// a directory is refused as such, once it is known to be inside.
func (r *Root) split(name string, l links) (dir, base string, err error) {
	if err := checkName(name); err != nil {
		return "", "", err
	}
	dir, base = ".", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir, base = name[:i+1], name[i+1:]
	}
	switch base {
	case "", ".", "..":
		fd, err := r.lead(name, l, r.by.dir)
		if err != nil {
			return "", "", err
		}
		unix.Close(fd)
		return "", "", refusal(durward.NotRegularFile)
	}
	return dir, base, nil
}

// A target is the place of a file to be written: a name in an open directory.
type target struct {
	dir  int
	name string
}

func (t target) write(ctx context.Context, from io.Reader, o WriteOptions) (int64, error) {
	old, err := t.examine(o)
	if err != nil {
		return 0, err
	}
	tmp, err := t.makeTemp()
	if err != nil {
		return 0, err
	}
	defer tmp.discard()
	n, err := copyChunks(ctx, tmp.file, from, o.MaxBytes)
	if err != nil {
		return 0, err
	}
	if err := tmp.finish(old); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return n, t.place(tmp, o)
}

// examine judges what stands at the target, without following it. Nothing there is a
// nil result.
func (t target) examine(o WriteOptions) (*unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Fstatat(t.dir, t.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT && !o.NoCreate {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return nil, refusal(durward.SymlinkTarget)
	case !isRegular(&st):
		return nil, refusal(durward.NotRegularFile)
	case !o.Overwrite:
		return nil, refusal(durward.FileExists)
	case st.Nlink > 1 && !o.AllowHardLink:
		return nil, refusal(durward.HardLink)
	}
	return &st, nil
}

// place gives the finished file its name. Without Overwrite, a file that appeared
// meanwhile is not replaced.
func (t target) place(tmp *temp, o WriteOptions) error {
	if err := o.admit(Place{FD: t.dir, Names: []string{t.name}}); err != nil {
		return err
	}
	move := renameNew
	if o.Overwrite {
		move = renameOver
	}
	if err := move(t.dir, tmp.name, t.name); err != nil {
		return err
	}
	tmp.placed = true
	return syncDir(t.dir)
}

func renameOver(dir int, from, to string) error { return unix.Renameat(dir, from, dir, to) }

// linkNew is renameNew where the kernel has no rename that refuses to replace.
func linkNew(dir int, from, to string) error {
	if err := unix.Linkat(dir, from, dir, to, 0); err != nil {
		return err
	}
	return unix.Unlinkat(dir, from, 0)
}

// syncDir makes a change of names last. Some file systems cannot, and say so.
func syncDir(dir int) error {
	err := unix.Fsync(dir)
	if err == unix.EINVAL || err == unix.ENOTSUP {
		return nil
	}
	return err
}

// A temp is a file being written, beside its target and under a name nobody can guess.
type temp struct {
	dir    int
	name   string
	file   *os.File
	placed bool
}

func (t target) makeTemp() (*temp, error) {
	var salt [16]byte
	rand.Read(salt[:])
	name := ".durward-" + hex.EncodeToString(salt[:])
	fd, err := unix.Openat(t.dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return &temp{dir: t.dir, name: name, file: os.NewFile(uintptr(fd), name)}, nil
}

// discard removes the file unless it was placed.
func (t *temp) discard() {
	t.file.Close()
	if !t.placed {
		unix.Unlinkat(t.dir, t.name, 0)
	}
}

// finish gives the file the rights of old, if there is one, and puts it on the disk.
func (t *temp) finish(old *unix.Stat_t) error {
	if old != nil {
		if err := t.inherit(old); err != nil {
			return err
		}
	}
	if err := t.file.Sync(); err != nil {
		return err
	}
	return t.file.Close()
}

// inherit takes over owner and permission bits. Where the owner cannot be taken over,
// each class of users may now be another class: what they get is what all of them had.
func (t *temp) inherit(old *unix.Stat_t) error {
	fd := int(t.file.Fd())
	mode := uint32(old.Mode) & 0o777
	if err := unix.Fchown(fd, int(old.Uid), int(old.Gid)); err != nil {
		shared := (mode >> 6) & (mode >> 3) & mode & 0o7
		mode = mode&0o700 | shared<<3 | shared
	}
	return unix.Fchmod(fd, mode)
}

const chunkBytes = 128 << 10

// copyChunks copies until the end of from, the end of ctx, or the first byte over max.
func copyChunks(ctx context.Context, to io.Writer, from io.Reader, max int64) (int64, error) {
	buf := make([]byte, chunkBytes)
	var total int64
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := from.Read(buf)
		total += int64(n)
		if max > 0 && total > max {
			return 0, refusal(durward.MaxFileBytes)
		}
		if _, werr := to.Write(buf[:n]); werr != nil {
			return 0, werr
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
