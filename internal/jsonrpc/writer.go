package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/durward/durward"
)

// A Writer sends messages as lines, each by one call of Write. It is safe for
// concurrent use; while the stream takes nothing, all who send wait.
type Writer struct {
	mu  sync.Mutex
	out io.Writer // guarded by mu
	err error     // guarded by mu; the first of out, which everyone gets from then on
}

// NewWriter makes a Writer.
func NewWriter(w io.Writer) *Writer { return &Writer{out: w} }

// Send sends one message.
func (w *Writer) Send(m Message) error { return w.send(m.Append(m.room())) }

// SendBatch sends the responses to a batch, at least one.
func (w *Writer) SendBatch(list []Message) error {
	line := []byte{'['}
	for i, m := range list {
		if i > 0 {
			line = append(line, ',')
		}
		line = m.Append(line)
	}
	return w.send(append(line, ']'))
}

func (w *Writer) send(line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return &durward.Error{Reason: durward.Defect, Op: "jsonrpc", Err: errors.New("what was to be sent raw is not JSON")}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		_, w.err = w.out.Write(append(line, '\n'))
	}
	return w.err
}

// room is an empty text that the message and its newline fit in, as a rule.
func (m Message) room() []byte {
	const others = 128
	size := others + len(m.ID.text) + len(m.Method) + len(m.Params) + len(m.Result)
	if m.Error != nil {
		size += len(m.Error.Message) + len(m.Error.Data)
	}
	return make([]byte, 0, size)
}
