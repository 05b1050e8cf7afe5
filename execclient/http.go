package execclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/durward/durward/execserver/protocol"
)

const (
	// bodyBytes is how much of a streamed body is held for its reader.
	bodyBytes = 8 << 20
	// bodyWait is how long the connection waits for a reader that is that far behind.
	// There is no other way to slow such a body down.
	bodyWait = 10 * time.Second
)

// HTTP has the server make a request, and gives the whole response. A response that can
// be large is to be streamed. A RequestID that is empty is replaced by an unused one.
func (c *Client) HTTP(ctx context.Context, p protocol.HTTPRequestParams) (protocol.HTTPRequestResult, error) {
	if p.RequestID == "" {
		p.RequestID = c.newID()
	}
	p.StreamResponse = false
	return call[protocol.HTTPRequestResult](ctx, c, once, protocol.HTTPRequest, p)
}

// HTTPStream is [Client.HTTP] for a body that is read as it comes. The body is to be
// closed. It ends with [ErrInterrupted] when the connection is lost, and with
// [ErrTooSlow] when its reader leaves more than 8 MiB unread for 10 s; until then the
// connection waits.
func (c *Client) HTTPStream(ctx context.Context, p protocol.HTTPRequestParams) (protocol.HTTPRequestResult, *Body, error) {
	if p.RequestID == "" {
		p.RequestID = c.newID()
	}
	p.StreamResponse = true
	for {
		l, err := c.current(ctx)
		if err != nil {
			return protocol.HTTPRequestResult{}, nil, err
		}
		head, b, err := c.stream(ctx, l, p)
		if !errors.Is(err, errUnsent) {
			return head, b, err
		}
		<-l.ended // the next one is another
	}
}

// stream makes the request on a connection, which the body ends with.
func (c *Client) stream(ctx context.Context, l *link, p protocol.HTTPRequestParams) (head protocol.HTTPRequestResult, b *Body, err error) {
	b = &Body{ctx: ctx, link: l, changed: make(chan struct{})}
	if err := c.expectBody(p.RequestID, b); err != nil {
		return head, nil, err
	}
	head, err = callOn[protocol.HTTPRequestResult](ctx, l, protocol.HTTPRequest, p)
	if err != nil {
		c.dropBody(p.RequestID)
		return head, nil, err
	}
	return head, b, nil
}

func (c *Client) expectBody(id string, b *Body) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.bodies[id]; twice {
		return fmt.Errorf("execclient: request %q is streaming already", id)
	}
	c.bodies[id] = b
	return nil
}

func (c *Client) dropBody(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.bodies, id)
}

// cutBodies ends the bodies that came by a connection that is lost.
func (c *Client) cutBodies(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, b := range c.bodies {
		if b.link == l {
			b.cut(ErrInterrupted)
			delete(c.bodies, id)
		}
	}
}

// body takes a piece of a body.
func (c *Client) body(p protocol.HTTPBodyDeltaParams) {
	c.mu.Lock()
	b := c.bodies[p.RequestID]
	c.mu.Unlock()
	if b == nil {
		return
	}
	b.take(p)
	if p.Done {
		c.dropBody(p.RequestID)
	}
}

// A Body is the body of a response that is streamed.
type Body struct {
	ctx  context.Context // of the request; io.Reader has no other
	link *link           // it comes by

	mu      sync.Mutex
	seq     uint64        // guarded by mu; number of the newest piece
	data    []byte        // guarded by mu; not given out
	err     error         // guarded by mu; what comes after data
	changed chan struct{} // guarded by mu; closed and replaced at each change
}

var _ io.ReadCloser = (*Body)(nil)

func (b *Body) changeLocked() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// take takes a piece, and waits for room for it. It does not wait for a body that ended.
func (b *Body) take(p protocol.HTTPBodyDeltaParams) {
	timer := time.NewTimer(bodyWait)
	defer timer.Stop()
	for {
		full, changed := b.put(p)
		if !full {
			return
		}
		select {
		case <-changed:
		case <-b.ctx.Done():
			b.cut(b.ctx.Err())
		case <-timer.C:
			b.cut(ErrTooSlow)
		}
	}
}

func (b *Body) put(p protocol.HTTPBodyDeltaParams) (full bool, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return false, nil
	}
	if len(b.data) > 0 && len(b.data)+len(p.DeltaBase64) > bodyBytes {
		return true, b.changed
	}
	defer b.changeLocked()
	b.seq++
	b.data = append(b.data, p.DeltaBase64...)
	switch {
	case p.Seq != b.seq:
		b.err = fmt.Errorf("%w: piece %d of a body after %d", errFault, p.Seq, b.seq-1)
	case p.Error != nil:
		b.err = errors.New("the body was cut short: " + *p.Error)
	case p.Done:
		b.err = io.EOF
	}
	return false, nil
}

// cut ends the body, unless it has ended.
func (b *Body) cut(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = why
		b.changeLocked()
	}
}

// Read reads what has come, and waits for something.
func (b *Body) Read(p []byte) (int, error) {
	for {
		n, changed, err := b.get(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		select {
		case <-changed:
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
	}
}

func (b *Body) get(p []byte) (n int, changed <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.data) == 0 {
		return 0, b.changed, b.err
	}
	n = copy(p, b.data)
	b.data = b.data[n:]
	b.changeLocked()
	return n, nil, nil
}

// Close gives the body up. What still comes of it is thrown away.
func (b *Body) Close() error {
	b.cut(ErrClosed)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = nil
	return nil
}
