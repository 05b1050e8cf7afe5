package hostfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// maxAttempts is how often a place is led to that changes meanwhile.
const maxAttempts = 4

// writeFile makes a file, or writes it anew in its place.
func (r *request) writeFile(ctx context.Context) (*work, error) {
	var in pathInput
	if err := r.read(&in); err != nil {
		return nil, err
	}
	n, err := r.name("path", in.Path)
	if err != nil {
		return nil, err
	}
	content := r.call.Stdin
	if err := r.mayGrow(n, int64(len(content))); err != nil {
		return nil, err
	}
	p, err := r.target(ctx, n)
	if err != nil {
		return nil, err
	}
	return r.ready(func(ctx context.Context, w *work) (durward.Result, error) {
		result := r.empty()
		var beside sync.WaitGroup
		beside.Go(func() { result.Content = contentOf(content) })
		err := r.hold.Do(ctx, func() error {
			f, err := r.create(ctx, p)
			if err != nil {
				return err
			}
			return f.finish(r.failed(n, f.write(ctx, content)))
		})
		beside.Wait()
		if err != nil {
			return durward.Result{}, err
		}
		return result, nil
	}, p), nil
}

// contentOf describes what was written.
func contentOf(content []byte) *durward.Content {
	sum := sha256.Sum256(content)
	return &durward.Content{Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// mayGrow refuses a file that would be larger than the grant allows.
func (r *request) mayGrow(n named, size int64) error {
	if limit := r.grant.Limits.WithDefaults().FileSize; limit >= 0 && size > limit {
		return r.refuse(durward.MaxFileBytes, n)
	}
	return nil
}

// target finds the place of a file that is to be written, and judges it.
func (r *request) target(ctx context.Context, n named) (*place, error) {
	if err := r.begin(ctx, true); err != nil {
		return nil, err
	}
	return r.targetAt(ctx, n)
}

func (r *request) targetAt(ctx context.Context, n named) (*place, error) {
	p, err := r.spot(ctx, n, true)
	if err != nil {
		return nil, err
	}
	if err := r.judgeTarget(p); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (r *request) judgeTarget(p *place) error {
	if p.at == nothing {
		return r.judgeMissing(p)
	}
	if err := r.hold.Writes(p.at); err != nil {
		return r.failed(p.named, err)
	}
	if p.isDir() {
		return r.refuse(durward.IsDirectory, p.named)
	}
	return r.judgeWritten(p.named, p.at, &p.stat)
}

// judgeMissing judges a place at which a file is to be made.
func (r *request) judgeMissing(p *place) error {
	if err := r.hold.Makes(p.dir, p.names...); err != nil {
		return r.failed(p.named, err)
	}
	if err := r.noInterface(p.named, p.dir); err != nil {
		return err
	}
	if p.err == unix.ENOENT && len(p.names) == 1 {
		return nil
	}
	return r.unreached(p)
}

// unreached gives the error of a place whose directory could not be reached.
func (r *request) unreached(p *place) error {
	if r.barred(p) {
		return r.refuse(durward.OutsideRoot, p.named)
	}
	return r.failed(p.named, p.err)
}

// barred reports whether a link bars the way to a place whose directory could not be reached:
// it may lead where nothing may be known of.
func (r *request) barred(p *place) bool {
	var st unix.Stat_t
	return r.hold.Confines() && unix.Fstatat(p.dir, p.names[0], &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// judgeWritten judges a file whose content is to change. What has several names may have one
// outside of what may be written.
func (r *request) judgeWritten(n named, fd int, stat *unix.Stat_t) error {
	if err := r.holdsContent(n, fd, stat); err != nil {
		return err
	}
	if r.hold.Confines() && stat.Nlink > 1 {
		return r.refuse(durward.HardLink, n)
	}
	return nil
}

// A written file is open to be written.
type written struct {
	fd   int
	stat unix.Stat_t
	// dir and name are where it was made, dir its own to close; dir is nothing where the file
	// was there before.
	dir  int
	name string
}

// create opens the file at a place that was judged, empty. It is made if nothing is there;
// if something is by now, the place is found anew.
func (r *request) create(ctx context.Context, p *place) (*written, error) {
	for range maxAttempts {
		f, err := r.createOnce(p)
		if err != unix.EEXIST {
			return f, r.failed(p.named, err)
		}
		again, err := r.targetAt(ctx, p.named)
		if err != nil {
			return nil, err
		}
		defer again.Close()
		p = again
	}
	return nil, r.failed(p.named, unix.EEXIST)
}

func (r *request) createOnce(p *place) (*written, error) {
	if p.at != nothing {
		return r.truncate(p)
	}
	if err := r.hold.Makes(p.dir, p.names...); err != nil {
		return nil, err
	}
	dir, err := dup(p.dir)
	if err != nil {
		return nil, err
	}
	fd, err := openat(dir, p.name(), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		unix.Close(dir)
		return nil, err
	}
	f := &written{fd: fd, dir: dir, name: p.name()}
	if err := unix.Fstat(fd, &f.stat); err != nil {
		return nil, f.finish(err)
	}
	return f, nil
}

// truncate opens a file that is there.
func (r *request) truncate(p *place) (*written, error) {
	if err := r.hold.Writes(p.at); err != nil {
		return nil, err
	}
	fd, err := reopen(p.at, unix.O_WRONLY)
	if err != nil {
		return nil, err
	}
	f := &written{fd: fd, dir: nothing}
	err = unix.Fstat(fd, &f.stat)
	if err == nil {
		err = r.judgeWritten(p.named, fd, &f.stat)
	}
	if err == nil && f.stat.Size > 0 {
		err = unix.Ftruncate(fd, 0)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return f, nil
}

// write writes from where the file stands. It looks at ctx between chunks.
func (f *written) write(ctx context.Context, content []byte) error {
	const chunkBytes = 1 << 20
	for len(content) > 0 {
		if ctx.Err() != nil {
			return durward.Ended(ctx, "file.write")
		}
		n, err := unix.Write(f.fd, content[:min(chunkBytes, len(content))])
		if err != nil && err != unix.EINTR {
			return err
		}
		content = content[max(n, 0):]
	}
	return nil
}

// finish closes the file. With an error it takes away what it has made, if that still has
// its name.
func (f *written) finish(err error) error {
	if f.dir != nothing {
		if err != nil && f.stands() {
			unix.Unlinkat(f.dir, f.name, 0)
		}
		unix.Close(f.dir)
	}
	closed := unix.Close(f.fd)
	if err == nil {
		err = closed
	}
	return err
}

// stands reports whether the file has the name that it was made by.
func (f *written) stands() bool {
	var now unix.Stat_t
	return unix.Fstatat(f.dir, f.name, &now, unix.AT_SYMLINK_NOFOLLOW) == nil && now.Dev == f.stat.Dev && now.Ino == f.stat.Ino
}
