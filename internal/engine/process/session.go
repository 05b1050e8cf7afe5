package process

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/chunks"
	"github.com/durward/durward/internal/sandbox"
)

// chunkBytes is the most that one chunk of output holds.
const chunkBytes = 8192

// A session is a run that somebody talks to.
type session struct {
	run    *run
	ring   *chunks.Ring
	cancel context.CancelFunc
	hurry  func() // may be called again

	// writing holds one token; whoever has it may write and set the deadline of writes.
	writing chan struct{}

	done   chan struct{} // closed when result and err are set
	result durward.Result
	err    error
}

// Open starts the command and follows it in the background until its tree is dead.
func (p *prepared) Open(ctx context.Context, events durward.Events) (durward.Session, error) {
	s, follow, err := p.Begin(ctx, events)
	if err == nil {
		go func() { _, _ = follow() }()
	}
	return s, err
}

// Begin starts the command; follow follows it until its tree is dead.
func (p *prepared) Begin(ctx context.Context, events durward.Events) (_ durward.Session, follow func() (durward.Result, error), err error) {
	if ctx.Err() != nil {
		return nil, nil, ended(ctx)
	}
	ring := chunks.New(chunks.Options{
		Limit: max(p.grant.Limits.WithDefaults().Output, chunkBytes), Keep: p.grant.Keep, Events: events,
	})
	first := durward.Stdout
	if p.call.Terminal != nil {
		first = durward.Terminal
	}
	r := &run{prepared: p, interactive: !p.call.NoInput, exit: ring.Exited, hurry: make(chan struct{}), sinks: [2]sink{
		newDigest(&streamSink{ring: ring, stream: first}), newDigest(&streamSink{ring: ring, stream: durward.Stderr}),
	}}
	if err := p.followed(ctx, true); err != nil {
		return nil, nil, err
	}
	if err := r.start(ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &session{run: r, ring: ring, cancel: cancel, hurry: sync.OnceFunc(func() { close(r.hurry) }), writing: make(chan struct{}, 1), done: make(chan struct{})}
	stop := context.AfterFunc(ctx, ring.Abandon) // nobody may be left to read
	if input := p.call.Stdin; len(input) > 0 {   // which is forgotten at the end
		s.writing <- struct{}{} // the first write
		r.readers.Go(func() {
			_, _ = s.write(input) // a command need not read its input
			<-s.writing
		})
	}
	return s, func() (durward.Result, error) {
		defer close(s.done)
		defer cancel()
		defer stop()
		s.result, s.err = r.finish(ctx)
		r.forget()
		ring.End()
		return s.result, s.err
	}, nil
}

// Write gives bytes to the command's input, in the order of calls.
func (s *session) Write(ctx context.Context, p []byte) (int, error) {
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return 0, interrupted(ctx)
	}
	defer func() { <-s.writing }()
	if s.run.stdin == nil {
		return s.write(p)
	}
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = s.run.stdin.SetWriteDeadline(time.Now())
		close(woken)
	})
	n, err := s.write(p)
	if stop() {
		return n, err
	}
	<-woken
	_ = s.run.stdin.SetWriteDeadline(time.Time{}) // for the next one
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = interrupted(ctx)
	}
	return n, err
}

func interrupted(ctx context.Context) error {
	return &durward.Error{Reason: durward.CallCancelled, Op: "write", Err: context.Cause(ctx)}
}

// write needs the token.
func (s *session) write(p []byte) (int, error) {
	if s.run.stdin == nil {
		return 0, &durward.Error{Kind: durward.Conflict, Reason: durward.InputClosed, Op: "write", Err: os.ErrClosed}
	}
	n, err := s.run.stdin.Write(p)
	if errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EIO) {
		return n, &durward.Error{Kind: durward.Conflict, Reason: durward.InputClosed, Op: "write", Err: err}
	}
	return n, err
}

// CloseInput ends the command's input behind the writes that were called before; on a
// terminal it sends end-of-file. It does not wait for them.
func (s *session) CloseInput() error {
	go func() { // ends with the writes before it, at the latest with the session
		select {
		case s.writing <- struct{}{}:
			s.endInput()
			<-s.writing
		case <-s.done:
		}
	}()
	return nil
}

// endInput needs the token.
func (s *session) endInput() {
	if s.run.stdin == nil {
		return
	}
	if s.run.call.Terminal == nil {
		s.run.stdin.Close()
		return
	}
	const endOfFile = 4
	_, _ = s.write([]byte{endOfFile}) // a command that has ended needs none
}

// Signal sends a signal to the command's process group.
func (s *session) Signal(number int) error {
	if number < 1 || number > 64 {
		return &durward.Error{Reason: durward.NotSupported, Op: "signal", Err: errors.New("no such signal")}
	}
	return s.run.proc.Signal(syscall.Signal(number))
}

// Resize sets the size of the terminal.
func (s *session) Resize(size durward.WindowSize) error {
	if s.run.call.Terminal == nil {
		return &durward.Error{Reason: durward.NotSupported, Op: "resize", Err: errors.New("the command has no terminal")}
	}
	return sandbox.ResizeTerminal(s.run.stdin, size)
}

// Read gives the chunks behind the cursor.
func (s *session) Read(ctx context.Context, after uint64, maxBytes int, wait time.Duration) (durward.Page, error) {
	return s.ring.Page(ctx, after, maxBytes, wait)
}

// Ack says that every chunk up to a number has been taken.
func (s *session) Ack(seq uint64) { s.ring.Ack(seq) }

// Cancel begins the end of the command.
func (s *session) Cancel() { s.cancel() }

// Kill ends the command without a warning.
func (s *session) Kill() {
	s.hurry()
	if s.run.grant.Keep != durward.KeepAcked { // what was printed before still waits for its reader
		s.cancel()
	}
}

// Wait blocks until the tree is dead.
func (s *session) Wait(ctx context.Context) (durward.Result, error) {
	select {
	case <-s.done:
		return s.result, s.err
	case <-ctx.Done():
		return durward.Result{}, &durward.Error{Reason: durward.CallCancelled, Op: "wait", Err: context.Cause(ctx)}
	}
}

// Close cancels and waits for the end.
func (s *session) Close() error {
	s.cancel()
	<-s.done
	return nil
}

// A streamSink feeds one stream of a run into a ring and keeps only the count.
type streamSink struct {
	ring   *chunks.Ring
	stream durward.Stream
	total  int64
}

func (s *streamSink) take(p []byte) {
	s.total += int64(len(p))
	for part := range slices.Chunk(p, chunkBytes) {
		s.ring.Put(s.stream, part)
	}
}

func (s *streamSink) captured() durward.Capture {
	return durward.Capture{Total: s.total, Passed: s.total}
}
