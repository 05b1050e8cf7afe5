package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/durward/durward/internal/jsonx"
)

// MaxLineBytes is the limit of a [Reader] that is not given one.
const MaxLineBytes = 16 << 20

const (
	bufferBytes = 32 << 10
	// endBytes is what is kept of each end of a line that is too long.
	endBytes = 4 << 10
)

// ErrTooLong is the error for a line over the limit, and at once the answer to it.
var ErrTooLong = invalid("the line is too long")

// A Reader takes a stream apart into lines. Apart from a buffer of 32 KiB it holds only
// the line it is reading, and while that grows no more than twice the limit. It is not
// safe for concurrent use.
type Reader struct {
	in    *bufio.Reader
	limit int
	err   error // what ended the stream

	part    []byte // of the line that is being read
	tooLong bool   // that line is

	head, tail []byte // of the last line that was too long
}

// NewReader makes a Reader of lines of up to limit bytes, the line end not counted.
// Zero means MaxLineBytes.
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = MaxLineBytes
	}
	return &Reader{in: bufio.NewReaderSize(r, bufferBytes), limit: limit}
}

// ReadLine gives the next line that is not blank, without its end; it is the caller's
// to keep. At the end of the stream a line needs no end.
//
// After [ErrTooLong] the line has been passed over and reading goes on, and so it does in the
// middle of a line after [os.ErrDeadlineExceeded]. Any other error is that of the stream,
// io.EOF included, and stays.
func (r *Reader) ReadLine() ([]byte, error) {
	for {
		line, err := r.line()
		if err != nil {
			return nil, err
		}
		if len(jsonx.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

// Buffered reports whether something behind the last line has been read already.
func (r *Reader) Buffered() bool { return r.in.Buffered() > 0 }

// line gives the next line, blank or not; before the end of the stream that may be one
// that is not there.
func (r *Reader) line() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	for {
		part, err := r.in.ReadSlice('\n')
		if over := len(r.part)+len(part) > r.most(); r.tooLong || over {
			if !r.tooLong {
				r.begin(r.part, part)
			}
			r.goOn(part)
			r.tooLong, r.part = true, nil
		} else {
			r.part = r.join(r.part, part)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, err
		}
		if r.err = err; err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return r.whole()
	}
}

// whole gives the line that was read up to its end.
func (r *Reader) whole() ([]byte, error) {
	line, tooLong := bytes.TrimSuffix(bytes.TrimSuffix(r.part, []byte("\n")), []byte("\r")), r.tooLong
	if !tooLong && len(line) > r.limit {
		r.begin(line, nil)
		tooLong = true
	}
	if r.part, r.tooLong = nil, false; tooLong {
		return nil, ErrTooLong
	}
	return line, nil
}

// Ends gives the first and the last bytes, up to 4 KiB each, of the line for which ReadLine
// last gave [ErrTooLong]: they may tell whose it was. They hold until the next one, and the
// last may include the line's end.
func (r *Reader) Ends() (head, tail []byte) { return r.head, r.tail }

// begin keeps the ends of a line that has become too long with its next part.
func (r *Reader) begin(line, part []byte) {
	r.head = append(r.head[:0], line[:min(len(line), endBytes)]...)
	r.head = append(r.head, part[:min(len(part), endBytes-len(r.head))]...)
	r.tail = append(r.tail[:0], line[max(len(line)-endBytes, 0):]...)
}

// goOn keeps the end of such a line.
func (r *Reader) goOn(part []byte) {
	part = part[max(len(part)-endBytes, 0):]
	if cut := len(r.tail) + len(part) - endBytes; cut > 0 {
		r.tail = r.tail[:copy(r.tail, r.tail[min(cut, len(r.tail)):])]
	}
	r.tail = append(r.tail, part...)
}

// most is the limit with the longest line end.
func (r *Reader) most() int { return r.limit + len("\r\n") }

// join grows a line by doubling it, though not past what it may come to.
func (r *Reader) join(line, part []byte) []byte {
	if need := len(line) + len(part); need > cap(line) {
		line = append(make([]byte, 0, min(max(need, 2*cap(line)), r.most())), line...)
	}
	return append(line, part...)
}
