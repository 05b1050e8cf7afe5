package audit

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"slices"
	"time"
)

// An ending is where the newest file of a chain ends, and when its last record was made.
type ending struct {
	cursor *cursor
	info   os.FileInfo
	at     time.Time
}

// touched is when something was put there for the last time, by the record or by the
// file, whichever is later: a record says what it likes.
func (e ending) touched() time.Time {
	if at := e.info.ModTime(); at.After(e.at) {
		return at
	}
	return e.at
}

// skipOld leaves out the chains that were ended before the last records of all were
// made, or puts their cursors behind their last record where it may not stay the last,
// so that a folder with the logs of many processes is not read as a whole. Whoever
// chooses records by anything else gets every chain read.
func (f *follower) skipOld(o TailOptions) {
	if !wantsAll(o.Filter) {
		return
	}
	ends := make([]ending, 0, len(f.cursors))
	for _, c := range f.cursors {
		if e, ok := endingOf(c); ok {
			ends = append(ends, e)
		}
	}
	slices.SortFunc(ends, func(a, b ending) int { return b.at.Compare(a.at) })
	last := max(o.Last, 1)
	if last > len(ends) {
		return
	}
	from := ends[last-1].at // so many chains have a record that is no older
	for _, e := range ends {
		switch {
		case !e.touched().Before(from):
		case o.Follow:
			e.cursor.skipTo(e.info)
		default:
			delete(f.cursors, e.cursor.active)
		}
	}
}

// wantsAll reports whether a filter leaves nothing out.
func wantsAll(f Filter) bool {
	f.Files = nil
	return reflect.ValueOf(f).IsZero()
}

// endingOf looks at the end of a chain. It is false where that is not plain to see.
func endingOf(c *cursor) (ending, bool) {
	f, err := openSegment(c.active)
	if err != nil {
		return ending{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ending{}, false
	}
	tail := make([]byte, min(info.Size(), 4<<10))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return ending{}, false
	}
	text, whole := bytes.CutSuffix(tail, []byte("\n"))
	start := bytes.LastIndexByte(text, '\n') + 1
	if !whole || start == 0 && int64(len(tail)) < info.Size() {
		return ending{}, false
	}
	at, ok := timeOf(text[start:])
	return ending{c, info, at}, ok
}

// timeOf gives the time of a record, which stands near its beginning.
func timeOf(line []byte) (time.Time, bool) {
	const before = `,"prev":"`
	_, rest, ok := bytes.Cut(line[:min(len(line), 200)], []byte(before))
	if ok && bytes.HasPrefix(line, []byte(`{"seq":`)) && len(rest) > 2*len(digest{}) {
		rest, ok = bytes.CutPrefix(rest[2*len(digest{}):], []byte(`","ts":"`))
	}
	if !ok || len(rest) < len(timeFormat) {
		return time.Time{}, false
	}
	at, err := time.Parse(timeFormat, string(rest[:len(timeFormat)]))
	return at, err == nil
}

// skipTo puts the cursor at the end that the newest file of its chain had.
func (c *cursor) skipTo(info os.FileInfo) {
	c.first, c.id, c.offset, c.line = "", info, info.Size(), unknownLine
}

// unknownLine is the line of a cursor that has not read what is behind it.
const unknownLine = -1

// linesBefore counts the lines that end before offset.
func linesBefore(f io.ReaderAt, offset int64) (int, error) {
	lines, part := 0, make([]byte, 64<<10)
	for in := io.NewSectionReader(f, 0, offset); ; {
		n, err := in.Read(part)
		lines += bytes.Count(part[:n], []byte("\n"))
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
