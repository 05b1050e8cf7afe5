package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// A reply is what a request comes to: a result or an error, at once or when run is over.
type reply struct {
	result any
	bad    *jsonrpc.Error
	run    func() reply
	// open leaves the request in flight, to be answered another time.
	open bool
}

func refuse(code int, message string) reply {
	return reply{bad: &jsonrpc.Error{Code: code, Message: message}}
}

// A task is a request on its way to its answer.
type task struct {
	request jsonrpc.Message
	reply   reply
	// release ends the context of a request that is in flight; nil for another one.
	release context.CancelFunc
}

// take reads one message and does what can be done at once. It gives no task for what is
// not to be answered now.
func (s *session) take(calls context.Context, text []byte, batched bool) (t task, ok bool) {
	m, bad := jsonrpc.Parse(text)
	switch {
	case m.Kind == jsonrpc.Response:
		return task{}, false
	case m.Kind == jsonrpc.Notification:
		s.notified(calls, m)
		return task{}, false
	case bad != nil:
		return task{request: m, reply: reply{bad: bad}}, true
	}
	ctx, release := context.WithCancel(calls)
	if !s.inFlight.Add(m.ID, func() { release(); s.unsubscribe(m.ID) }) {
		release()
		return task{request: m, reply: refuse(jsonrpc.InvalidRequest, "the id is in use")}, true
	}
	t = task{request: m, release: release, reply: s.route(ctx, request{Message: m, batched: batched})}
	return t, !t.reply.open
}

// start does the rest of a task: what lasts, beside the loop if there is a slot.
func (s *session) start(t task, rest func()) {
	if t.reply.run == nil {
		rest()
		return
	}
	select {
	case s.more <- rest: // somebody waits for it
		return
	default:
	}
	select {
	case s.slots <- struct{}{}:
		s.running.Go(func() { s.work(rest) })
	default:
		rest()
	}
}

// work does the rest of a task, and then of others as they come: what has grown to carry
// one call is there for the next. No more than a few wait for that.
func (s *session) work(rest func()) {
	defer func() { <-s.slots }()
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

// finishTask runs a task and sends its answer.
func (s *session) finishTask(t task) {
	if answer := t.answer(); s.wanted(t) {
		s.send(answer)
	}
}

// answer runs the task and gives what it is answered with.
func (t task) answer() jsonrpc.Message {
	r := t.reply
	if r.run != nil {
		r = r.run()
	}
	if r.bad != nil {
		return t.request.Refuse(r.bad)
	}
	text, err := encode(r.result)
	if err != nil {
		return t.request.Refuse(&jsonrpc.Error{Code: jsonrpc.InternalError, Message: "the result is not JSON"})
	}
	return t.request.Answer(text)
}

// wanted lets a task go, and reports whether it is to be answered.
func (s *session) wanted(t task) bool {
	if t.release == nil {
		return true
	}
	t.release()
	return s.inFlight.Done(t.request.ID)
}

// batch answers the messages of an array by one array, in their order.
func (s *session) batch(calls context.Context, text []byte) {
	list, bad := jsonrpc.Batch(text)
	if bad != nil {
		s.send(jsonrpc.Message{}.Refuse(bad))
		return
	}
	var tasks []task
	for _, text := range list {
		if t, ok := s.take(calls, text, true); ok {
			tasks = append(tasks, t)
		}
	}
	answers := make([]jsonrpc.Message, len(tasks))
	var open sync.WaitGroup
	for i, t := range tasks {
		open.Add(1)
		s.start(t, func() {
			defer open.Done()
			answers[i] = t.answer()
		})
	}
	s.running.Go(func() {
		open.Wait()
		s.sendBatch(tasks, answers)
	})
}

func (s *session) sendBatch(tasks []task, answers []jsonrpc.Message) {
	var wanted []jsonrpc.Message
	for i, t := range tasks {
		if s.wanted(t) {
			wanted = append(wanted, answers[i])
		}
	}
	if len(wanted) > 0 {
		s.post(func(w *jsonrpc.Writer) error { return w.SendBatch(wanted) })
	}
}

// encode gives a value as JSON. What is JSON already stays as it is.
func encode(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, nil
	}
	text, err := jsonx.Marshal(v)
	return bytes.TrimSuffix(text, []byte("\n")), err
}
