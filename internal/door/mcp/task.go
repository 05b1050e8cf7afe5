package mcp

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// A reply is what a request comes to: a result or an error, at once or when its call is
// over.
type reply struct {
	result any
	bad    *jsonrpc.Error
	call   *pending
	// open leaves the request in flight, to be answered another time.
	open bool
}

func refuse(code int, message string) reply {
	return reply{bad: &jsonrpc.Error{Code: code, Message: message}}
}

// A task is a request, or the notification of a call, on its way to its answer.
type task struct {
	request jsonrpc.Message // without what it carries
	reply   reply
	// ctx ends with the request.
	ctx context.Context
	// release ends the context of a request that is in flight; nil for another one.
	release context.CancelFunc
	// taken is what a call weighs among those that are not answered, and place its place
	// among those that are carried out.
	taken, place *part
	// forget gives up the turn of a command at its runtime, if it has not come by then.
	forget func()
}

// take reads one message and does what can be done at once. It gives no task for what is
// not to be answered now.
func (s *session) take(calls context.Context, text []byte, batched bool) (t task, ok bool) {
	m, bad := jsonrpc.Parse(text)
	switch {
	case m.Kind == jsonrpc.Response:
		return task{}, false
	case m.Kind == jsonrpc.Notification:
		t, ok = s.notified(calls, m)
	case bad != nil:
		t, ok = task{reply: reply{bad: bad}}, true
	default:
		t, ok = s.requested(calls, request{Message: m, batched: batched})
	}
	t.request = jsonrpc.Message{Kind: m.Kind, ID: m.ID}
	if ok && t.reply.call != nil {
		s.admit(&t, len(text))
	}
	return t, ok
}

// requested puts a request in flight and finds its reply.
func (s *session) requested(calls context.Context, r request) (t task, ok bool) {
	ctx, release := context.WithCancel(calls)
	if !s.inFlight.Add(r.ID, func() { release(); s.unsubscribe(r.ID) }) {
		release()
		return task{reply: refuse(jsonrpc.InvalidRequest, "the id is in use")}, true
	}
	t = task{ctx: ctx, release: release, reply: s.route(ctx, r)}
	return t, !t.reply.open
}

// start answers a task: at once, or beside when its call is over. A call that is short as a
// rule and has no other beside it is given back to who read it: nobody has to be woken for
// it.
func (s *session) start(t task) (here *task) {
	if t.reply.call == nil {
		s.finishTask(t, t.message(t.reply))
		return nil
	}
	s.lineUp(&t)
	if s.alone.Add(1) == 1 && t.reply.call.inv.short() {
		return &t
	}
	s.beside(func() {
		defer s.alone.Add(-1)
		if write, wanted := s.answer(t); wanted {
			s.post(write)
		}
	})
	return nil
}

// answer carries out the call of a task, and gives what writes the answer if it is wanted.
func (s *session) answer(t task) (write func(*jsonrpc.Writer) error, wanted bool) {
	var room *part
	answer := s.carryOut(t, func(answer jsonrpc.Message) jsonrpc.Message {
		room = s.answers.ask(sizeOf(answer))
		s.await(room)
		return answer
	})
	return s.finished(t, answer, room)
}

// beside does something beside the loop: who has done so before and waits does it, for what
// has grown to carry one call is there for the next.
func (s *session) beside(rest func()) {
	select {
	case s.more <- rest:
	default:
		s.running.Go(func() { s.work(rest) })
	}
}

// work does something, and then more as it comes. No more than a few wait for that.
func (s *session) work(rest func()) {
	for {
		rest()
		select {
		case s.waiting <- struct{}{}:
		default:
			return
		}
		select {
		case rest = <-s.more:
			<-s.waiting
		case <-s.stop:
			return
		}
	}
}

// finishTask sends the answer of a task, if it is wanted.
func (s *session) finishTask(t task, answer jsonrpc.Message) {
	if write, wanted := s.finished(t, answer, nil); wanted {
		s.post(write)
	}
}

// finished lets a task go, and gives what writes its answer if that is wanted. The room of the
// answer is given back then.
func (s *session) finished(t task, answer jsonrpc.Message, room *part) (write func(*jsonrpc.Writer) error, wanted bool) {
	if !s.wanted(t) {
		room.free()
		return nil, false
	}
	return func(w *jsonrpc.Writer) error {
		defer room.free()
		return w.Send(answer)
	}, true
}

// message is the answer that a reply makes.
func (t task) message(r reply) jsonrpc.Message {
	if r.bad != nil {
		return t.request.Refuse(r.bad)
	}
	text, err := encode(r.result)
	if err != nil {
		return t.request.Refuse(&jsonrpc.Error{Code: jsonrpc.InternalError, Message: "the result is not JSON"})
	}
	return t.request.Answer(text)
}

// sizeOf is about how many bytes are kept with an answer.
func sizeOf(m jsonrpc.Message) int64 {
	size := len(m.ID.String()) + len(m.Result)
	if m.Error != nil {
		size += len(m.Error.Message) + len(m.Error.Data)
	}
	return int64(size)
}

// wanted lets a task go, and reports whether it is to be answered.
func (s *session) wanted(t task) bool {
	if t.release == nil {
		return t.request.Kind != jsonrpc.Notification
	}
	t.release()
	return s.inFlight.Done(t.request.ID)
}

// encode gives a value as JSON. What is JSON already stays as it is.
func encode(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, nil
	}
	text, err := jsonx.Marshal(v)
	return bytes.TrimSuffix(text, []byte("\n")), err
}
