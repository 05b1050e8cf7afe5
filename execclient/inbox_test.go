package execclient

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward/execserver/protocol"
)

// A sender is a server as an inbox sees it: it numbers events, keeps the newest chunks,
// and its notifications come in nearly their order, or not at all.
type sender struct {
	keeps   int
	chunks  []protocol.Chunk // those that are kept
	next    uint64
	exit    uint64 // number of the exit; 0 before it
	closed  bool
	pending []func(*inbox) // notifications on their way
}

func (s *sender) number() uint64 {
	s.next++
	return s.next - 1
}

func (s *sender) put() {
	seq := s.number()
	data := fmt.Appendf(nil, "%d", seq)
	s.chunks = append(s.chunks, protocol.Chunk{Seq: seq, Stream: protocol.Stdout, Chunk: data})
	s.chunks = s.chunks[max(0, len(s.chunks)-s.keeps):]
	s.pending = append(s.pending, func(in *inbox) { in.output(seq, protocol.Stdout, data) })
}

func (s *sender) end() {
	s.exit = s.number()
	s.pending = append(s.pending, func(in *inbox) { in.exited(s.exit, Exit{Code: 7}) })
}

func (s *sender) close() {
	s.closed = true
	seq := s.number()
	s.pending = append(s.pending, func(in *inbox) { in.closed(&seq) })
}

func (s *sender) read(after uint64) protocol.ReadResult {
	r := protocol.ReadResult{NextSeq: s.next, Closed: s.closed}
	if s.exit != 0 {
		code := 7
		r.Exited, r.ExitCode = true, &code
	}
	for _, c := range s.chunks {
		if c.Seq > after {
			r.Chunks = append(r.Chunks, c)
		}
	}
	return r
}

func (s *sender) oldest() uint64 {
	if len(s.chunks) == 0 {
		return s.next
	}
	return s.chunks[0].Seq
}

// TestInbox: whatever comes late, twice or never, each chunk is given out once and in
// order, or told as lost, and only what the sender dropped is lost.
func TestInbox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &sender{keeps: rapid.IntRange(1, 20).Draw(t, "keeps"), next: 1}
		in := newInbox(0)
		var got []uint64 // numbers of chunks, in the order they were told of
		ended := false
		step := func() {
			switch f := in.take(); f.step {
			case stepGive:
				got = append(got, f.output.Seq)
				if string(f.output.Data) != fmt.Sprint(f.output.Seq) {
					t.Fatalf("number %d is %q", f.output.Seq, f.output.Data)
				}
			case stepGap:
				if f.gap.last >= s.oldest() {
					t.Fatalf("%v is told as lost, and %d is there", f.gap, s.oldest())
				}
				for seq := f.gap.first; seq <= f.gap.last; seq++ {
					got = append(got, seq)
				}
			case stepAsk:
				after, misses := in.cursor()
				in.answered(after, misses, s.read(after), true)
			case stepEnd:
				ended = true
			case stepWait:
				if f.hole && len(s.pending) == 0 {
					in.missed() // as its reader does after a while
				}
			}
		}
		deliver := func(i int) {
			s.pending[i](in)
			s.pending = slices.Delete(s.pending, i, i+1)
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				if !s.closed {
					s.put()
				}
			},
			"end": func(t *rapid.T) {
				if s.exit == 0 && rapid.IntRange(0, 5).Draw(t, "now") == 0 {
					s.end()
				}
			},
			"close": func(t *rapid.T) {
				if s.exit != 0 && !s.closed && rapid.IntRange(0, 3).Draw(t, "now") == 0 {
					s.close()
				}
			},
			"deliver": func(t *rapid.T) {
				if n := len(s.pending); n > 0 {
					deliver(rapid.IntRange(0, min(1, n-1)).Draw(t, "which"))
				}
			},
			"disconnect": func(t *rapid.T) {
				s.pending = nil
				in.missed()
			},
			"read": func(t *rapid.T) { step() },
		})
		if s.exit == 0 {
			s.end()
		}
		if !s.closed {
			s.close()
		}
		for len(s.pending) > 0 {
			deliver(0)
		}
		for range 10 * s.next {
			step()
		}
		if exit, known := in.ended(); !ended || !known || exit.Code != 7 {
			t.Fatalf("ended %v, exit %+v, %v", ended, exit, known)
		}
		want := make([]uint64, 0, s.next)
		for seq := uint64(1); seq < s.next-1; seq++ { // the close is the last
			if seq != s.exit || slices.Contains(got, seq) {
				want = append(want, seq)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %d, want %d", got, want)
		}
	})
}

// TestInboxIsBounded: what is not read is dropped at a bound, and asked for later.
func TestInboxIsBounded(t *testing.T) {
	in := newInbox(0)
	for seq := uint64(1); seq <= heldBytes/1024+10; seq++ {
		in.output(seq, protocol.Stdout, make([]byte, 1024))
	}
	if in.bytes > heldBytes || !in.behind {
		t.Errorf("%d bytes are held, behind: %v", in.bytes, in.behind)
	}
	in = newInbox(0)
	for seq := uint64(1); seq <= heldChunks+10; seq++ {
		in.output(seq, protocol.Stdout, nil)
	}
	if len(in.held) > heldChunks || !in.behind {
		t.Errorf("%d chunks are held, behind: %v", len(in.held), in.behind)
	}
}

// TestInboxOfAServerThatNumbersNoClose: the first version of the protocol.
func TestInboxOfAServerThatNumbersNoClose(t *testing.T) {
	in := newInbox(0)
	in.output(1, protocol.PTY, []byte("a"))
	in.exited(2, Exit{})
	in.closed(nil)
	var steps []step
	for range 3 {
		steps = append(steps, in.take().step)
	}
	if !slices.Equal(steps, []step{stepGive, stepEnd, stepEnd}) {
		t.Errorf("got %v", steps)
	}
}
