package mcpserve

import (
	"slices"
	"sync"

	"github.com/durward/durward/internal/jsonrpc"
)

// What a stream may hold, in bytes.
const (
	// maxLag is of messages that may be lost and were not taken yet, and maxUnread that of a stream
	// which nobody reads.
	maxLag    = 1 << 20
	maxUnread = 64 << 10
	// maxKept is of messages that were taken, for a client that has to take them again.
	maxKept = 256 << 10
)

// A fate says what becomes of a message for which there is no room.
type fate int

const (
	mustArrive fate = iota
	mayBeLost
)

// A stream holds messages on their way to one client. Whoever puts one in does not wait; one reader
// at a time takes them out. It is safe for concurrent use.
type stream struct {
	// keeps is how much stays of what was taken, for a client that comes back for it.
	keeps int
	// name is that among the streams of a session, or 0; their lock guards it.
	name uint64
	// more has an element when there may be something to take.
	more chan struct{}
	// less has an element when something was taken.
	less chan struct{}

	mu      sync.Mutex
	events  []event // guarded by mu; in their order
	last    uint64  // guarded by mu; the number of the newest
	taken   uint64  // guarded by mu; up to there
	waiting int     // guarded by mu; bytes that were not taken
	ended   bool    // guarded by mu; nothing more comes
	broken  bool    // guarded by mu; the reader is to leave
	reader  *reader // guarded by mu; nil before the first
}

// An event is one message, numbered from 1.
type event struct {
	number uint64
	text   []byte
}

func newStream(keeps int) *stream {
	return &stream{keeps: keeps, more: make(chan struct{}, 1), less: make(chan struct{}, 1)}
}

// put adds a message, unless the stream has ended or there is no room for one that may be lost.
func (s *stream) put(m jsonrpc.Message, f fate) { s.putText(m.Append(nil), f) }

// putText is put for what is encoded already.
func (s *stream) putText(text []byte, f fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(text, f)
}

// add is putText; s.mu is held.
func (s *stream) add(text []byte, f fate) {
	most := maxLag
	if s.reader == nil {
		most = maxUnread
	}
	if s.ended || f == mayBeLost && s.waiting+len(text) > most {
		return
	}
	s.last++
	s.waiting += len(text)
	s.events = append(s.events, event{s.last, text})
	signal(s.more)
}

// finish adds the last message, unless it is the zero one, and ends the stream.
func (s *stream) finish(m jsonrpc.Message) {
	var text []byte
	if m.Kind != 0 {
		text = m.Append(nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != nil {
		s.add(text, mustArrive)
	}
	s.ended = true
	signal(s.more)
}

func (s *stream) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// interrupt has the reader leave when it has taken what there is, the zero event at least. Another
// one may come.
func (s *stream) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	signal(s.more)
}

// signal puts an element into a channel that has room for one, if it has none.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// A reader takes out of a stream until another one has come.
type reader struct{ replaced chan struct{} }

// attach makes a reader, from behind an event, in the place of any other.
func (s *stream) attach(after uint64) *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		close(s.reader.replaced)
	}
	s.reader = &reader{make(chan struct{})}
	s.broken = false
	s.taken = min(after, s.last)
	s.waiting = 0
	for _, e := range s.events {
		if e.number > s.taken {
			s.waiting += len(e.text)
		}
	}
	signal(s.more)
	return s.reader
}

// detach has a reader be none any more.
func (s *stream) detach(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == r {
		s.reader = nil
	}
}

// seen is up to where it was taken.
func (s *stream) seen() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

// A batch is what a reader gets at once.
type batch struct {
	events []event
	// ended is set when nothing more comes, and leave when the reader is to go.
	ended, leave bool
}

// take gives a reader what has come since it last asked.
func (s *stream) take(r *reader) batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r != s.reader {
		signal(s.more) // it was meant for another
		return batch{leave: true}
	}
	var b batch
	for _, e := range s.events {
		if e.number > s.taken {
			b.events = append(b.events, e)
		}
	}
	b.ended, b.leave = s.ended, s.broken
	s.taken, s.waiting = s.last, 0
	s.forget()
	signal(s.less)
	return b
}

// forget drops what was taken and is not to be kept; s.mu is held. The answer that a client may come
// back for stays, however large it is.
func (s *stream) forget() {
	size, stay := 0, 0
	for _, e := range s.events {
		size += len(e.text)
	}
	if s.ended && s.keeps > 0 {
		stay = 1
	}
	n := 0
	for ; size > s.keeps && n < len(s.events)-stay; n++ {
		size -= len(s.events[n].text)
	}
	s.events = slices.Delete(s.events, 0, n) // the array holds nothing of them either
}

// room waits until less than so much waits to be taken, or until over is closed.
func (s *stream) room(over <-chan struct{}, most int) {
	for s.lag() >= most {
		select {
		case <-s.less:
		case <-over:
			return
		}
	}
}

// lag is how many bytes wait to be taken.
func (s *stream) lag() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// textOf is an array of messages.
func textOf(list []jsonrpc.Message) []byte {
	text := []byte{'['}
	for i, m := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = m.Append(text)
	}
	return append(text, ']')
}

// size is how many bytes are held.
func (s *stream) size() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		n += len(e.text)
	}
	return n
}
