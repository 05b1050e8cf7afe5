package mcpclient

import (
	"bufio"
	"bytes"
	"io"
)

// An eventReader reads a stream of events:
//
//	id: 7
//	data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
//
// and a blank line behind each.
type eventReader struct {
	in   *bufio.Reader
	most int    // bytes of the data of one event
	last string // the id of the last event that has one
}

func newEventReader(in io.Reader, most int) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(in, 64<<10), most: most}
}

// next gives the data of the next event that has some; of what is longer than it may be only the
// beginning, and whole is false. One that is not ended is none.
func (e *eventReader) next() (data []byte, whole bool, err error) {
	whole = true
	for filled := false; ; {
		line, fits, err := e.line()
		switch {
		case err != nil:
			return nil, false, err
		case len(line) == 0 && len(data) > 0:
			return data, whole, nil
		case len(line) == 0:
			filled = false
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if whole = whole && fits && len(data)+len(value) <= e.most; !whole {
				data = append(data, value[:min(len(value), max(shownBytes-len(data), 0))]...)
				continue
			}
			if filled {
				data = append(data, '\n')
			}
			data, filled = append(data, value...), true
		case "id":
			e.last = string(value)
		}
	}
}

// line gives a line without its end, or the beginning of one that does not fit.
func (e *eventReader) line() (line []byte, fits bool, err error) {
	fits = true
	for {
		part, err := e.in.ReadSlice('\n')
		if fits = fits && len(line)+len(part) <= e.most+len("data: \r\n"); fits {
			line = append(line, part...)
		}
		switch err {
		case nil:
			return bytes.TrimRight(line, "\r\n"), fits, nil
		case bufio.ErrBufferFull:
		default:
			return nil, false, err
		}
	}
}
