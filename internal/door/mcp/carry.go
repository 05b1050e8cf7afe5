package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// admit takes the call of a task on if there is room for it, and else refuses it or is
// patient.
func (s *session) admit(t *task, bytes int) {
	weight := max(int64(bytes), leastTaken)
	if s.Patient {
		t.taken = s.taken.ask(weight)
		select {
		case <-t.taken.given:
		case <-s.stop:
		case <-s.gone:
		}
		return
	}
	if t.taken = s.taken.try(weight); t.taken != nil {
		return
	}
	c := t.reply.call
	defer c.inv.leave()
	err := c.inv.runtime.Refuse(c.inv.call, busy())
	s.remark(c.asked, c.inv, durward.Result{}, err)
	t.reply = c.answer(durward.Result{}, err)
}

// lineUp gives the call of a task its place, and a command its turn at the runtime. Nobody comes
// between the two: who waited for the turn of somebody who waited for his place would wait for
// ever.
func (s *session) lineUp(t *task) {
	inv := t.reply.call.inv
	runtime, ok := inv.runtime.(Expecter)
	if !ok || inv.call.Tool != cmdRun || inv.bad != nil {
		t.place, t.forget = s.place(inv), func() {}
		return
	}
	s.lining.Lock()
	defer s.lining.Unlock()
	t.place, t.forget = s.place(inv), runtime.Expect(inv.call)
}

// carryOut carries out the call of a task and makes its answer, one answer at a time. The
// call has its place until keep comes back with what is to be sent.
func (s *session) carryOut(t task, keep func(answer jsonrpc.Message) jsonrpc.Message) jsonrpc.Message {
	defer t.taken.free()
	defer t.place.free()
	c := t.reply.call
	defer c.inv.leave()
	defer t.forget()
	result, err := s.perform(t.ctx, c, t.place)
	t.forget()
	if t.request.Kind == jsonrpc.Notification {
		return jsonrpc.Message{}
	}
	t.settle(result)
	turn := s.making.ask(1)
	defer turn.free()
	s.await(turn)
	return keep(t.message(c.answer(result, err)))
}

// perform does a call, or has it refused if its place does not come.
func (s *session) perform(ctx context.Context, c *pending, place *part) (result durward.Result, err error) {
	if err = c.enter(ctx, place); err != nil {
		err = c.inv.runtime.Refuse(c.inv.call, err)
	} else {
		result, err = s.doWatched(ctx, c.inv, c.token)
	}
	s.remark(c.asked, c.inv, result, err)
	return result, err
}

// enter waits for the place of a call, if it needs one: a command as long as it may then
// run, and all until ctx ends.
func (c *pending) enter(ctx context.Context, place *part) error {
	if place == nil {
		return nil
	}
	select {
	case <-place.given:
		return nil
	default:
	}
	var late <-chan time.Time
	if limit := c.inv.timeoutMs(); c.inv.call.Tool == cmdRun && limit > 0 {
		timer := time.NewTimer(time.Duration(limit) * time.Millisecond)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-place.given:
		return nil
	case <-ctx.Done():
		return durward.Ended(ctx, "admit")
	case <-late:
		return &durward.Error{
			Reason: durward.DeadlineExceeded, Op: "admit", Rule: "concurrency", Retry: true, Hint: "try again later",
			Err: errors.New("other calls held all places"),
		}
	}
}

// await waits for a part, though not when nobody reads what is sent any more.
func (s *session) await(p *part) {
	select {
	case <-p.given:
	case <-s.gone:
	}
}
