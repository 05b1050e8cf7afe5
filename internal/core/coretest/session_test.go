package coretest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
)

// A flaw is one thing that a player does wrong.
type flaw string

const (
	flawless     flaw = ""
	skipsNumbers flaw = "a hole in the numbers"
	startsLate   flaw = "a context that is looked at too late"
	tellsTheEnd  flaw = "an end that the engine tells itself"
	sizesAll     flaw = "a size without a terminal"
	keepsAll     flaw = "output kept without a bound"
	losesSilent  flaw = "chunks that are lost without a word"
	losesFlow    flaw = "back-pressure that loses chunks"
	forgets      flaw = "output that is gone with the prepared call"
	mixes        flaw = "writes that are torn"
	takesLate    flaw = "input taken after the end"
	blursEnds    flaw = "a timeout that is called a cancellation"
	ignoresAny   flaw = "any signal accepted"
)

// A player is a session in memory, which keeps all rules but for its flaw. Its program
// is a function.
type player struct {
	flaw   flaw
	events durward.Events
	limit  int
	keep   durward.Keep
	ctx    context.Context // of the program
	cancel context.CancelFunc
	input  chan []byte
	eof    chan struct{} // closed when no input follows
	noMore sync.Once
	done   chan struct{} // closed when result and err are set
	result durward.Result
	err    error

	mu      sync.Mutex
	changed *sync.Cond      // guarded by mu
	size    *int            // guarded by mu; nil without a terminal: rows*1000+cols
	chunks  []durward.Chunk // guarded by mu
	bytes   int             // guarded by mu; of chunks
	last    uint64          // guarded by mu
	read    uint64          // guarded by mu
	over    bool            // guarded by mu
	signal  int             // guarded by mu
}

// play starts a program in memory.
func play(ctx context.Context, f flaw, c durward.Call, g durward.Grant, events durward.Events, program func(*player) (durward.Result, error)) *player {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &player{
		flaw: f, events: events, limit: int(g.Limits.WithDefaults().Output), keep: g.Keep, ctx: inner, cancel: cancel,
		input: make(chan []byte), eof: make(chan struct{}), done: make(chan struct{}),
	}
	s.changed = sync.NewCond(&s.mu)
	if w := c.Terminal; w != nil {
		size := int(w.Rows)*1000 + int(w.Cols)
		s.size = &size
	}
	if f == startsLate && ctx.Err() != nil {
		ctx = inner
	}
	if ctx.Err() != nil {
		s.stop(ctx)
	}
	stop := context.AfterFunc(ctx, func() { s.stop(ctx) })
	go func() {
		defer stop()
		result, err := durward.Result{}, error(nil)
		if inner.Err() == nil {
			result, err = program(s)
		}
		s.finish(result, err)
	}()
	return s
}

// stop ends the program for the reason for which ctx has ended.
func (s *player) stop(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !s.over {
		s.err = EndOf(ctx)
		if s.flaw == blursEnds {
			s.err = &durward.Error{Reason: durward.CallCancelled}
		}
	}
	s.cancel()
	s.changed.Broadcast()
}

func (s *player) finish(result durward.Result, err error) {
	s.mu.Lock()
	s.over = true
	if s.result = result; s.err == nil && s.signal == 0 {
		s.err = err
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	s.cancel()
	if s.events != nil && s.flaw == tellsTheEnd {
		s.events.Ended(result)
	}
	close(s.done)
}

func (s *player) print(stream durward.Stream, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	flows := s.keep == durward.KeepFlow && s.flaw != losesFlow
	for flows && s.ctx.Err() == nil && s.bytes > s.limit && s.chunks[0].Seq > s.read {
		s.changed.Wait()
	}
	s.last++
	if s.flaw == skipsNumbers && s.last == 2 {
		s.last++
	}
	c := durward.Chunk{Seq: s.last, Stream: stream, Data: []byte(text)}
	s.chunks, s.bytes = append(s.chunks, c), s.bytes+len(text)
	for s.bytes > s.limit && s.flaw != keepsAll && len(s.chunks) > 1 && (!flows || s.chunks[0].Seq <= s.read) {
		s.bytes -= len(s.chunks[0].Data)
		s.chunks = s.chunks[1:]
	}
	s.changed.Broadcast()
	if s.events != nil {
		s.events.Output(c)
	}
}

func (s *player) Write(ctx context.Context, p []byte) (int, error) {
	if s.flaw == mixes && len(p) > 300 && len(p) < 1000 {
		n, _ := s.Write(ctx, p[:200])
		m, err := s.Write(ctx, append([]byte("\n"), p[200:]...))
		return n + m - 1, err
	}
	closed := &durward.Error{Reason: durward.InputClosed, Op: "write"}
	if s.flaw == takesLate {
		closed = nil
	}
	select {
	case s.input <- slices.Clone(p):
		return len(p), nil
	case <-s.done:
	case <-s.eof:
	case <-ctx.Done():
		return 0, EndOf(ctx)
	}
	if closed == nil {
		return len(p), nil
	}
	return 0, closed
}

func (s *player) CloseInput() error {
	s.noMore.Do(func() { close(s.eof) })
	return nil
}

func (s *player) Signal(number int) error {
	if number < 1 && s.flaw != ignoresAny {
		return &durward.Error{Reason: durward.NotSupported, Op: "signal"}
	}
	s.mu.Lock()
	s.signal = number
	s.mu.Unlock()
	s.cancel()
	return nil
}

func (s *player) Resize(w durward.WindowSize) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size != nil {
		*s.size = int(w.Rows)*1000 + int(w.Cols)
	} else if s.flaw != sizesAll {
		return &durward.Error{Reason: durward.NotSupported, Op: "resize"}
	}
	return nil
}

