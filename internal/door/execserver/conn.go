package execserver

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
	"github.com/durward/durward/internal/jsonrpc"
)

const (
	// mostRequests is how many requests of one connection may be worked on or wait for that;
	// then nothing more is read from it. As many may wait for something else.
	mostRequests = 4096
	// mostHeld is how many bytes of requests may be held for one connection, and how many
	// that processes have not read beside.
	mostHeld = 64 << 20
	// mostAnswers is how many answers of up to 1 MiB are made at once that wait to be sent.
	mostAnswers = 4
	// mostWhole is how many files, of up to 512 MiB, are read as a whole at once.
	mostWhole = 2
)

// A state is how far the handshake of a connection has come.
type state int

const (
	fresh   state = iota
	greeted       // initialize was answered
	ready         // initialized has come
)

// A conn is one connection. Messages are taken in their order by one goroutine; what takes
// time goes on beside it.
type conn struct {
	server *Server
	peer   Conn
	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc

	state   state    // of the goroutine that takes messages
	session *session // of the same; nil until it is greeted

	work    sync.WaitGroup // what goes on beside
	waiting chan struct{}  // full when there are as many requests as there may be
	polls   chan struct{}  // full when as many wait for what a process does
	slots   chan struct{}  // full when as many are worked on as there may be
	whole   chan struct{}  // full when as many whole files are read as may be
	turns   chan struct{}  // full when as many answers are made as may be
	held    budget
	unread  budget // by processes
	handles handles
	streams names // http/request bodies that are still coming
	watches names
}

// Serve serves one connection until it ends, or ctx does. It comes back when nothing of it is
// left but what the session keeps.
func (s *Server) Serve(ctx context.Context, peer Conn) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &conn{
		server: s, peer: peer, ctx: ctx, cancel: cancel,
		waiting: make(chan struct{}, mostRequests), polls: make(chan struct{}, mostRequests),
		slots: make(chan struct{}, s.Limits.Requests), whole: make(chan struct{}, mostWhole), turns: make(chan struct{}, mostAnswers),
		held: newBudget(mostHeld), unread: newBudget(mostHeld), handles: newHandles(s.Limits.Handles),
		streams: names{most: s.Limits.Handles}, watches: names{most: s.Limits.Handles},
	}
	defer c.end()
	for {
		text, err := peer.Read(ctx)
		if err == io.EOF {
			c.settle(s.Patience)
		}
		if err != nil || !c.take(text) {
			return
		}
	}
}

// settle waits until every request is answered, so long at most.
func (c *conn) settle(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for _, places := range []chan struct{}{c.waiting, c.polls} {
		for range cap(places) { // whoever has all places knows that nobody else has one
			select {
			case places <- struct{}{}:
			case <-timer.C:
				return
			case <-c.ctx.Done():
				return
			}
		}
	}
}

// end lets go of everything that is the connection's own.
func (c *conn) end() {
	c.cancel(&durward.Error{Reason: durward.CallCancelled, Op: Name})
	_ = c.peer.Close() // unblocks whoever writes to it
	if c.session != nil {
		c.session.detach()
	}
	c.work.Wait()
	c.closeHandles()
}

// take takes one message. It reports false where that ends the connection.
func (c *conn) take(text []byte) bool {
	m, err := jsonrpc.ParseBare(text)
	if err != nil {
		c.refuseUnnamed("the message cannot be understood: " + err.Message)
		return true
	}
	switch m.Kind {
	case jsonrpc.Request:
		c.request(m, len(text))
		return true
	case jsonrpc.Notification:
		return c.notified(m)
	}
	return false // nothing was asked of the client that it could answer
}

// notified takes a notification.
func (c *conn) notified(m jsonrpc.Message) bool {
	switch m.Method {
	case protocol.Initialized:
		if c.state == fresh {
			return false
		}
		c.state = ready
	case protocol.ProcessAck:
		c.acknowledged(m.Params)
	default:
		c.refuseUnnamed("unknown notification " + m.Method)
	}
	return true
}

// acknowledged lets a process go on. Nobody is answered, whatever is wrong.
func (c *conn) acknowledged(params json.RawMessage) {
	p, err := protocol.Decode[protocol.AckParams](params)
	if err != nil || c.state != ready {
		return
	}
	if proc := c.session.process(p.ProcessID); proc != nil && isClosed(proc.started) && proc.err == nil {
		proc.call.Ack(p.Seq)
	}
}

