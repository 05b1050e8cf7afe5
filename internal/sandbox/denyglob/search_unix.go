//go:build linux || darwin

package denyglob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// batch is how many names are read at once.
const batch = 256

// A walk searches the tree from the root down, for all patterns at once. It lists a
// directory only where some pattern has to see all the names in it.
type walk struct {
	*machine
	trail
	view   view
	limits limits
	next   states // what the name in hand has led to
	found  []string
	hits   []int // how many of them are due to each pattern
	names  int   // how many were looked at
}

func expand(ctx context.Context, patterns, within []string, l limits) ([]string, error) {
	m, err := compile(patterns)
	if err != nil {
		return nil, err
	}
	v, err := viewOf(within)
	if err != nil {
		return nil, err
	}
	return search(ctx, m, v, l)
}

func search(ctx context.Context, m *machine, v view, l limits) ([]string, error) {
	if m.start.meets(m.ends) {
		return []string{"/"}, nil
	}
	w := &walk{machine: m, view: v, limits: l, next: slices.Clone(m.start), hits: make([]int, len(m.patterns))}
	defer w.close()
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	slices.Sort(w.found)
	return slices.Compact(w.found), nil
}

func (w *walk) run(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	for len(w.places) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.move(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begin stands in the root.
func (w *walk) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	inside := w.view.names("/")
	dir, err := openat(unix.AT_FDCWD, "/", w.flags(inside))
	if err != nil {
		return w.unread("/", w.start, err)
	}
	return w.stand(ctx, "", place{dir: dir, inside: inside})
}

// move goes down if there is something left to search beneath, and else up.
func (w *walk) move(ctx context.Context) error {
	if name, ok := w.take(); ok {
		return w.down(ctx, name)
	}
	if err := w.pop(); err != nil {
		return w.changed(w.here(), err)
	}
	return nil
}

// down enters a directory that may hold a match.
func (w *walk) down(ctx context.Context, name string) error {
	w.advance(w.awaited(), name, w.next)
	inside := w.top().inside || w.view.names(w.at(name))
	dir, err := openat(descriptor(w.top().dir), name, w.flags(inside))
	switch {
	case err == nil:
		return w.stand(ctx, name, place{dir: dir, inside: inside})
	case gone(err):
		return nil
	case replaced(err):
		return w.lookUp([]string{name})
	case err == unix.EACCES:
		return w.barred(name)
	}
	return w.unread(w.at(name), w.next, err)
}

// flags open a directory for what next waits for in it.
func (w *walk) flags(inside bool) int {
	if inside && w.next.meets(w.open) {
		return listFlags
	}
	return passFlags
}

// stand takes in the names of a directory.
func (w *walk) stand(ctx context.Context, name string, p place) error {
	if err := w.push(name, p, w.next); err != nil {
		return w.unread(w.here(), w.awaited(), err)
	}
	switch {
	case !p.inside:
		return w.lookUp(w.view.towards(w.here()))
	case !w.awaited().meets(w.open):
		return w.lookUp(w.plainNames(w.awaited()))
	}
	return w.list(ctx)
}

// list looks at all names in the directory on top.
func (w *walk) list(ctx context.Context) error {
	dir := w.top().dir
	for {
		entries, err := dir.ReadDir(batch)
		for _, e := range entries {
			if err := w.visit(e.Name(), e.Type()); err != nil {
				return err
			}
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
		case errors.Is(err, io.EOF) || gone(err):
			return nil
		default:
			return w.barredHere(err)
		}
	}
}

// lookUp looks at these names in the directory on top.
func (w *walk) lookUp(names []string) error {
	for _, name := range names {
		typ, err := typeOf(descriptor(w.top().dir), name)
		switch {
		case err == nil:
			err = w.visit(name, typ)
		case gone(err):
			err = w.count()
		default:
			return w.barredHere(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// visit takes in a name of the directory on top.
func (w *walk) visit(name string, typ fs.FileMode) error {
	if err := w.count(); err != nil {
		return err
	}
	w.advance(w.awaited(), name, w.next)
	switch {
	case typ == fs.ModeSymlink && w.through(w.awaited(), name) >= 0:
		return w.link(name, w.through(w.awaited(), name))
	case typ == fs.ModeSymlink && !w.top().inside && w.next.beyond(w.ends):
		return w.link(name, w.first(w.next, w.open))
	case w.next.meets(w.ends):
		return w.add(name)
	case typ == fs.ModeDir && w.next.beyond(w.ends):
		w.later(name)
	}
	return nil
}

// add takes in a match.
func (w *walk) add(name string) error {
	pattern := w.steps[w.first(w.next, w.ends)].pattern
	path := w.at(name)
	switch {
	case len(path) > maxPathBytes:
		return w.tooLong(path)
	case len(w.found) == w.limits.paths:
		return w.tooManyPaths()
	}
	w.found = append(w.found, path)
	w.hits[pattern]++
	return nil
}

// count counts a name.
func (w *walk) count() error {
	if w.names++; w.names > w.limits.names {
		return w.tooManyNames()
	}
	if w.bytes() > w.limits.bytes {
		return w.tooMuchMemory()
	}
	return nil
}

// barred decides about a directory that may not be opened.
func (w *walk) barred(name string) error {
	here := descriptor(w.top().dir)
	dir, err := openat(here, name, passFlags)
	switch {
	case err == nil:
		defer dir.Close()
		if closed(descriptor(dir)) {
			return nil
		}
	case err == unix.EACCES && closed(here):
		return nil
	}
	return w.unread(w.at(name), w.next, unix.EACCES)
}

// barredHere decides about the directory on top, when a name in it may not be looked at.
func (w *walk) barredHere(err error) error {
	if errors.Is(err, unix.EACCES) && closed(descriptor(w.top().dir)) {
		return nil
	}
	return w.unread(w.here(), w.awaited(), err)
}