func (s *player) Read(ctx context.Context, after uint64, maxBytes int, wait time.Duration) (durward.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		page := s.look(after, maxBytes)
		if len(page.Chunks) > 0 || page.Ended || ctx.Err() != nil {
			s.read = max(s.read, page.Next)
			s.changed.Broadcast()
			return page, nil
		}
		s.changed.Wait()
	}
}

func (s *player) look(after uint64, maxBytes int) durward.Page {
	page, size := durward.Page{Next: after}, 0
	for _, c := range s.chunks {
		if c.Seq <= after {
			continue
		}
		if size += len(c.Data); size > maxBytes && len(page.Chunks) > 0 {
			break
		}
		if len(page.Chunks) == 0 && s.flaw != losesSilent {
			page.Lost = c.Seq - after - 1
		}
		page.Chunks, page.Next = append(page.Chunks, c), c.Seq
	}
	page.Last = s.last
	page.Ended = s.over && page.Next >= s.last
	return page
}

func (s *player) Cancel() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.stop(ctx)
}

func (s *player) Kill() { s.Cancel() }

func (s *player) Ack(uint64) {}

func (s *player) Wait(ctx context.Context) (durward.Result, error) {
	select {
	case <-s.done:
		return s.result, s.err
	case <-ctx.Done():
		return durward.Result{}, EndOf(ctx)
	}
}

func (s *player) Close() error {
	s.Cancel()
	<-s.done
	return nil
}

// echo is the program of Echo, and of Sizes on a terminal.
func echo(s *player) (durward.Result, error) {
	for {
		select {
		case text := <-s.input:
			s.answer(string(text))
		case <-s.eof:
			return durward.Result{}, nil
		case <-s.ctx.Done():
			return durward.Result{}, nil
		}
	}
}

func (s *player) answer(text string) {
	s.mu.Lock()
	size := s.size
	if size != nil {
		text = fmt.Sprintf("%d %d\n", *size/1000, *size%1000)
	}
	s.mu.Unlock()
	if size != nil {
		s.print(durward.Terminal, text)
		return
	}
	for part := range slices.Chunk([]byte(text), 4096) {
		s.print(durward.Stdout, string(part))
	}
}

func shout(s *player) (durward.Result, error) {
	const size, times = 4096, 512
	for range times {
		s.print(durward.Stdout, strings.Repeat("x", size))
	}
	return durward.Result{Stdout: durward.Capture{Total: size * times, Passed: size * times}}, nil
}

// stage gives a subject whose sessions are players with that flaw.
func stage(t testing.TB, f flaw) Subject {
	a, grant := &actor{}, &durward.Grant{}
	var newest *player
	a.OnOpen = func(ctx context.Context, c durward.Call, events durward.Events) (durward.Session, error) {
		program := echo
		switch c.Argv[0] {
		case "noise":
			program = shout
		case "mark", "work":
			program = func(s *player) (durward.Result, error) { return a.run(s.ctx, c, durward.Grant{}) }
		case "succeed":
			program = func(s *player) (durward.Result, error) {
				s.print(durward.Stdout, "hello\n")
				return durward.Result{}, nil
			}
		}
		newest = play(ctx, f, c, *grant, events, program)
		return newest, nil
	}
	a.OnClose = func() error {
		if newest != nil && f == forgets {
			newest.mu.Lock()
			defer newest.mu.Unlock()
			newest.chunks = nil
		}
		return nil
	}
	a.OnPrepare = func(_ context.Context, c durward.Call) error { return a.judge(c) }
	s := subjectOf(t, a)
	a.granted = grant
	s.Echo = durward.Call{Argv: []string{"echo"}}
	s.Sizes = durward.Call{Argv: []string{"echo"}, Terminal: &durward.WindowSize{Rows: 1, Cols: 1}}
	return s
}

func TestPlayer(t *testing.T) {
	Session(t, func(t *testing.T) Subject { return stage(t, flawless) })
}

func TestSessionBatteryBites(t *testing.T) {
	for f, want := range map[flaw]string{
		skipsNumbers: "without holes",
		startsLate:   "starts nothing",
		tellsTheEnd:  "events tell",
		sizesAll:     "a size is for terminals",
		keepsAll:     "does not read",
		losesSilent:  "does not read",
		losesFlow:    "back-pressure",
		forgets:      "late readers",
		mixes:        "do not mix",
		takesLate:    "no more input",
		blursEnds:    "a deadline",
		ignoresAny:   "a signal",
	} {
		t.Run(string(f), func(t *testing.T) {
			checkBites(t, broken(t, func() Subject { return stage(t, f) }, sessionRules), want)
		})
	}
}