// refuseUnnamed answers what no id is known of.
func (c *conn) refuseUnnamed(why string) {
	c.reply(jsonrpc.Message{ID: jsonrpc.IntID(-1)}.Refuse(&jsonrpc.Error{Code: jsonrpc.InvalidRequest, Message: why}))
}

// A request is one that waits for its answer.
type request struct {
	jsonrpc.Message
	size int // in bytes, as it came
}

// request finds out what a request wants and has it done.
func (c *conn) request(m jsonrpc.Message, size int) {
	do := handlerOf(m.Method)
	if do == nil {
		c.reply(m.Refuse(&jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "unknown method " + m.Method}))
		return
	}
	do(c, request{m, size})
}

// allowed says why a method of a family may not be called yet.
func (c *conn) allowed(family string) error {
	switch c.state {
	case fresh:
		return refusal(protocol.InvalidRequest, "client must call initialize before using %s methods", family)
	case greeted:
		return refusal(protocol.InvalidRequest, "client must send initialized before using %s methods", family)
	}
	return nil
}

// answer sends the result of a request, or the error instead.
func (c *conn) answer(r request, result json.RawMessage, err error) {
	if err != nil {
		c.reply(r.Refuse(answerOf(r.Method, err)))
		return
	}
	c.reply(r.Answer(result))
}

func (c *conn) reply(m jsonrpc.Message) { c.send(m.AppendBare) }

// send writes messages, one right behind the other. A connection that cannot be written to
// ends.
func (c *conn) send(messages ...func(text []byte) []byte) {
	buffer := frames.Get().(*[]byte)
	text := (*buffer)[:0]
	parts := make([][]byte, len(messages))
	for i, frame := range messages {
		at := len(text)
		text = frame(text)
		parts[i] = text[at:] // good even when the rest of text moves
	}
	if err := c.peer.Write(c.ctx, parts...); err != nil {
		c.cancel(err)
	}
	if cap(text) <= mostKept {
		*buffer = text
		frames.Put(buffer)
	}
}

// mostKept is the size of the largest buffer that is used again.
const mostKept = 64 << 10

var frames = sync.Pool{New: func() any { return new([]byte) }}

// beside answers a request while others come. What is held for it counts until then, and so
// does its slot: a client that reads no answers gets no more of them made.
func (c *conn) beside(r request, f func(ctx context.Context) (json.RawMessage, error)) {
	c.apart(r, c.slots, f)
}

// patiently answers a request that only waits, and takes no slot for that: what it waits for
// may be asked for by a message behind it, so one too many is refused. What f gives is made into
// an answer when it is its turn.
func (c *conn) patiently(r request, f func(ctx context.Context) (answer func() (json.RawMessage, error), err error)) {
	select {
	case c.polls <- struct{}{}:
	default:
		c.answer(r, nil, refusal(protocol.InternalError, "%d requests wait, and more may not", mostRequests))
		return
	}
	c.work.Go(func() {
		defer func() { <-c.polls }()
		answer, err := f(c.ctx)
		if err != nil {
			c.answer(r, nil, err)
			return
		}
		if !c.enter(c.turns) {
			return
		}
		defer func() { <-c.turns }()
		result, err := answer()
		c.answer(r, result, err)
	})
}

// apart answers a request beside others, as many of its kind as places has room for. f is
// called in any case, with a context that has ended where the connection has.
func (c *conn) apart(r request, places chan struct{}, f func(ctx context.Context) (json.RawMessage, error)) {
	held := c.hold(r.size)
	c.work.Go(func() {
		if held {
			defer c.release(r.size)
		}
		if c.enter(places) {
			defer func() { <-places }()
		}
		result, err := f(c.ctx)
		c.answer(r, result, err)
	})
}

// hold waits until one more request can be held.
func (c *conn) hold(size int) bool {
	select {
	case c.waiting <- struct{}{}:
	case <-c.ctx.Done():
		return false
	}
	if !c.held.take(c.ctx, size) {
		<-c.waiting
		return false
	}
	return true
}

func (c *conn) release(size int) {
	c.held.give(size)
	<-c.waiting
}

// enter waits until there is a place.
func (c *conn) enter(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// notification gives a notification of a struct of package protocol.
func notification[T any](method string, params T) func(text []byte) []byte {
	return func(text []byte) []byte {
		raw, err := protocol.Encode(params)
		if err != nil {
			panic(err) // no such struct has what cannot be written
		}
		return jsonrpc.Message{Kind: jsonrpc.Notification, Method: method, Params: raw}.AppendBare(text)
	}
}
