package mcp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// A batch is an array of messages, which is answered by one array, in their order.
type batch struct {
	tasks   []task
	answers []jsonrpc.Message
	bytes   int64 // of the answers to calls
}

// batch answers the messages of an array: at once, or when the last call is over.
func (s *session) batch(calls context.Context, text []byte) {
	list, bad := jsonrpc.Batch(text)
	if bad == nil && len(list) > maxBatch {
		bad = &jsonrpc.Error{Code: jsonrpc.InvalidRequest, Message: fmt.Sprintf("a batch holds %d messages at most", maxBatch)}
	}
	if bad != nil {
		s.send(jsonrpc.Message{}.Refuse(bad))
		return
	}
	b := &batch{}
	for _, text := range list {
		if t, ok := s.take(calls, bytes.Clone(text), true); ok { // a call that lasts keeps no more than its own part
			b.tasks = append(b.tasks, t)
		}
	}
	b.answers = make([]jsonrpc.Message, len(b.tasks))
	if !slices.ContainsFunc(b.tasks, func(t task) bool { return t.reply.call != nil }) {
		s.carryOutBatch(b, nil)
		return
	}
	room := s.batches.ask(maxBatchBytes)
	s.running.Go(func() {
		s.await(room)
		s.carryOutBatch(b, room)
	})
}

// carryOutBatch carries the calls of a batch out, all at once, and sends the answers.
func (s *session) carryOutBatch(b *batch, room *part) {
	var open sync.WaitGroup
	for i, t := range b.tasks {
		if t.reply.call == nil {
			b.answers[i] = t.message(t.reply)
			continue
		}
		s.lineUp(&t)
		open.Go(func() {
			b.answers[i] = s.carryOut(t, func(answer jsonrpc.Message) jsonrpc.Message { return b.keep(t, answer) })
		})
	}
	open.Wait()
	s.sendBatch(b, room)
}

// keep adds an answer to those of the batch. Where it does not fit, the answer is that
// it is too large. One caller at a time.
func (b *batch) keep(t task, answer jsonrpc.Message) jsonrpc.Message {
	size := sizeOf(answer)
	if b.bytes+size > maxBatchBytes {
		return t.message(t.reply.call.answer(durward.Result{}, &durward.Error{Reason: durward.OutputTooLarge, Op: Name}))
	}
	b.bytes += size
	return answer
}

func (s *session) sendBatch(b *batch, room *part) {
	var wanted []jsonrpc.Message
	for i, t := range b.tasks {
		if s.wanted(t) {
			wanted = append(wanted, b.answers[i])
		}
	}
	if len(wanted) == 0 {
		room.free()
		return
	}
	s.post(func(w *jsonrpc.Writer) error {
		defer room.free()
		return w.SendBatch(wanted)
	})
}
