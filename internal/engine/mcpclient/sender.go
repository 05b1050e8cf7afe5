package mcpclient

import (
	"context"
	"os"
	"sync"
	"time"
)

// A sender writes lines to the input of a server, which may read them slowly or not at all.
type sender struct {
	out *os.File
	// turn holds one token; whoever has it may write and set the deadline of writes.
	turn chan struct{}
	rest sync.WaitGroup // of lines that are written on after their senders have gone
}

func newSender(out *os.File) *sender { return &sender{out: out, turn: make(chan struct{}, 1)} }

// send writes a line. When ctx ends before anything of it is written, nothing will be, and sent
// is false. A line that has been begun is written to its end, though nobody waits for that.
func (s *sender) send(ctx context.Context, line []byte) (sent bool, err error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	n, err := writeNow(s.out, line)
	if n < len(line) && err == nil {
		return s.sendOn(ctx, line, n)
	}
	<-s.turn
	return n > 0, err
}

// begin waits for the turn.
func (s *sender) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	default: // to wait for the end of a context can be dear
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendOn writes a line of which so much is written. It waits for a server that reads slowly.
func (s *sender) sendOn(ctx context.Context, line []byte, n int) (sent bool, err error) {
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = s.out.SetWriteDeadline(time.Now())
		close(woken)
	})
	m, err := s.out.Write(line[n:])
	n += m
	if stop() {
		<-s.turn
		return n > 0, err
	}
	<-woken
	_ = s.out.SetWriteDeadline(time.Time{}) // for the next one
	if n == 0 || n == len(line) {
		<-s.turn
		return n > 0, err
	}
	s.rest.Go(func() { // ends with the server's input
		_, _ = s.out.Write(line[n:])
		<-s.turn
	})
	return true, nil
}

// close ends the server's input, and all that is being written to it.
func (s *sender) close() {
	s.out.Close()
	s.rest.Wait()
}
