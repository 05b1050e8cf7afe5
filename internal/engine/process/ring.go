package process

import (
	"context"
	"sort"
	"sync"
	"time"

	"github.com/durward/durward"
)

const (
	// chunkBytes is the most that one chunk holds.
	chunkBytes = 8192
	// mostChunks are kept at once, however small they are.
	mostChunks = 50_000
)

// A ring keeps the newest chunks of a session, whole ones, up to a number of bytes.
// A reader that falls behind loses its place, or, in a ring with flow, holds the
// writer up: then nothing is dropped that has not been read, or acknowledged.
type ring struct {
	limit  int
	acked  bool           // reading is not enough
	events durward.Events // may be nil

	mu      sync.Mutex
	flow    bool            // guarded by mu
	chunks  []durward.Chunk // guarded by mu
	bytes   int             // guarded by mu; sum of the chunks
	unread  int             // guarded by mu; sum of those behind read, and of what is to be one
	last    uint64          // guarded by mu; newest sequence number
	newest  uint64          // guarded by mu; that of the newest chunk
	read    uint64          // guarded by mu; newest sequence number that was read, or acknowledged
	exit    *durward.Exit   // guarded by mu; nil while the main process runs
	ended   bool            // guarded by mu; no chunk will follow
	changed chan struct{}   // guarded by mu; closed and replaced at each change

	emit sync.Mutex // held while an event is delivered, so that they keep their order
}

func newRing(limit int64, keep durward.Keep, events durward.Events) *ring {
	return &ring{
		limit: int(max(limit, chunkBytes)), acked: keep == durward.KeepAcked, events: events,
		flow: keep == durward.KeepFlow || keep == durward.KeepAcked, changed: make(chan struct{}),
	}
}

// put appends what was read from a stream, in chunks of its own.
func (r *ring) put(stream durward.Stream, p []byte) {
	for len(p) > 0 {
		n := min(len(p), chunkBytes)
		r.await(n)
		r.emit.Lock()
		c := r.append(stream, p[:n])
		if r.events != nil {
			r.events.Output(c)
		}
		r.emit.Unlock()
		p = p[n:]
	}
}

// await waits until there is room for a chunk, and keeps it.
func (r *ring) await(size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.flow && r.unread > 0 && (r.unread+size > r.limit || r.newest-r.read >= mostChunks) {
		r.waitLocked()
	}
	r.unread += size
}

// append takes what there is room for.
func (r *ring) append(stream durward.Stream, p []byte) durward.Chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	r.newest = r.last
	c := durward.Chunk{Seq: r.last, Stream: stream, Data: append([]byte(nil), p...)}
	r.chunks = append(r.chunks, c)
	r.bytes += len(p)
	for (r.bytes > r.limit || len(r.chunks) > mostChunks) && (!r.flow || r.chunks[0].Seq <= r.read) {
		r.bytes -= len(r.chunks[0].Data)
		r.chunks[0] = durward.Chunk{} // the array may live on for a while
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

// exited numbers the end of the main process and tells of it in its order.
func (r *ring) exited(code int) {
	r.emit.Lock()
	defer r.emit.Unlock()
	r.mu.Lock()
	r.last++
	exit := durward.Exit{Seq: r.last, Code: code}
	r.exit = &exit
	r.changeLocked()
	r.mu.Unlock()
	if watcher, ok := r.events.(durward.ExitWatcher); ok {
		watcher.Exited(exit)
	}
}

func (r *ring) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.changeLocked()
}

// page gives what stands behind the cursor, waiting for it or the exit up to wait. The
// first chunk is given whatever its size.
func (r *ring) page(ctx context.Context, after uint64, maxBytes int, wait time.Duration) (durward.Page, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		page, changed := r.look(after, maxBytes)
		if page.Next > after || page.Ended {
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
	page := durward.Page{Next: max(after, r.last), Exit: r.exit, Last: r.last}
	size := 0
	from := sort.Search(len(r.chunks), func(i int) bool { return r.chunks[i].Seq > after })
	for _, c := range r.chunks[from:] {
		if len(page.Chunks) == 0 {
			page.Lost = r.missingLocked(after, c.Seq)
		} else if size+len(c.Data) > maxBytes {
			page.Next = page.Chunks[len(page.Chunks)-1].Seq
			break
		}
		size += len(c.Data)
		page.Chunks = append(page.Chunks, c)
	}
	page.Ended = r.ended && page.Next >= r.newest
	if !r.acked {
		r.advanceLocked(page.Next)
	}
	return page, r.changed
}

// missingLocked counts the chunks between two numbers, which the exit may stand between, too.
func (r *ring) missingLocked(after, before uint64) uint64 {
	missing := before - after - 1
	if r.exit != nil && after < r.exit.Seq && r.exit.Seq < before {
		missing--
	}
	return missing
}

// ack notes that everything up to a number that was given out needs not be kept.
func (r *ring) ack(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq <= r.last {
		r.advanceLocked(seq)
	}
}

// advanceLocked notes that everything up to a sequence number has been read.
func (r *ring) advanceLocked(to uint64) {
	if to <= r.read {
		return
	}
	from := sort.Search(len(r.chunks), func(i int) bool { return r.chunks[i].Seq > r.read })
	for _, c := range r.chunks[from:] {
		if c.Seq > to {
			break
		}
		r.unread -= len(c.Data)
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
