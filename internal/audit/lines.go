package audit

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

var errLineTooLong = errors.New("the line is too long to be a record")

// A lineReader cuts a file into lines and holds no more than one of them.
type lineReader struct {
	in *bufio.Reader
	// text is the line last read, without its newline; empty when it was too long.
	text []byte
	// size counts its bytes, the newline included, also when it was too long.
	size int64
	// whole is set when the line ended in a newline.
	whole bool
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{in: bufio.NewReaderSize(r, 64<<10)} }

// next reads the next line. It gives io.EOF when there is none, and errLineTooLong
// once for a line that is longer than a record can be, having skipped it.
func (l *lineReader) next() error {
	l.text, l.size, l.whole = l.text[:0], 0, false
	tooLong := false
	for {
		part, err := l.in.ReadSlice('\n')
		l.size += int64(len(part))
		if tooLong = tooLong || l.size > maxLine+1; !tooLong {
			l.text = append(l.text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return l.end(err == nil, tooLong)
	}
}

func (l *lineReader) end(whole, tooLong bool) error {
	l.whole = whole
	switch {
	case tooLong:
		l.text = l.text[:0]
		return errLineTooLong
	case l.size == 0:
		return io.EOF
	}
	l.text = bytes.TrimSuffix(l.text, []byte("\n"))
	return nil
}
