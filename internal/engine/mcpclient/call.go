package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// answerTime is what a server has to answer a call that was cancelled.
const answerTime = 5 * time.Second

var errHung = errors.New("it did not answer a call within 5 seconds of its cancellation")

// A prepared call has been read and not sent.
type prepared struct {
	engine *Engine
	server *server
	caller durward.Caller
	target hubconfig.Target
	input  json.RawMessage // the arguments of a tool, or the params of another request
	resume json.RawMessage // what a modern server is brought beside it; nil for nothing
	limit  int64           // of the result, in bytes
	turn   atomic.Bool     // a slot of the server is held for the first time that the call is sent
}

// bound gives a limit for results that may be compared; a negative one is none.
func bound(l durward.Limits) int64 {
	if limit := l.WithDefaults().Output; limit >= 0 {
		return limit
	}
	return math.MaxInt64
}

// Close gives back the slot of a call that was not begun.
func (p *prepared) Close() error {
	p.giveBack(p.turn.Swap(false))
	return nil
}

func (p *prepared) giveBack(held bool) {
	if held {
		p.server.slots.give()
	}
}

// Queue waits for a slot of the server.
func (p *prepared) Queue(ctx context.Context) error {
	if err := p.engine.enter(); err != nil {
		return err
	}
	defer p.engine.leave()
	if err := p.takeSlot(ctx, mostWaiting); err != nil {
		return err
	}
	p.turn.Store(true)
	return nil
}

// takeSlot waits for a slot, unless so many do already, and says why there was none.
func (p *prepared) takeSlot(ctx context.Context, most int) error {
	err := p.server.slots.take(ctx, most)
	switch {
	case errors.Is(err, errCrowd):
		return crowded(p.server.config.Name)
	case err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return noSlot(p.server.config.Name)
	case err != nil:
		return durward.Ended(ctx, op)
	}
	return nil
}

// Run waits for a slot of the server and has it do the call. When ctx ends first the server is
// told, and nobody waits for its answer.
func (p *prepared) Run(ctx context.Context) (durward.Result, error) {
	return p.carryOut(ctx, nil, p.turn.Swap(false))
}

// Open has the server do the call in the background. Events are told of its progress, in the
// order in which the server reports it, and of nothing behind its end.
func (p *prepared) Open(ctx context.Context, events durward.Events) (durward.Session, error) {
	if ctx.Err() != nil {
		return nil, durward.Ended(ctx, op)
	}
	held := p.turn.Swap(false)
	return core.Background(ctx, op, func(ctx context.Context) (durward.Result, error) { return p.carryOut(ctx, events, held) }), nil
}

// carryOut tells events, unless nil, of the call's progress. A slot may be held for it.
func (p *prepared) carryOut(ctx context.Context, events durward.Events, held bool) (durward.Result, error) {
	if ctx.Err() != nil {
		p.giveBack(held)
		return durward.Result{}, durward.Ended(ctx, op)
	}
	if err := p.engine.enter(); err != nil {
		p.giveBack(held)
		return durward.Result{}, err
	}
	defer p.engine.leave()
	var queued time.Duration
	result, err := p.rounds(ctx, events, held, &queued)
	result.Queued = queued
	return result, err
}

// rounds sends the call, and sends it again for as long as a modern server wants more that can be
// brought.
func (p *prepared) rounds(ctx context.Context, events durward.Events, held bool, queued *time.Duration) (durward.Result, error) {
	for i := range mostRounds {
		raw, process, err := p.round(ctx, events, i, held, queued)
		switch {
		case err != nil && i > 0:
			return durward.Result{}, p.leftOff(ctx, err)
		case err != nil:
			return durward.Result{}, err
		}
		if process.greeting.era == modern && p.takesMore() && int64(len(raw)) <= p.limit {
			if w := wantOf(raw); w != nil {
				if p.resume, err = process.bring(ctx, events, w); err != nil {
					return durward.Result{}, err
				}
				continue
			}
		}
		return conclude(raw, p.target.Method, p.limit)
	}
	return durward.Result{}, inputRequired(nil)
}

