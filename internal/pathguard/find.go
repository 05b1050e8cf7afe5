package pathguard

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// A lastLink says what becomes of a symbolic link at the end of a path.
type lastLink bool

const (
	following lastLink = false
	keeping   lastLink = true
)

// A knowledge says what will do to know where a path leads. What the kernel remembers is
// good for who then opens what is there, but of the links to a file it may be out of date,
// on a file system that others write to, too.
type knowledge bool

const (
	asked      knowledge = false
	remembered knowledge = true
)

var (
	// errChanged says that the tree changed while it was looked at.
	errChanged = errors.New("the tree changed meanwhile")
	// errMagic says that a path passes through a link that leads where its text does not.
	errMagic = errors.New("a link of /proc")
	// errDotDot says that what is missing is followed by "..".
	errDotDot = errors.New("what is missing has no parent")
)

// An end is where a path leads.
type end struct {
	path    string      // absolute and physical; empty where nothing is known of it
	missing int         // how many names at the end of path stand for nothing
	dotted  bool        // what is missing is followed by ".."
	mode    fs.FileMode // the type of what is there, before what is missing
	links   uint64      // of a file
	seen    fsroot.Look // of a regular file, where it is known
}

func (e end) isDir() bool  { return e.missing == 0 && e.mode.IsDir() }
func (e end) isFile() bool { return e.missing == 0 && e.mode.IsRegular() }

// A place is an end within a root. It is held until it is closed.
type place struct {
	end
	number int // of root; negative without one
	root   *fsroot.Root
	name   string // of path in root
	way    *walk
}

func (p place) close() { p.way.close() }

// dir names the innermost directory around the place that is there.
func (p *place) dir() string {
	name := p.name
	for range max(p.missing, 1) {
		name = filepath.Dir(name)
	}
	return name
}

// find leads a path to its end, and refuses one outside before anything else is said.
func (g *Guard) find(ctx context.Context, op, path string, l lastLink, k knowledge) (*place, error) {
	if err := check(path); err != nil {
		return nil, err
	}
	p, err := g.led(ctx, op, path, l, k)
	g.tellPlace(path, p.end, p.number)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// led gives the place that a path leads to. For what the kernel remembers nobody is waited
// for, and so no goroutine is needed.
func (g *Guard) led(ctx context.Context, op, path string, l lastLink, k knowledge) (place, error) {
	full := g.absolute(path)
	if !filepath.IsAbs(full) {
		return place{number: -1}, outside(op, path)
	}
	p := place{way: newWalk(l), number: -1}
	if k == remembered && p.way.remembered(full) {
		err := g.inside(op, path, &p, nil)
		return p, err
	}
	return waited(ctx, op, func() (place, error) {
		err := g.inside(op, path, &p, p.way.along(full))
		return p, err
	}, place.close)
}

// inside makes p the end of its way, which came to err, and frees it unless that is within a
// root.
func (g *Guard) inside(op, path string, p *place, err error) error {
	if err = g.arrive(op, path, p, err); err != nil {
		p.close()
	}
	return err
}

func (g *Guard) arrive(op, path string, p *place, err error) error {
	if err == errChanged {
		return err
	}
	if p.end = p.way.end(); p.path == "" {
		return failed(op, path, err)
	}
	p.number = g.rootOf(p.path)
	if err == errMagic {
		p.number = -1
	}
	if p.number < 0 {
		return outside(op, path)
	}
	if err != nil {
		return failed(op, path, err)
	}
	r := g.roots[p.number]
	p.root = r.dir
	p.name, _ = fsroot.Below(r.path, p.path)
	return nil
}

// waited does f, and leaves it to itself when ctx ends first, for there are file systems
// that never answer. What f comes to after that is dropped. A panic of f is the caller's who
// waits.
func waited[T any](ctx context.Context, op string, f func() (T, error), drop func(T)) (T, error) {
	type answer struct {
		got      T
		err      error
		panicked any
	}
	answers := make(chan answer)
	go func() {
		var a answer
		func() {
			defer func() { a.panicked = recover() }()
			a.got, a.err = f()
		}()
		select {
		case answers <- a:
		case <-ctx.Done():
			if a.err == nil && a.panicked == nil {
				drop(a.got)
			}
		}
	}()
	select {
	case a := <-answers:
		if a.panicked != nil {
			panic(a.panicked)
		}
		return a.got, a.err
	case <-ctx.Done():
		return *new(T), durward.Ended(ctx, op)
	}
}

const maxAttempts = 4

// settled does f until nothing changes meanwhile, or too often.
func settled[T any](op, path string, f func() (T, error)) (T, error) {
	for range maxAttempts {
		got, err := f()
		if err != errChanged {
			return got, err
		}
	}
	return *new(T), outside(op, path)
}

// came gives the error of opening what was found. What cannot be, unless the tree changed
// after it was found, is errChanged.
func came(op, path string, err error) error {
	e := durward.AsError(err)
	if e == nil || e.Rule != "" { // a rule of the policy has spoken
		return failed(op, path, err)
	}
	switch durward.ReasonOf(err) {
	case durward.SymlinkTarget, durward.SymlinkLoop, durward.FileNotFound, durward.NotADirectory, durward.OutsideRoot:
		return errChanged
	}
	return failed(op, path, err)
}
