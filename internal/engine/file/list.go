package file

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

const opList = "dir.list"

// MaxEntries is how many entries of a directory are listed.
const MaxEntries = 10_000

// A listing is a directory that is open to be listed.
type listing struct {
	dir    *os.File
	path   string // as the caller wrote it
	report durward.Report
}

// An Entry is one name in a directory. Type is "file", "directory", "link" or "other".
type Entry struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// listAnswer is the output of list. With more than [MaxEntries] it is truncated: which of
// them are there nobody says.
type listAnswer struct {
	Entries   []Entry `json:"entries"`
	Truncated bool    `json:"truncated"`
}

func (e *Engine) prepareList(ctx context.Context, spec Spec, c durward.Call, g durward.Grant) (core.Prepared, error) {
	l := &listing{}
	if err := decode(opList, c.Input, []field{{"path", true, text(&l.path)}}); err != nil {
		return nil, err
	}
	access, err := e.keeper.Under(g)
	if err != nil {
		return nil, err
	}
	l.report = access.Report()
	if l.dir, err = spec.Guard.Explaining(c.Explain).OpenDir(ctx, access, l.path); err != nil {
		return nil, err
	}
	return l, nil
}

// Close closes the directory.
func (l *listing) Close() error {
	if l.dir == nil {
		return nil
	}
	err := l.dir.Close()
	l.dir = nil
	return err
}

// Run lists. When ctx ends first, a file system that does not answer is left to itself.
func (l *listing) Run(ctx context.Context) (durward.Result, error) {
	if ctx.Err() != nil {
		return durward.Result{}, durward.Ended(ctx, opList)
	}
	dir := l.dir
	entries, err := apart(ctx, opList, l.path, func() ([]Entry, error) { return entriesOf(ctx, dir) })
	if err != nil {
		return durward.Result{}, err
	}
	truncated := len(entries) > MaxEntries
	text, err := json.Marshal(listAnswer{entries[:min(len(entries), MaxEntries)], truncated})
	return durward.Result{Output: text, Report: &l.report}, err
}

// entriesOf gives the entries in the order of their names, and one more than are listed where
// there are more.
func entriesOf(ctx context.Context, dir *os.File) ([]Entry, error) {
	const some = 512
	entries := []Entry{}
	for len(entries) <= MaxEntries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := dir.ReadDir(min(some, MaxEntries+1-len(entries)))
		for _, f := range found {
			entries = append(entries, Entry{f.Name(), typeOf(f.Type())})
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

func typeOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}
