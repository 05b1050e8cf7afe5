package changeset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// batch is how many names are read at once.
const batch = 256

// A walk compares the two trees of a set.
type walk struct {
	ctx    context.Context // of the one call of Read that the walk is
	bounds bounds
	layers Layers
	set    *Set
}

// A pair is a directory of the merged tree: what there is of it in each layer, if anything.
type pair struct {
	path         string
	depth        int
	upper, lower *os.File
	// apart is set where nothing of lower shows through.
	apart bool
	// inherits is the bit that a directory takes over from the one it is made in.
	inherits uint32
}

// A side is what stands at a name in upper.
type side struct {
	node
	attributes
	dir *os.File // open where it is a directory
	sum string   // of a file
}

func (w *walk) root() error {
	lower, is, err := openDir(w.layers.Lower, ".")
	if err != nil {
		return failed(opRead, w.layers.Path, err)
	}
	defer lower.Close()
	upper, _, err := openDir(w.layers.Upper, ".")
	if err != nil {
		return failed(opRead, w.layers.Path, err)
	}
	defer upper.Close()
	a, err := w.layers.attributesOf(upper)
	if err != nil {
		return failed(opRead, w.layers.Path, err)
	}
	w.set.dirs["."] = is
	return w.compare(pair{path: ".", upper: upper, lower: lower, apart: a.opaque, inherits: is.bits & unix.S_ISGID})
}

// compare goes through the names in a directory.
func (w *walk) compare(p pair) error {
	if err := w.bounds.depth(p.path, p.depth); err != nil {
		return err
	}
	names, err := w.names(p)
	if err != nil {
		return err
	}
	for _, name := range names {
		if w.ctx.Err() != nil {
			return durward.Ended(w.ctx, opRead)
		}
		if err := w.visit(p, name); err != nil {
			return failed(opRead, path.Join(p.path, name), err)
		}
	}
	return nil
}

// names lists what may differ: of a directory that shows through, what is in upper.
func (w *walk) names(p pair) ([]string, error) {
	var names []string
	for _, dir := range []*os.File{p.upper, p.lower} {
		if dir == nil || dir == p.lower && !p.apart {
			continue
		}
		for {
			some, err := dir.Readdirnames(batch)
			for _, name := range some {
				if err := w.bounds.entry(p.path, name); err != nil {
					return nil, err
				}
			}
			names = append(names, some...)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, failed(opRead, p.path, err)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// visit compares what is at one name, and all beneath it.
func (w *walk) visit(p pair, name string) error {
	at := path.Join(p.path, name)
	is, hides, err := w.upperSide(p, name, at)
	if is.dir != nil {
		defer is.dir.Close()
	}
	if err != nil {
		return err
	}
	var was node
	if p.lower != nil {
		if was, err = nodeAt(p.lower, name); err != nil {
			return err
		}
	}
	if is.form == Nothing && !hides && !p.apart {
		return nil
	}
	same, err := w.same(p, name, was, is)
	if err != nil {
		return err
	}
	if !same {
		w.add(p, at, was, is)
	}
	return w.descend(p, name, at, was, is)
}

// upperSide looks at what is in upper. hides is set where it says that nothing is there.
func (w *walk) upperSide(p pair, name, at string) (is side, hides bool, err error) {
	if p.upper == nil {
		return side{}, true, nil
	}
	if is.node, err = nodeAt(p.upper, name); err != nil {
		return side{}, false, err
	}
	switch is.form {
	case CharDevice:
		if is.number == 0 {
			return side{}, true, nil
		}
	case Directory:
		if is.dir, _, err = openDir(p.upper, name); err == nil {
			is.attributes, err = w.layers.attributesOf(is.dir)
		}
	case File:
		err = w.readFile(p.upper, name, at, &is)
	}
	if is.whiteout && is.form == File && is.size == 0 {
		return side{}, true, err
	}
	return is, false, err
}

func (w *walk) readFile(dir *os.File, name, at string, is *side) error {
	if err := w.bounds.content(at, is.size); err != nil {
		return err
	}
	f, err := openFile(dir, name, is.node)
	if err != nil {
		return err
	}
	defer f.Close()
	if is.attributes, err = w.layers.attributesOf(f); err != nil {
		return err
	}
	is.sum, err = sumOf(w.ctx, opRead, f, is.size)
	return err
}

// sumOf reads a file that is to have this size.
func sumOf(ctx context.Context, op string, f io.Reader, size int64) (string, error) {
	h := sha256.New()
	n, err := copyChunks(ctx, op, h, io.LimitReader(f, size+1))
	if err == nil && n != size {
		err = errChanged
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// same reports whether nothing was changed but what is not compared.
func (w *walk) same(p pair, name string, was node, is side) (bool, error) {
	if was.form != is.form || was.bits != is.bits || was.number != is.number {
		return false, nil
	}
	switch is.form {
	case File:
		if was.size != is.size {
			return false, nil
		}
		f, err := openFile(p.lower, name, was)
		if err != nil {
			return false, err
		}
		defer f.Close()
		sum, err := sumOf(w.ctx, opRead, f, was.size)
		return sum == is.sum, err
	case Symlink:
		before, err := linkTarget(p.lower, name)
		if err != nil {
			return false, err
		}
		after, err := linkTarget(p.upper, name)
		return before == after, err
	}
	return true, nil
}

func (w *walk) add(p pair, at string, was node, is side) {
	c := &change{was: was, is: is.node}
	c.Change = Change{Path: at, Kind: kindOf(was, is.node), Was: was.form, Is: is.form, SHA256: is.sum, Bare: is.others}
	switch {
	case is.form == File:
		c.Size = is.size
	case is.form == Nothing && was.form == File:
		c.Size = was.size
	}
	if !utf8.ValidString(at) {
		c.Raw = []byte(at)
	}
	c.Refused = refused(c, is.attributes, p.inherits)
	w.set.changes = append(w.set.changes, c)
}

func kindOf(was, is node) Kind {
	switch {
	case was.form == Nothing:
		return Added
	case is.form == Nothing:
		return Deleted
	case was.form != is.form:
		return TypeChanged
	}
	return Modified
}

// descend compares what is beneath a name, if one side has a directory there.
func (w *walk) descend(p pair, name, at string, was node, is side) error {
	if was.form != Directory && is.form != Directory {
		return nil
	}
	next := pair{
		path: at, depth: p.depth + 1, upper: is.dir,
		apart: p.apart || is.dir == nil || is.opaque, inherits: is.bits & unix.S_ISGID,
	}
	if was.form == Directory {
		dir, opened, err := openDir(p.lower, name)
		if err != nil {
			return err
		}
		defer dir.Close()
		if opened.id != was.id {
			return errChanged
		}
		next.lower, w.set.dirs[at] = dir, was
	}
	return w.compare(next)
}

const chunkBytes = 128 << 10

// copyChunks copies until the end of from, or that of ctx.
func copyChunks(ctx context.Context, op string, to io.Writer, from io.Reader) (int64, error) {
	var total int64
	for {
		if ctx.Err() != nil {
			return total, durward.Ended(ctx, op)
		}
		n, err := io.CopyN(to, from, chunkBytes)
		total += n
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
