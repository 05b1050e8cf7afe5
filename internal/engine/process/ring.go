package process

import (
	"context"
	"sync"
	"time"

	"github.com/durward/durward"
)

// chunkBytes is the most that one chunk holds.
const chunkBytes = 8192

// A ring keeps the newest chunks of a session, whole ones, up to a number of bytes.
// A reader that falls behind loses its place, or, in a ring with flow, holds the
// writer up: then nothing is dropped that has not been read.
type ring struct {
	limit  int
	flow   bool
	events durward.Events // may be nil

	mu      sync.Mutex
	chunks  []durward.Chunk // guarded by mu
	bytes   int             // guarded by mu; sum of the chunks
	unread  int             // guarded by mu; sum of those behind read
	last    uint64          // guarded by mu; newest sequence number
	read    uint64          // guarded by mu; newest sequence number that was read
	ended   bool            // guarded by mu; no chunk will follow
	changed chan struct{}   // guarded by mu; closed and replaced at each change

	emit sync.Mutex // held while an event is delivered, so that they keep their order
}

func newRing(limit int64, flow bool, events durward.Events) *ring {
	return &ring{limit: int(max(limit, chunkBytes)), flow: flow, events: events, changed: make(chan struct{})}
}

// put appends what was read from a stream, in chunks of its own.
func (r *ring) put(stream durward.Stream, p []byte) {
	for len(p) > 0 {
		n := min(len(p), chunkBytes)
		r.emit.Lock()
		c := r.append(stream, p[:n])
		if r.events != nil {
			r.events.Output(c)
		}
		r.emit.Unlock()
		p = p[n:]
	}
}

func (r *ring) append(stream durward.Stream, p []byte) durward.Chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.flow && r.unread > 0 && r.unread+len(p) > r.limit {
		r.waitLocked()
	}
	r.last++
	c := durward.Chunk{Seq: r.last, Stream: stream, Data: append([]byte(nil), p...)}
	r.chunks = append(r.chunks, c)
	r.bytes += len(p)
	r.unread += len(p)
	for r.bytes > r.limit && (!r.flow || r.chunks[0].Seq <= r.read) {
		r.bytes -= len(r.chunks[0].Data)
		r.chunks = r.chunks[1:]
	}
	r.changeLocked()
	return c
}

// waitLocked waits for the next change.
func (r *ring) waitLocked() {
	changed := r.changed
	r.mu.Unlock()
	<-changed
	r.mu.Lock()
}

func (r *ring) changeLocked() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// abandon lets a writer that waits for a reader go on; what it writes may be dropped.
func (r *ring) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flow = false
	r.changeLocked()
}

func (r *ring) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.changeLocked()
}

// page gives what stands behind the cursor, waiting for it up to wait. The first
// chunk is given whatever its size.
func (r *ring) page(ctx context.Context, after uint64, maxBytes int, wait time.Duration) (durward.Page, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		page, changed := r.look(after, maxBytes)
		if len(page.Chunks) > 0 || page.Ended {
			return page, nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return page, nil
		case <-ctx.Done():
			return page, &durward.Error{Kind: durward.Cancelled, Reason: durward.CallCancelled, Op: "read", Err: context.Cause(ctx)}
		}
	}
}

func (r *ring) look(after uint64, maxBytes int) (durward.Page, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	page := durward.Page{Next: after}
	size := 0
	for _, c := range r.chunks {
		if c.Seq <= after {
			continue
		}
		if len(page.Chunks) == 0 {
			page.Lost = c.Seq - after - 1
		} else if size+len(c.Data) > maxBytes {
			break
		}
		size += len(c.Data)
		page.Chunks = append(page.Chunks, c)
		page.Next = c.Seq
	}
	page.Ended = r.ended && page.Next >= r.last
	r.advanceLocked(page.Next)
	return page, r.changed
}

// advanceLocked notes that everything up to a sequence number has been read.
func (r *ring) advanceLocked(to uint64) {
	if to <= r.read {
		return
	}
	for _, c := range r.chunks {
		if c.Seq > r.read && c.Seq <= to {
			r.unread -= len(c.Data)
		}
	}
	r.read = to
	r.changeLocked()
}

// A streamSink feeds one stream of a run into a ring and keeps only the count.
type streamSink struct {
	ring   *ring
	stream durward.Stream
	total  int64
}

func (s *streamSink) take(p []byte) {
	s.total += int64(len(p))
	s.ring.put(s.stream, p)
}

func (s *streamSink) captured() durward.Capture {
	return durward.Capture{Total: s.total, Passed: s.total}
}
