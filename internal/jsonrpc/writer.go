package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/durward/durward"
)

// A Writer sends messages as lines, each by one call of Write. It is safe for
// concurrent use; while the stream takes nothing, all who send wait.
type Writer struct {
	mu   sync.Mutex
	out  io.Writer // guarded by mu
	err  error     // guarded by mu; the first of out, which everyone gets from then on
	room []byte    // guarded by mu; memory for a line
}

// maxRoom bounds the memory that a Writer keeps for the next line.
const maxRoom = 16 << 10

// NewWriter makes a Writer.
func NewWriter(w io.Writer) *Writer { return &Writer{out: w} }

// Send sends one message.
func (w *Writer) Send(m Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.send(m.Append(slices.Grow(w.room[:0], m.size())))
}

// SendBatch sends the responses to a batch, at least one.
func (w *Writer) SendBatch(list []Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := append(w.room[:0], '[')
	for i, m := range list {
		if i > 0 {
			line = append(line, ',')
		}
		line = m.Append(line)
	}
	return w.send(append(line, ']'))
}

// send needs mu.
func (w *Writer) send(line []byte) error {
	line = append(line, '\n')
	if cap(line) <= maxRoom {
		w.room = line
	}
	if bytes.IndexByte(line, '\n') < len(line)-1 {
		return &durward.Error{Reason: durward.Defect, Op: "jsonrpc", Err: errors.New("what was to be sent raw is not JSON")}
	}
	if w.err == nil {
		_, w.err = w.out.Write(line)
	}
	return w.err
}

// size is what the message and its newline fit in, as a rule.
func (m Message) size() int {
	const others = 128
	size := others + len(m.ID.text) + len(m.Method) + len(m.Params) + len(m.Result)
	if m.Error != nil {
		size += len(m.Error.Message) + len(m.Error.Data)
	}
	return size
}
