package mcpserve

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

const eventStream = "text/event-stream"

const (
	// retryMs is after how long a client comes back whose connection was ended.
	retryMs = 500
	// quiet is after how long without an event something is sent all the same, so that a client that
	// is gone is noticed.
	quiet = 20 * time.Second
)

// An eventWriter writes a stream as events:
//
//	id: 3-1
//	data: {"jsonrpc":"2.0",…}
type eventWriter struct {
	w      http.ResponseWriter
	stream *stream
	reader *reader
	// named events have an id, of the stream's name and the event's number; a client can take the
	// stream up behind each. A stream that is primed begins with one that says nothing.
	named, primed bool
	name          uint64

	begun bool
	buf   []byte
}

// begin writes the head of the answer.
func (e *eventWriter) begin() {
	e.begun = true
	h := e.w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	e.w.WriteHeader(http.StatusOK)
	if e.primed {
		e.buf = append(e.id(0), "retry: "+strconv.Itoa(retryMs)+"\ndata: \n\n"...)
	}
	e.flush()
}

// id begins an event.
func (e *eventWriter) id(number uint64) []byte {
	if !e.named {
		return e.buf
	}
	text := strconv.AppendUint(append(e.buf, "id: "...), e.name, 10)
	return append(strconv.AppendUint(append(text, '-'), number, 10), '\n')
}

// write writes events, and reports whether they were the last to be written here.
func (e *eventWriter) write(b batch) (over bool) {
	for _, event := range b.events {
		e.buf = append(append(e.id(event.number), "data: "...), event.text...)
		e.buf = append(e.buf, "\n\n"...)
	}
	return !e.flush() || b.ended || b.leave
}

// flush reports whether there is anybody to write to.
func (e *eventWriter) flush() bool {
	_, err := e.w.Write(e.buf)
	e.buf = e.buf[:0]
	return err == nil && http.NewResponseController(e.w).Flush() == nil
}

// pump writes what comes until the stream ends, somebody else reads it, or one of three events comes.
func (e *eventWriter) pump(ctx context.Context, one, other <-chan struct{}) {
	timer := time.NewTicker(quiet)
	defer timer.Stop()
	for {
		select {
		case <-e.stream.more:
			if e.write(e.stream.take(e.reader)) {
				return
			}
		case <-e.reader.replaced:
			return
		case <-timer.C:
			e.buf = append(e.buf, ":\n\n"...)
			if !e.flush() {
				return
			}
		case <-ctx.Done():
			return
		case <-one:
			return
		case <-other:
			return
		}
	}
}
