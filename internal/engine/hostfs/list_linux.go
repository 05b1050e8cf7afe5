package hostfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// getMetadata answers with what a path leads to, and whether it is a link itself.
func (r *request) getMetadata(ctx context.Context) (*work, error) {
	p, err := r.looked(ctx)
	if err != nil {
		return nil, err
	}
	return r.ready(func(ctx context.Context, w *work) (durward.Result, error) {
		var answer []byte
		err := w.ask(ctx, func() (err error) {
			answer, err = metadata(p)
			return r.failed(p.named, err)
		})
		if err != nil {
			return durward.Result{}, err
		}
		return r.result(answer), nil
	}, p), nil
}

// looked finds what a request that has but a path is about.
func (r *request) looked(ctx context.Context) (*place, error) {
	var in pathInput
	if err := r.read(&in); err != nil {
		return nil, err
	}
	n, err := r.name("path", in.Path)
	if err != nil {
		return nil, err
	}
	if err := r.begin(ctx, false); err != nil {
		return nil, err
	}
	return r.find(ctx, n)
}

func metadata(p *place) ([]byte, error) {
	var x unix.Statx_t
	const wanted = unix.STATX_TYPE | unix.STATX_SIZE | unix.STATX_MTIME | unix.STATX_BTIME
	if err := unix.Statx(p.at, "", unix.AT_EMPTY_PATH, wanted, &x); err != nil {
		return nil, err
	}
	born := int64(0)
	if x.Mask&unix.STATX_BTIME != 0 {
		born = millis(x.Btime)
	}
	answer := strconv.AppendBool([]byte(`{"isDirectory":`), p.isDir())
	answer = strconv.AppendBool(append(answer, `,"isFile":`...), p.isRegular())
	answer = strconv.AppendBool(append(answer, `,"isSymlink":`...), p.link)
	answer = strconv.AppendUint(append(answer, `,"size":`...), x.Size, 10)
	answer = strconv.AppendInt(append(answer, `,"createdAtMs":`...), born, 10)
	answer = strconv.AppendInt(append(answer, `,"modifiedAtMs":`...), millis(x.Mtime), 10)
	return append(answer, '}'), nil
}

func millis(t unix.StatxTimestamp) int64 { return t.Sec*1000 + int64(t.Nsec)/1e6 }

// canonicalize answers with the path that the kernel knows something by.
func (r *request) canonicalize(ctx context.Context) (*work, error) {
	p, err := r.looked(ctx)
	if err != nil {
		return nil, err
	}
	return r.ready(func(ctx context.Context, w *work) (durward.Result, error) {
		var path string
		err := w.ask(ctx, func() (err error) {
			path, err = physical(p)
			return r.failed(p.named, err)
		})
		if err != nil {
			return durward.Result{}, err
		}
		return r.result(append(jsonx.AppendString([]byte(`{"path":`), p.answer(path)), '}')), nil
	}, p), nil
}

// physical gives the path of what was found, if it still has one.
func physical(p *place) (string, error) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(p.at))
	if err != nil {
		return "", err
	}
	var now unix.Stat_t
	if err := unix.Lstat(path, &now); err != nil {
		return "", err
	}
	if now.Dev != p.stat.Dev || now.Ino != p.stat.Ino {
		return "", unix.ENOENT
	}
	return path, nil
}

// readDirectory answers with what is in a directory.
func (r *request) readDirectory(ctx context.Context) (*work, error) {
	p, err := r.looked(ctx)
	if err != nil {
		return nil, err
	}
	if !p.isDir() {
		p.Close()
		return nil, r.refuse(durward.NotADirectory, p.named)
	}
	return r.ready(func(ctx context.Context, w *work) (durward.Result, error) {
		dir, err := w.openToList(ctx, p)
		if err != nil {
			return durward.Result{}, err
		}
		t, err := apart(ctx, r.op, func() (*listing, error) {
			defer dir.Close()
			return r.list(ctx, dir, p.named)
		})
		if err != nil {
			return durward.Result{}, r.failed(p.named, err)
		}
		return r.result(t.answer), nil
	}, p), nil
}