// round waits for a slot, unless one is held for the first one, has the call done once, and tells by
// what. The wait is added to queued. A call that was let in once waits behind however many.
func (p *prepared) round(ctx context.Context, events durward.Events, i int, held bool, queued *time.Duration) (json.RawMessage, *run, error) {
	if !held || i > 0 {
		came, most := time.Now(), mostWaiting
		if i > 0 {
			most = math.MaxInt
		}
		if err := p.takeSlot(ctx, most); err != nil {
			return nil, nil, err
		}
		*queued += time.Since(came)
	}
	process, err := p.server.current()
	if err != nil {
		p.server.slots.give()
		return nil, nil, err
	}
	raw, err := process.call(ctx, p, events)
	return raw, process, err
}

// call sends a call. It gives the slot back, perhaps later.
func (process *run) call(ctx context.Context, p *prepared, events durward.Events) (json.RawMessage, error) {
	s := process.server
	if process.greeting.era == modern && p.subscribes() {
		defer s.slots.give()
		return process.subscribe(ctx, p.target.Method, keyOf(p.input, "uri"))
	}
	q, _ := process.pose(ctx, p.method(), func(id int64) json.RawMessage { return process.callParams(id, p, events) }, &p.caller, events)
	if q == nil {
		s.slots.give()
		if ctx.Err() != nil {
			return nil, durward.Ended(ctx, op)
		}
		process.breakOff()
		return nil, stopped(s.config.Name, soon)
	}
	defer q.hush()
	process.hearOut(ctx, q)
	select {
	case r := <-q.reply:
		s.slots.give()
		if r.err == nil && p.subscribes() {
			r.err = s.wants(p.target.Method, keyOf(p.input, "uri"))
		}
		return r.result, s.answered(r.err, p.limit)
	case <-ctx.Done():
		process.abandon(q)
		return nil, cutShort(ctx)
	}
}

// cutShort is [durward.Ended] of a call that the server has been sent.
func cutShort(ctx context.Context) error {
	err := durward.Ended(ctx, op)
	if e := durward.AsError(err); e != nil {
		e.Err = durward.Detail{Members: map[string]any{hubconfig.MayHaveRun: true}, Err: e.Err}
	}
	return err
}

// leftOff is the error of a later round: what would have refused the first one ends a call here that
// the server has worked on.
func (p *prepared) leftOff(ctx context.Context, err error) error {
	switch durward.ReasonOf(err) {
	case durward.QueueTimeout, durward.CallCancelled, durward.DeadlineExceeded:
		return cutShort(ctx)
	case durward.ServerStopped:
		return disconnected(p.server.config.Name, err)
	}
	return err
}

// method is what the server is sent.
func (p *prepared) method() string { return cmp.Or(p.target.Method, "tools/call") }

func (p *prepared) subscribes() bool {
	return p.target.Method == hubconfig.Subscribe || p.target.Method == hubconfig.Unsubscribe
}

// metaBytes is room for what is put to the arguments of a call.
const metaBytes = 256

// callParams takes what the caller gave as it is, and puts our own _meta to it.
func (p *run) callParams(id int64, call *prepared, events durward.Events) json.RawMessage {
	token := int64(0)
	if events != nil {
		token = id
	}
	text := append(make([]byte, 0, len(call.input)+metaBytes), '{')
	if call.target.Tool != "" {
		text = jsonx.AppendString(member(text, "name"), call.target.Tool)
	}
	if call.target.Method == "" {
		text = append(member(text, "arguments"), call.input...)
	}
	for name, value := range call.others(p.greeting.era) {
		text = append(member(text, name), value...)
	}
	if meta := p.meta(p.greeting.era, token, p.offered(events), p.engine.levelFor(events)); meta != nil {
		text = append(member(text, "_meta"), meta...)
	}
	return append(text, '}')
}

// others gives the members of the params that the caller brings, beside the arguments of a tool.
func (p *prepared) others(era string) iter.Seq2[string, json.RawMessage] {
	resumes := era == modern && p.resume != nil
	return func(yield func(string, json.RawMessage) bool) {
		if p.target.Method != "" {
			for name, value := range jsonx.Members(jsonx.TrimSpace(p.input)) {
				ours := string(name) == "_meta" || string(name) == "name" && p.target.Tool != "" || resumes && isResuming(name)
				if !ours && !yield(string(name), value) {
					return
				}
			}
		}
		if !resumes {
			return
		}
		for name, value := range jsonx.Members(jsonx.TrimSpace(p.resume)) {
			if isResuming(name) && !yield(string(name), value) {
				return
			}
		}
	}
}

