package httpreq

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// An answer is the head of what a server said, and the body while it comes.
type answer struct {
	status int
	fields []field // the names in lower case
	// body is not closed: what is left of it goes with the connection.
	body io.Reader
}

// value gives the first header of that name.
func (a *answer) value(name string) (string, bool) {
	for _, f := range a.fields {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}

// readAnswer reads the head of the answer to a request with that method.
func readAnswer(from io.Reader, method string) (*answer, error) {
	in := &headReader{in: bufio.NewReaderSize(from, chunkBytes), left: maxHeadBytes}
	for {
		a, err := in.read(method)
		switch {
		case err != nil:
			return nil, err
		case a.status == http.StatusSwitchingProtocols:
			return nil, errUpgrade
		case a.status >= 200:
			return a, nil
		}
	}
}

// A headReader reads heads, that together are no larger than left.
type headReader struct {
	in   *bufio.Reader
	left int
}

// read takes a head apart by itself, for its order. It then has net/http find the body by
// the head as it was understood here, so that there are no two opinions on it.
func (r *headReader) read(method string) (*answer, error) {
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	a := &answer{fields: []field{}}
	if a.status, err = statusOf(line); err != nil {
		return nil, err
	}
	var clean bytes.Buffer
	fmt.Fprintf(&clean, "%s %d \r\n", line[:len("HTTP/1.1")], a.status)
	for {
		if line, err = r.line(); err != nil {
			return nil, err
		}
		if line == "" {
			break
		}
		f, err := fieldOf(line)
		if err != nil {
			return nil, err
		}
		a.fields = append(a.fields, f)
		fmt.Fprintf(&clean, "%s: %s\r\n", f.Name, f.Value)
	}
	clean.WriteString("\r\n")
	whole, err := http.ReadResponse(bufio.NewReader(io.MultiReader(&clean, r.in)), &http.Request{Method: method})
	if err != nil {
		return nil, err
	}
	a.body = whole.Body
	return a, nil
}

// line gives the next line without its end.
func (r *headReader) line() (string, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if r.left -= len(part); r.left < 0 {
			return "", fmt.Errorf("the head of the answer is larger than %d bytes", maxHeadBytes)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return strings.TrimSuffix(string(line[:len(line)-1]), "\r"), nil
		case errors.Is(err, io.EOF):
			return "", io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// statusOf reads "HTTP/1.1 200 OK".
func statusOf(line string) (int, error) {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if err != nil || len(code) != 3 || status < 100 || version != "HTTP/1.1" && version != "HTTP/1.0" {
		return 0, errors.New("the answer is not one of HTTP/1")
	}
	return status, nil
}

// fieldOf reads a header. One that goes on in the next line is refused, as is one that
// different programs read differently.
func fieldOf(line string) (field, error) {
	name, value, ok := strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
		return field{}, errors.New("a header of the answer is malformed")
	}
	return field{strings.ToLower(name), value}, nil
}
