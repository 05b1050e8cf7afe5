package audit

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// An Entry is a record where it was found.
type Entry struct {
	Record
	File string
	// Line counts from 1.
	Line int
	// Raw is the line itself, without its newline. It is valid until the next entry.
	Raw []byte
}

// A cursor reads a chain from its oldest segment on and follows its rotations. At the
// end it can be asked again later. It holds a file open only between two records.
type cursor struct {
	active string
	// first is where the oldest segment was when the chain was found, if anywhere.
	first string
	// id is the file being read, nil before the first one; offset and line say how
	// much of it is behind the cursor.
	id     fs.FileInfo
	offset int64
	line   int
	// final is set once the file has a successor and so cannot grow.
	final bool

	// odd is set once the chain cannot be read; nothing more comes from it.
	odd bool

	file  *os.File
	lines *lineReader
}

// next gives the next record. A line that is none is a [*Problem] and the cursor goes
// on behind it; io.EOF means that there is nothing more now.
func (c *cursor) next() (Entry, error) {
	if c.odd {
		return Entry{}, io.EOF
	}
	for {
		if err := c.reopen(); err != nil {
			return Entry{}, err
		}
		err := c.lines.next()
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLineTooLong) {
			return Entry{}, err
		}
		if c.lines.whole || c.final && c.lines.size > 0 {
			return c.entry(err)
		}
		if err := c.advance(); err != nil {
			return Entry{}, err
		}
	}
}

func (c *cursor) entry(err error) (Entry, error) {
	c.line++
	c.offset += c.lines.size
	e := Entry{File: c.file.Name(), Line: c.line, Raw: c.lines.text}
	if err == nil {
		e.Record, err = parseRecord(e.Raw)
	}
	if err != nil {
		return e, &Problem{File: e.File, Line: e.Line, Why: err.Error()}
	}
	return e, nil
}

// advance goes on to the next segment. Before that, what was written to the present
// one until the rotation is read.
func (c *cursor) advance() error {
	c.close()
	next, err := c.successor()
	if err != nil {
		return err
	}
	if next == "" {
		return io.EOF
	}
	if !c.final {
		c.final = true
		return nil
	}
	return c.open(next)
}

func (c *cursor) open(path string) error {
	f, err := openSegment(path)
	if err != nil {
		return err
	}
	if c.id, err = f.Stat(); err != nil {
		f.Close()
		return err
	}
	c.file, c.lines, c.offset, c.line, c.final = f, newLineReader(f), 0, 0, false
	return nil
}

// reopen makes sure that the file under the cursor is open at the right place.
func (c *cursor) reopen() error {
	if c.file != nil {
		return nil
	}
	path, err := c.path()
	if err != nil {
		return err
	}
	offset, line, final, id := c.offset, c.line, c.final, c.id
	if err := c.open(path); missing(err) && c.first != "" {
		c.first = ""
		return c.reopen() // it was pruned just now
	} else if err != nil {
		return gone(err)
	}
	if id == nil || !os.SameFile(id, c.id) {
		return nil // the file was pruned; the oldest one that is left follows
	}
	if line == unknownLine {
		if line, err = linesBefore(c.file, offset); err != nil {
			return err
		}
	}
	c.offset, c.line, c.final = offset, line, final
	_, err = c.file.Seek(offset, io.SeekStart)
	return err
}

// path is where the file under the cursor is by now.
func (c *cursor) path() (string, error) {
	if c.id == nil && c.first != "" {
		return c.first, nil
	}
	if info, err := os.Lstat(c.active); c.id != nil && err == nil && os.SameFile(info, c.id) {
		if info.Size() <= c.offset {
			return "", io.EOF
		}
		return c.active, nil
	}
	segments, err := segmentsNow(c.active)
	if err != nil {
		return "", err
	}
	if len(segments) == 0 {
		return "", io.EOF
	}
	return segments[max(c.index(segments), 0)].path, nil
}

// successor is the segment after the one under the cursor, or "".
func (c *cursor) successor() (string, error) {
	if info, err := os.Lstat(c.active); err == nil && os.SameFile(info, c.id) {
		return "", nil
	}
	segments, err := segmentsNow(c.active)
	if err != nil {
		return "", err
	}
	if i := c.index(segments) + 1; i < len(segments) {
		return segments[i].path, nil
	}
	return "", nil
}

// index finds the file under the cursor among segments, -1 when it is not there.
func (c *cursor) index(segments []segment) int {
	for i, s := range segments {
		if info, err := os.Lstat(s.path); c.id != nil && err == nil && os.SameFile(info, c.id) {
			return i
		}
	}
	return -1
}

// unread puts the cursor back before the line that was just read, and closes the file.
func (c *cursor) unread() {
	c.offset -= c.lines.size
	c.line--
	c.close()
}

// giveUp ends a chain that cannot be read.
func (c *cursor) giveUp() {
	c.close()
	c.odd = true
}

func (c *cursor) close() {
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}

// gone turns the absence of a file, which is no fault while logs rotate, into the end.
func gone(err error) error {
	if missing(err) {
		return io.EOF
	}
	return err
}
