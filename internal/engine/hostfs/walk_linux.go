package hostfs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// The largest limits of a walk.
const (
	maxWalkDepth       = 64
	maxWalkDirectories = 10_000
	maxWalkEntries     = 50_000
	// maxWalkBytes ends a walk whose answer would be larger, and maxWalkNames one of a
	// directory with more names: both are as good as any other limit.
	maxWalkBytes = 32 << 20
	maxWalkNames = 1 << 20
)

type walkInput struct {
	Path    *string      `json:"path"`
	Options *walkOptions `json:"options"`
}

type walkOptions struct {
	MaxDepth                *uint64 `json:"maxDepth"`
	MaxDirectories          *uint64 `json:"maxDirectories"`
	MaxEntries              *uint64 `json:"maxEntries"`
	FollowDirectorySymlinks *bool   `json:"followDirectorySymlinks"`
	PruneHiddenDirectories  *bool   `json:"pruneHiddenDirectories"`
}

// walk answers with what is beneath a directory: that which is near first, and in the order
// of names within a directory. Beneath anything else there is nothing.
func (r *request) walk(ctx context.Context) (*work, error) {
	var in walkInput
	if err := r.read(&in); err != nil {
		return nil, err
	}
	n, err := r.name("path", in.Path)
	if err != nil {
		return nil, err
	}
	if err := r.judgeOptions(in.Options); err != nil {
		return nil, err
	}
	if err := r.begin(ctx, false); err != nil {
		return nil, err
	}
	p, err := r.find(ctx, n)
	if err != nil {
		return nil, err
	}
	return r.ready(func(ctx context.Context, work *work) (durward.Result, error) {
		w := &walk{request: r, from: p, options: *in.Options, known: make(map[directory]bool)}
		if err := work.look(ctx, func() error { return r.failed(n, w.run(ctx)) }); err != nil {
			return durward.Result{}, err
		}
		return r.result(w.answer()), nil
	}, p), nil
}

func (r *request) judgeOptions(o *walkOptions) error {
	switch {
	case o == nil:
		return r.missing("options")
	case o.FollowDirectorySymlinks == nil:
		return r.missing("followDirectorySymlinks")
	case o.PruneHiddenDirectories == nil:
		return r.missing("pruneHiddenDirectories")
	}
	for _, limit := range []struct {
		member      string
		n           *uint64
		least, most uint64
	}{
		{"maxDepth", o.MaxDepth, 0, maxWalkDepth},
		{"maxDirectories", o.MaxDirectories, 1, maxWalkDirectories},
		{"maxEntries", o.MaxEntries, 1, maxWalkEntries},
	} {
		if limit.n == nil {
			return r.missing(limit.member)
		}
		if err := r.ranged(limit.member, *limit.n, limit.least, limit.most); err != nil {
			return err
		}
	}
	return nil
}

// A walk goes through a tree.
type walk struct {
	*request
	from    *place
	options walkOptions

	ahead     []branch // directories still to be listed
	known     map[directory]bool
	listed    uint64 // directories
	met       uint64 // entries, listed or not
	entries   []byte
	errors    []byte
	truncated bool
}

// A branch is a directory beneath the one that the walk began in.
type branch struct {
	path  string // relative to it
	depth uint64
}

var errEnough = errors.New("a limit is reached")

func (w *walk) run(ctx context.Context) error {
	if !w.from.isDir() || w.from.link && !*w.options.FollowDirectorySymlinks {
		return nil
	}
	w.known[directory{w.from.stat.Dev, w.from.stat.Ino}] = true
	w.ahead = []branch{{".", 0}}
	for len(w.ahead) > 0 {
		b := w.ahead[0]
		w.ahead = w.ahead[1:]
		err := w.enter(ctx, b)
		switch {
		case ctx.Err() != nil:
			return durward.Ended(ctx, w.op)
		case err == errEnough:
			w.truncated = true
			return nil
		case err != nil && b.path == ".":
			return err
		case err != nil:
			w.fail(b, err)
		}
	}
	return nil
}

// enter lists a directory. Of the way there nothing but a link at its end may be one, and
// none of them leads out of what may be read.
func (w *walk) enter(ctx context.Context, b branch) error {
	if w.listed == *w.options.MaxDirectories {
		return errEnough
	}
	w.listed++
	fd, err := openat(w.from.at, b.path, asPlace|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := w.hold.Reads(fd); err != nil {
		return err
	}
	list, err := reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(list), b.path)
	defer dir.Close()
	entries, err := someEntries(ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.meet(list, b, e); err != nil {
			return err
		}
	}
	if len(entries) > maxWalkNames {
		return errEnough
	}
	return nil
}

// someEntries gives all that is in a directory, in the order of names, but for what is
// beyond any limit.
func someEntries(ctx context.Context, dir *os.File) ([]fs.DirEntry, error) {
	const some = 1024
	var all []fs.DirEntry
	for len(all) <= maxWalkNames && ctx.Err() == nil {
		entries, err := dir.ReadDir(some)
		all = append(all, entries...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, ctx.Err()
}

// meet comes to an entry, and lists it if it is a file or directory that may be read.
func (w *walk) meet(dir int, b branch, e fs.DirEntry) error {
	if w.met == *w.options.MaxEntries {
		return errEnough
	}
	isLink, mode := e.Type()&fs.ModeSymlink != 0, e.Type()
	w.met++
	if isLink && !*w.options.FollowDirectorySymlinks {
		return nil
	}
	var id directory
	if isLink || e.IsDir() || w.hold.Judges() {
		var ok bool
		var err error
		if mode, id, ok, err = w.behind(dir, e.Name()); !ok {
			return err
		}
	}
	path := e.Name()
	if b.path != "." {
		path = b.path + "/" + path
	}
	switch {
	case mode.IsDir():
		pruned := *w.options.PruneHiddenDirectories && strings.HasPrefix(e.Name(), ".")
		if b.depth < *w.options.MaxDepth && !w.known[id] && !pruned {
			w.known[id] = true
			w.ahead = append(w.ahead, branch{path, b.depth + 1})
		}
		return w.add(path, "directory")
	case mode.IsRegular() && !isLink:
		return w.add(path, "file")
	}
	return nil
}

func (w *walk) add(path, kind string) error {
	if len(w.entries) > 0 {
		w.entries = append(w.entries, ',')
	}
	w.entries = jsonx.AppendString(append(w.entries, `{"path":`...), w.below(path))
	w.entries = append(append(append(w.entries, `,"kind":"`...), kind...), `"}`...)
	if len(w.entries) > maxWalkBytes || w.bounded(w.from.named, len(w.entries)) != nil {
		return errEnough
	}
	return nil
}

// below gives the whole path of what was met.
func (w *walk) below(path string) string {
	return w.from.answer(strings.TrimRight(w.from.path, "/") + "/" + path)
}

// fail notes a directory that cannot be listed.
func (w *walk) fail(b branch, err error) {
	if len(w.errors) > 0 {
		w.errors = append(w.errors, ',')
	}
	w.errors = jsonx.AppendString(append(w.errors, `{"path":`...), w.below(b.path))
	w.errors = jsonx.AppendString(append(w.errors, `,"message":`...), reasonFor(err).Summary())
	w.errors = append(w.errors, '}')
}

func (w *walk) answer() []byte {
	answer := append(append([]byte(`{"entries":[`), w.entries...), `],"errors":[`...)
	answer = append(append(answer, w.errors...), `],"truncated":`...)
	return append(strconv.AppendBool(answer, w.truncated), '}')
}