func isResuming(member []byte) bool {
	return string(member) == "inputResponses" || string(member) == "requestState"
}

// cancelled are the params that give up a request.
func cancelled(id int64) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"requestId":%d,"reason":"the call is over"}`, id))
}

// abandon tells the server that nobody waits for an answer any more, and keeps the slot until
// there is one. A server that could do something else meanwhile gets the slot back in any case;
// one that could not is ended.
func (p *run) abandon(q *question) {
	ctx, cancel := context.WithCancel(p.talk)
	p.later(func() {
		p.notify(ctx, "notifications/cancelled", cancelled(q.id))
	})
	p.later(func() {
		defer cancel()
		defer p.slots.give()
		timer, stop := p.engine.options.clock.timer(answerTime)
		defer stop()
		select {
		case <-q.reply:
		case <-timer:
			p.giveUp(q.id)
			if p.config.Concurrency <= 1 {
				p.leave(p)
				p.end(errHung)
			}
		}
	})
}

// answered gives the error of an answer a reason. One of a connection, which has none, comes
// behind the request.
func (s *server) answered(err error, limit int64) error {
	var said *jsonrpc.Error
	switch {
	case err == nil || durward.ReasonOf(err) != "":
		return err
	case !errors.As(err, &said):
		return disconnected(s.config.Name, err)
	case int64(len(said.Message)+len(said.Data)) > limit:
		return tooLarge(limit)
	}
	return saidError(said)
}

// conclude makes a result of what a server answered to a call of a tool, or to another method. Its
// bytes stay as they are.
func conclude(raw json.RawMessage, method string, limit int64) (durward.Result, error) {
	if int64(len(raw)) > limit {
		return durward.Result{}, tooLarge(limit)
	}
	if len(raw) == 0 || raw[0] != '{' {
		return durward.Result{}, malformed("it is not an object")
	}
	result, content, wants := durward.Result{Output: raw}, method != "", false
	for name, value := range jsonx.Members(raw) {
		switch string(name) {
		case "content":
			content = content || value[0] == '['
		case "structuredContent":
			content = content || string(value) != "null"
		case "isError":
			result.Failed = method == "" && string(value) == "true"
		case "resultType":
			kind, _ := jsonx.Text(value)
			wants = kind == "input_required"
		}
	}
	switch {
	case wants:
		return durward.Result{}, inputRequired(nil)
	case !content:
		return durward.Result{}, malformed("it has neither content nor structuredContent")
	}
	return result, nil
}

// hear takes a notification of the server.
func (p *run) hear(m jsonrpc.Message) {
	switch m.Method {
	case "notifications/tools/list_changed":
		p.mark(tools)
	case "notifications/resources/list_changed":
		p.mark(resources, templates)
	case "notifications/prompts/list_changed":
		p.mark(prompts)
	case "notifications/resources/updated":
		if tell := p.engine.options.Updated; tell != nil && m.Params != nil && p.toldOf(keyOf(m.Params, "uri")) {
			tell(p.config.Name, m.Params)
		}
	case "notifications/cancelled":
		p.asks.cancel(idOf(m.Params))
	case "notifications/progress":
		p.hearProgress(m.Params)
	case "notifications/message":
		p.log.Debug("an MCP server logs", "bytes", len(m.Params))
		if tell := p.engine.options.Message; tell != nil && m.Params != nil {
			tell(p.config.Name, p.callers(p.about), m.Params)
		}
	}
}

// idOf gives the id of the request that params name, as it is written.
func idOf(params json.RawMessage) string {
	if len(params) > 0 && params[0] == '{' {
		for name, value := range jsonx.Members(params) {
			if string(name) == "requestId" {
				return string(value)
			}
		}
	}
	return ""
}

func (p *run) hearProgress(params json.RawMessage) {
	var said struct {
		Token    int64   `json:"progressToken"`
		Progress float64 `json:"progress"`
		Total    float64 `json:"total"`
		Message  string  `json:"message"`
	}
	if params == nil || lax(params, &said) != nil {
		return
	}
	if q := p.find(said.Token); q != nil {
		q.progress(said.Progress, said.Total, said.Message, params)
	}
}
