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
	// taken is what a call weighs among those that are not answered.
	taken *part
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

// start answers a task: at once, or beside the loop when its call is over.
func (s *session) start(t task) {
	if t.reply.call == nil {
		s.finishTask(t, t.message(t.reply), nil)
		return
	}
	place := s.place(t.reply.call.inv)
	s.beside(func() {
		var room *part
		answer := s.carryOut(t, place, func(answer jsonrpc.Message) jsonrpc.Message {
			room = s.answers.ask(sizeOf(answer))
			s.await(room)
			return answer
		})
		s.finishTask(t, answer, room)
	})
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

// finishTask sends the answer of a task, if it is wanted, and then gives its room back.
func (s *session) finishTask(t task, answer jsonrpc.Message, room *part) {
	if !s.wanted(t) {
		room.free()
		return
	}
	s.post(func(w *jsonrpc.Writer) error {
		defer room.free()
		return w.Send(answer)
	})
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
