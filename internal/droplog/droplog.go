// Package droplog writes a log for readers who may have stopped reading: what they do not
// take in time is dropped, and nobody waits.
package droplog

import (
	"io"
	"sync"
	"time"
)

// usedAgain is the most memory, in bytes, that is kept for the next texts; and as much for
// those that are being written.
const usedAgain = 16 << 10

// A Writer hands what it is given to another writer, in order and from a goroutine of its
// own. While that one takes nothing, so many bytes are kept; each Write that does not fit
// any more is dropped as a whole, and counted. It is safe for concurrent use.
type Writer struct {
	to   io.Writer
	most int
	told func(dropped int) string

	mu      sync.Mutex
	kept    []byte // guarded by mu
	writing int    // guarded by mu; bytes that are being written, beside kept
	dropped int    // guarded by mu; since kept was taken last
	closed  bool   // guarded by mu

	more chan struct{} // has an element when there is something to write, or closed is set
	done chan struct{} // closed when nothing is written any more
}

// New makes a Writer that keeps so many bytes at most. What told says of a number of
// dropped writes is written in their place. Close ends the goroutine.
func New(to io.Writer, most int, told func(dropped int) string) *Writer {
	w := &Writer{to: to, most: most, told: told, more: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// Write keeps the text or drops it. It neither waits nor fails.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
	case w.dropped > 0 || w.writing+len(w.kept)+len(text) > w.most:
		w.dropped++
	default:
		w.kept = append(w.kept, text...)
	}
	w.wake()
	return len(text), nil
}

// Close waits until all that is kept was written, so long at most. What is written later
// is dropped. A write that nobody takes is left behind.
func (w *Writer) Close(most time.Duration) {
	w.mu.Lock()
	w.closed = true
	w.wake()
	w.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
	}
}

func (w *Writer) wake() {
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// run writes until the Writer is closed and nothing is left.
func (w *Writer) run() {
	defer close(w.done)
	var text []byte
	for range w.more {
		var last bool
		for text, last = w.next(text); len(text) > 0; text, last = w.next(text) {
			_, _ = w.to.Write(text) // there is nobody else to tell
		}
		if last {
			return
		}
	}
}

// next takes what is to be written now, and reports whether nothing will come after it. The
// memory of what was written before is used for what comes, unless it is much.
func (w *Writer) next(written []byte) (text []byte, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text = w.kept
	if w.dropped > 0 {
		text = append(text, w.told(w.dropped)...)
	}
	w.kept, w.writing, w.dropped = nil, len(text), 0
	if cap(written) <= usedAgain {
		w.kept = written[:0]
	}
	return text, w.closed
}