func (w *work) openToList(ctx context.Context, p *place) (*os.File, error) {
	return opened(ctx, w, func() (*os.File, error) {
		fd, err := reopen(p.at, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return nil, w.failed(p.named, err)
		}
		return os.NewFile(uintptr(fd), p.text), nil
	})
}

// A listing is an answer about a directory.
type listing struct {
	none
	answer []byte
}

// list goes through a directory. What cannot be looked at, or may not be read, is left out.
func (r *request) list(ctx context.Context, dir *os.File, n named) (*listing, error) {
	const some = 512
	l := &listing{answer: []byte(`{"entries":[`)}
	for {
		entries, err := dir.ReadDir(some)
		if ctx.Err() != nil {
			return nil, durward.Ended(ctx, r.op)
		}
		for _, e := range entries {
			mode, ok, err := r.seen(int(dir.Fd()), e)
			if err != nil {
				return nil, err
			}
			if ok {
				l.add(e.Name(), mode)
			}
		}
		if err := r.bounded(n, len(l.answer)); err != nil {
			return nil, err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	l.answer = append(l.answer, "]}"...)
	return l, nil
}

func (l *listing) add(name string, mode fs.FileMode) {
	if l.answer[len(l.answer)-1] != '[' {
		l.answer = append(l.answer, ',')
	}
	l.answer = jsonx.AppendString(append(l.answer, `{"fileName":`...), strings.ToValidUTF8(name, "\ufffd"))
	l.answer = strconv.AppendBool(append(l.answer, `,"isDirectory":`...), mode.IsDir())
	l.answer = append(strconv.AppendBool(append(l.answer, `,"isFile":`...), mode.IsRegular()), '}')
}

// bounded refuses an answer that grows beyond what the grant allows.
func (r *request) bounded(n named, size int) error {
	if limit := r.grant.Limits.WithDefaults().Output; limit >= 0 && int64(size) > limit || size > MaxFileBytes {
		return r.refuse(durward.OutputTooLarge, n)
	}
	return nil
}

// seen gives the type of what an entry leads to, and whether there is anything that may be
// read.
func (r *request) seen(dir int, e fs.DirEntry) (fs.FileMode, bool, error) {
	if e.Type()&fs.ModeSymlink == 0 && !r.hold.Judges() {
		return e.Type(), true, nil
	}
	mode, _, ok, err := r.behind(dir, e.Name())
	return mode, ok, err
}

// behind is seen for a name. It tells, too, which directory is there, if it is one.
func (r *request) behind(dir int, name string) (mode fs.FileMode, id directory, ok bool, err error) {
	p := &place{at: nothing, dir: nothing}
	defer p.Close()
	fd, err := openat(dir, name, asPlace)
	if err == nil {
		err = p.take(fd)
	}
	if err == unix.EMFILE || err == unix.ENFILE || err == unix.ENOMEM { // it is no fault of the entry
		return 0, id, false, err
	}
	if err != nil {
		return 0, id, false, nil
	}
	if ok, err = r.shows(p, dir, name); !ok {
		return 0, id, false, err
	}
	mode = fs.ModeIrregular
	switch {
	case p.isDir():
		mode = fs.ModeDir
	case p.isRegular():
		mode = 0
	}
	return mode, directory{p.stat.Dev, p.stat.Ino}, true, nil
}

// shows reports whether what was found by a name in a directory may be read. What has gone
// meanwhile, or is what a link leads to, is hidden where nobody can tell; of anything else that
// is an error.
func (r *request) shows(p *place, dir int, name string) (bool, error) {
	err := r.hold.Reads(p.at)
	if err == nil || durward.KindOf(err) == durward.Denied && durward.ReasonOf(err) == durward.FileNotFound {
		return err == nil, nil
	}
	var now unix.Stat_t
	if unix.Fstatat(dir, name, &now, unix.AT_SYMLINK_NOFOLLOW) != nil || !sameFile(&now, &p.stat) {
		return false, nil
	}
	return false, err
}

// A directory tells one from all others.
type directory struct{ dev, ino uint64 }
