package wsedge

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// Stdio makes a connection of two streams: each line that is not blank is a message, and
// the end of in is the end of the peer. A line of maxMessage bytes or more ends the
// connection; zero means DefaultMaxMessage.
//
// Close closes neither stream. What then still waits for one ends when that does.
func Stdio(in io.Reader, out io.Writer, maxMessage int64, caller durward.Caller) Conn {
	if maxMessage <= 0 {
		maxMessage = DefaultMaxMessage
	}
	s := &stdio{
		lines: jsonrpc.NewReader(in, int(maxMessage-1)), out: out, caller: caller,
		read: make(chan line), turn: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	s.start = sync.OnceFunc(func() { go s.pump() })
	s.close = sync.OnceFunc(func() { close(s.closed) })
	return s
}

type stdio struct {
	lines  *jsonrpc.Reader
	out    io.Writer
	caller durward.Caller

	start func() // begins to read, once
	read  chan line

	turn   chan struct{} // held by whoever writes
	buffer []byte        // guarded by turn

	closed chan struct{}
	close  func()
}

type line struct {
	text []byte
	err  error
}

// pump reads ahead by one line, as a read of a stream cannot be given up.
func (s *stdio) pump() {
	defer close(s.read)
	for {
		l := s.next()
		select {
		case s.read <- l:
		case <-s.closed:
			return
		}
		if l.err != nil {
			return
		}
	}
}

func (s *stdio) next() line {
	text, err := s.lines.ReadLine()
	switch {
	case errors.Is(err, jsonrpc.ErrTooLong):
		err = refused(durward.BadRequest, "a line over the limit")
	case err != nil:
		err = io.EOF
	case !utf8.Valid(text):
		err = refused(durward.BadRequest, "a line that is not UTF-8")
	}
	return line{text, err}
}

// Read gives the next message.
func (s *stdio) Read(ctx context.Context) ([]byte, error) {
	s.start()
	select {
	case l, more := <-s.read:
		if !more {
			return nil, io.EOF
		}
		if l.err != nil && l.err != io.EOF { // whoever says nothing more may still listen
			s.close()
		}
		return l.text, l.err
	case <-s.closed:
		return nil, io.EOF
	case <-ctx.Done():
		s.close()
		return nil, ctx.Err()
	}
}

// Write sends messages.
func (s *stdio) Write(ctx context.Context, messages ...[]byte) error {
	select {
	case s.turn <- struct{}{}:
	case <-s.closed:
		return net.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-s.closed: // nothing more may go out, though it was this writer's turn as well
		<-s.turn
		return net.ErrClosed
	default:
	}
	// The write has a copy and keeps the turn for as long as it lasts, whoever waits.
	s.buffer = s.buffer[:0]
	for _, message := range messages {
		s.buffer = append(append(s.buffer, message...), '\n')
	}
	written := make(chan error, 1)
	go func() {
		_, err := s.out.Write(s.buffer)
		written <- err
		<-s.turn
	}()
	select {
	case err := <-written:
		if err != nil {
			s.close()
		}
		return err
	case <-s.closed:
		return net.ErrClosed
	case <-ctx.Done():
		s.close()
		return ctx.Err()
	}
}

// Close ends the connection.
func (s *stdio) Close() error {
	s.close()
	return nil
}

func (s *stdio) Caller() durward.Caller { return s.caller }

func (s *stdio) Remote() string { return "stdio" }
