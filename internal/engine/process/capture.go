package process

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
	"sync/atomic"

	"github.com/durward/durward"
)

// A sink takes the bytes of one stream as they are read. It keeps no reference to
// them, and is used by one goroutine.
type sink interface {
	take(p []byte)
	captured() durward.Capture
}

// A digest is a sink that also sums up what passes through it.
type digest struct {
	sink
	sum hash.Hash
}

func newDigest(s sink) *digest { return &digest{sink: s, sum: sha256.New()} }

func (d *digest) take(p []byte) {
	d.sum.Write(p)
	d.sink.take(p)
}

func (d *digest) captured() durward.Capture {
	c := d.sink.captured()
	c.SHA256 = hex.EncodeToString(d.sum.Sum(nil))
	return c
}

// sinksFor gives those of the two streams of a run that is no session.
func sinksFor(keep durward.Keep, limit int64) [2]sink {
	most := int(max(limit, 0))
	head, tail := most, 0
	switch keep {
	case durward.KeepFirst:
		room := &atomic.Int64{}
		room.Store(int64(most))
		return [2]sink{newDigest(&firstBytes{room: room, most: most}), newDigest(&firstBytes{room: room, most: most})}
	case durward.KeepLast:
		first, second := &lastBytes{most: most}, &lastBytes{most: most}
		first.other, second.other = &second.total, &first.total
		return [2]sink{newDigest(first), newDigest(second)}
	case durward.KeepHeadTail:
		tail = most / 2
		head -= tail
	}
	return [2]sink{newDigest(&headTail{headCap: head, tailCap: tail}), newDigest(&headTail{headCap: head, tailCap: tail})}
}

// A firstBytes keeps the first bytes of all streams that share its room.
type firstBytes struct {
	room  *atomic.Int64 // bytes that are free; below zero when somebody was too late
	most  int
	head  []byte
	total int64
}

func (f *firstBytes) take(p []byte) {
	f.total += int64(len(p))
	if f.room.Load() <= 0 {
		return
	}
	late := max(-f.room.Add(-int64(len(p))), 0)
	f.head = appendWithin(f.head, p[:max(int64(len(p))-late, 0)], f.most)
}

func (f *firstBytes) captured() durward.Capture {
	return durward.Capture{Head: f.head, Total: f.total}
}

// A lastBytes keeps the last bytes of one of two streams that have most bytes together.
type lastBytes struct {
	most  int
	last  headTail
	total atomic.Int64
	other *atomic.Int64 // what the other stream has printed
}

func (l *lastBytes) take(p []byte) {
	l.last.tailCap = l.most
	l.last.take(p)
	l.total.Add(int64(len(p)))
}

func (l *lastBytes) captured() durward.Capture {
	c := l.last.captured()
	left := max(int64(l.most/2), int64(l.most)-l.other.Load())
	c.Tail = c.Tail[max(int64(len(c.Tail))-left, 0):]
	return c
}

// A headTail keeps the first bytes and, in a ring, the last. The memory it uses grows
// with what was printed, up to its two caps.
type headTail struct {
	headCap, tailCap int
	head, ring       []byte
	at               int // where the next byte of a full ring goes
	total            int64
}

func (h *headTail) take(p []byte) {
	h.total += int64(len(p))
	if room := h.headCap - len(h.head); room > 0 {
		n := min(room, len(p))
		h.head = appendWithin(h.head, p[:n], h.headCap)
		p = p[n:]
	}
	if len(p) > h.tailCap {
		p = p[len(p)-h.tailCap:]
	}
	if room := h.tailCap - len(h.ring); room > 0 {
		n := min(room, len(p))
		h.ring = appendWithin(h.ring, p[:n], h.tailCap)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(h.ring[h.at:], p)
		h.at = (h.at + n) % h.tailCap
		p = p[n:]
	}
}

func (h *headTail) captured() durward.Capture {
	tail := append(append(make([]byte, 0, len(h.ring)), h.ring[h.at:]...), h.ring[:h.at]...)
	return durward.Capture{Head: h.head, Tail: tail, Total: h.total}
}

// appendWithin appends like append, with a buffer that never outgrows limit.
func appendWithin(b, p []byte, limit int) []byte {
	if need := len(b) + len(p); need > cap(b) {
		grown := make([]byte, len(b), min(max(need, 2*cap(b)), limit))
		copy(grown, b)
		b = grown
	}
	return append(b, p...)
}

// A budget is a number of bytes that several streams share.
type budget struct {
	left atomic.Int64
	once sync.Once
	over chan struct{} // closed when more was taken than there was
}

func newBudget(n int64) *budget {
	b := &budget{over: make(chan struct{})}
	b.left.Store(n)
	return b
}

// spend takes n bytes.
func (b *budget) spend(n int) {
	if b.left.Add(-int64(n)) < 0 {
		b.once.Do(func() { close(b.over) })
	}
}

// exceeded reports whether more was taken than there was.
func (b *budget) exceeded() bool { return b.left.Load() < 0 }
