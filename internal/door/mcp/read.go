package mcp

import (
	"context"
	"errors"
	"io"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

// read takes lines and answers them one after the other. It comes back when the stream has
// ended, when nothing more is to be taken, or when another goroutine reads in its place.
func (s *session) read(calls context.Context, in *jsonrpc.Reader) {
	for {
		text, err := in.ReadLine()
		if !s.enter() {
			return
		}
		here, err := s.line(calls, text, err)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.readErr = err
			}
			close(s.ended)
			s.running.Done()
			return
		}
		if here == nil {
			s.running.Done()
		} else if !s.doHere(here) {
			return
		}
	}
}

// enter lets a line be answered, unless nothing more is to be taken. Who entered is running.
func (s *session) enter() bool {
	s.entry.Lock()
	defer s.entry.Unlock()
	select {
	case <-s.stop:
		return false
	default:
		s.running.Add(1)
		return true
	}
}

func (s *session) takeNoMore() {
	s.entry.Lock()
	defer s.entry.Unlock()
	close(s.stop)
}

// line answers what a read gave, or gives the error that ended the stream. It gives back the
// call that is to be done by whoever read it; the others go on beside.
func (s *session) line(calls context.Context, text []byte, err error) (here *task, _ error) {
	s.loop.take()
	defer s.loop.give()
	switch {
	case err == jsonrpc.ErrTooLong:
		s.send(jsonrpc.Message{}.Refuse(jsonrpc.ErrTooLong))
	case err != nil:
		return nil, err
	case s.version == mcpspec.Batches && jsonrpc.IsBatch(text):
		s.batch(calls, text)
	default:
		if t, ok := s.take(calls, text, false); ok {
			return s.start(t), nil
		}
	}
	return nil, nil
}

// follow tells of changes as they come.
func (s *session) follow() {
	for {
		select {
		case <-s.stop:
			return
		case _, ok := <-s.Changed:
			if !ok {
				return
			}
			s.changed()
		}
	}
}

// doHere does a call where it was read, so that nobody has to be woken for it: it reports
// whether who read it is still who reads. While the answer is written the goroutine is not
// running any more, as the writer never is.
func (s *session) doHere(t *task) (reads bool) {
	turn := s.relay.begin()
	write, wanted := s.answer(*t)
	if wanted {
		wanted = s.hold()
	}
	s.running.Done()
	if wanted {
		s.put(write)
	}
	s.alone.Add(-1)
	return s.relay.end(turn)
}
