package audit

import (
	"errors"
	"io"
	"os"
)

// A line is what stands on one line of a segment.
type line struct {
	file string
	// number counts from 1; offset is where the line begins.
	number int
	offset int64
	// text is valid until the next line is read.
	text []byte
	hash digest
	// whole is set when the line ends in a newline, last when its file is the newest.
	whole, last bool
	// err says why record is not one.
	record Record
	err    error
}

// A chainReader reads the lines of all segments of a chain, with one file open at a
// time.
type chainReader struct {
	segments []segment
	next     int // index of the segment to open next
	// pinned is the newest segment where that was opened in advance.
	pinned *os.File
	file   *os.File
	lines  *lineReader
	number int
	offset int64
}

func newChainReader(segments []segment) *chainReader { return &chainReader{segments: segments} }

// read gives the next line, or io.EOF behind the last one.
func (r *chainReader) read() (line, error) {
	for {
		if r.file == nil {
			if err := r.open(); err != nil {
				return line{}, err
			}
		}
		err := r.lines.next()
		if errors.Is(err, io.EOF) {
			r.file.Close()
			r.file = nil
			continue
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			return line{}, err
		}
		return r.line(err), nil
	}
}

func (r *chainReader) line(err error) line {
	r.number++
	l := line{
		file: r.file.Name(), number: r.number, offset: r.offset, text: r.lines.text,
		whole: r.lines.whole, last: r.next == len(r.segments), err: err,
	}
	r.offset += r.lines.size
	if err == nil {
		l.hash = digestOf(l.text)
		l.record, l.err = parseRecord(l.text)
	}
	return l
}

func (r *chainReader) open() error {
	if r.next == len(r.segments) {
		return io.EOF
	}
	f := r.pinned
	if f == nil || r.next < len(r.segments)-1 {
		var err error
		if f, err = openSegment(r.segments[r.next].path); err != nil {
			return err
		}
	} else {
		r.pinned = nil
	}
	r.next++
	r.file, r.lines, r.number, r.offset = f, newLineReader(f), 0, 0
	return nil
}

func openSegment(path string) (*os.File, error) {
	f, err := openForReading(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// pin opens the newest segment now, so that a rotation during the reading does not put
// another file in its place.
func (r *chainReader) pin() error {
	if len(r.segments) == 0 {
		return nil
	}
	f, err := openSegment(r.segments[len(r.segments)-1].path)
	r.pinned = f
	return err
}

// close frees what is open.
func (r *chainReader) close() {
	for _, f := range []**os.File{&r.file, &r.pinned} {
		if *f != nil {
			(*f).Close()
			*f = nil
		}
	}
}
