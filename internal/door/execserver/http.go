package execserver

import (
	"context"
	"encoding/json"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

// httpCode gives the code of what an HTTP request is refused with.
func httpCode(err error) protocol.Code {
	switch durward.KindOf(err) {
	case durward.Denied:
		return protocol.InvalidRequest
	case durward.Invalid:
		return protocol.InvalidParams
	}
	return protocol.InternalError
}

// requestHTTP sends an HTTP request. Its body comes with the answer, or behind it in pieces.
func (c *conn) requestHTTP(r request, p protocol.HTTPRequestParams) {
	call := c.call(r)
	call.Input = r.Params
	if err := c.streams.take(p.RequestID); err != nil {
		c.answer(r, nil, err)
		return
	}
	if p.StreamResponse {
		c.stream(r, call, p.RequestID)
		return
	}
	c.beside(r, func(ctx context.Context) (json.RawMessage, error) {
		defer c.streams.give(p.RequestID)
		result, err := c.server.Runtime.Do(ctx, call)
		return result.Output, err
	})
}

// stream answers with the head of a reply, and sends the body behind it.
func (c *conn) stream(r request, call durward.Call, id string) {
	if !c.hold(r.size) {
		return
	}
	c.work.Go(func() {
		defer c.release(r.size)
		b := &body{conn: c, id: id, head: make(chan json.RawMessage, 1), told: make(chan struct{}), ended: make(chan struct{})}
		defer close(b.told)
		reply, err := c.server.Runtime.Open(c.ctx, call, b)
		if err != nil {
			c.streams.give(id)
			c.answer(r, nil, err)
			return
		}
		b.reply = reply
		select {
		case head := <-b.head:
			b.begun = true
			c.answer(r, head, nil)
		case <-b.ended: // there is none
			_, err := reply.Wait(c.ctx)
			c.answer(r, nil, err)
		}
	})
}

// A body hears of a reply that comes piece by piece.
type body struct {
	quiet
	conn  *conn
	id    string
	seq   uint64
	head  chan json.RawMessage
	ended chan struct{} // closed when the reply is over
	told  chan struct{} // closed once the request was answered

	reply durward.Session // set before told is closed
	begun bool            // set before told is closed; the answer was a head
}

// Output takes the head, and then sends the body.
func (b *body) Output(c durward.Chunk) {
	if c.Stream == durward.Head {
		b.head <- json.RawMessage(c.Data)
		return
	}
	<-b.told
	b.delta(c.Data, nil)
}

// Ended sends what says that nothing follows, and whether something is missing.
func (b *body) Ended(durward.Result) {
	close(b.ended)
	<-b.told
	b.conn.streams.give(b.id)
	if !b.begun {
		return
	}
	if _, err := b.reply.Wait(context.Background()); err != nil { // it has ended
		words := wordsOf(err)
		b.delta(nil, &words)
		return
	}
	b.delta(nil, nil)
}

func (b *body) delta(data []byte, cut *string) {
	b.seq++
	p := protocol.HTTPBodyDeltaParams{RequestID: b.id, Seq: b.seq, DeltaBase64: data, Done: data == nil, Error: cut}
	b.conn.send(notification(protocol.HTTPBodyDelta, p))
}
