package glob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/durward/durward"
)

// batch is how many names are read at once.
const batch = 256

// A walk is one run of a prepared call. It has one directory open at a time.
type walk struct {
	*prepared
	todo   []place
	found  shortlist
	visits int
	spent  bool // there was more to look at than may be
	unread int  // directories that could not be read
}

// A place is a directory to look into, by its path relative to the base, and what the
// names in it are to match.
type place struct {
	path string
	at   states
}

func (w *walk) run(ctx context.Context) error {
	w.todo = []place{{"", w.pattern.start()}}
	for len(w.todo) > 0 && !w.spent {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		last := len(w.todo) - 1
		here := w.todo[last]
		w.todo = w.todo[:last]
		if err := w.look(ctx, here); err != nil {
			return err
		}
	}
	return nil
}

// look takes in one directory. Its error is the end of ctx; a directory that cannot be
// read is counted.
func (w *walk) look(ctx context.Context, here place) error {
	dir, err := w.enter(here)
	if err != nil {
		w.missed(err)
		return nil
	}
	defer dir.Close()
	for !w.spent {
		entries, err := dir.ReadDir(batch)
		for _, e := range entries {
			if ctx.Err() != nil {
				return ended(ctx)
			}
			w.visit(here, e)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.missed(err)
			}
			return nil
		}
	}
	return nil
}

// enter opens a place. The first one was opened when the call was prepared.
func (w *walk) enter(here place) (*os.File, error) {
	if here.path == "" {
		dir := w.dir
		w.dir = nil
		return dir, nil
	}
	return w.engine.root.OpenPlainDir(path.Join(w.base, here.path), rules)
}

// missed counts a directory that could not be read. One that is gone, or is none any
// more, is not missed.
func (w *walk) missed(err error) {
	switch durward.ReasonOf(err) {
	case durward.FileNotFound, durward.NotADirectory, durward.SymlinkTarget:
		return
	}
	w.unread++
}

func (w *walk) visit(here place, e fs.DirEntry) {
	if w.visits == w.engine.MaxVisits {
		w.spent = true
	}
	if w.spent {
		return
	}
	w.visits++
	below, match := w.pattern.step(here.at, e.Name())
	match = match && w.lists(e)
	enter := below != 0 && e.IsDir()
	if !match && !enter {
		return
	}
	name := path.Join(here.path, e.Name())
	if w.bars(name) {
		return
	}
	if match {
		w.found.add(name)
	}
	if enter {
		w.todo = append(w.todo, place{name, below})
	}
}

// lists tells whether an entry is of a type that is listed.
func (w *walk) lists(e fs.DirEntry) bool {
	if w.pattern.dirs {
		return e.IsDir()
	}
	return e.IsDir() || e.Type().IsRegular() || e.Type() == fs.ModeSymlink
}

// bars tells of a path that nobody gets to see it: it is hidden, the policy does not
// show it, or no line of text can hold it.
func (w *walk) bars(name string) bool {
	whole := path.Join(w.base, name)
	return strings.ContainsAny(name, "\n\r") || !utf8.ValidString(name) || w.engine.Hidden(whole) || !w.sight.shows(w.physical(whole))
}
