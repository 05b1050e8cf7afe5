package egress

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// A body is that of a request on its way to the target. Once it is through, or where there
// is none, it watches for the client to go away. It leaves the connection to the next
// request when it is stopped.
type body struct {
	client   *client
	cancel   context.CancelFunc // of the exchange
	content  io.Reader          // nil where there is no body
	watch    sync.WaitGroup
	over     chan struct{} // closed by stop
	expected bool          // the client wants to be told to go on

	reading sync.Mutex // held while content is read
	stopped bool       // guarded by reading: nothing is read any more

	mu     sync.Mutex
	eof    bool // guarded by mu; set under reading too
	hushed bool // guarded by mu: the client need not or must not be told to go on
}

var errStopped = errors.New("the exchange is over")

// watchBody begins to watch. The body has to be stopped.
func (c *client) watchBody(h head, content io.Reader, cancel context.CancelFunc) *body {
	b := &body{client: c, cancel: cancel, over: make(chan struct{}), expected: h.hasBody && h.expect != ""}
	b.hushed = !b.expected
	if h.hasBody {
		b.content = content
		return b
	}
	b.ended()
	return b
}

// Read tells a client that waits for it to go on, since now it is known that the target
// wants the body.
func (b *body) Read(p []byte) (int, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	switch {
	case b.whole():
		return 0, io.EOF
	case b.stopped:
		return 0, errStopped
	}
	if err := b.goOn(); err != nil {
		return 0, err
	}
	n, err := b.content.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.ended()
	case err != nil:
		b.cancel() // what has come so far must not pass for all
	}
	return n, err
}

// goOn tells the client once to go on, unless its answer has begun.
func (b *body) goOn() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hushed {
		return nil
	}
	b.hushed = true
	_, err := b.client.conn.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	return err
}

// answerBegins has nothing else be written to the client, and says whether all of the body
// is through.
func (b *body) answerBegins() (whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hushed = true
	return b.eof
}

// Close does nothing: stop does it, when nobody reads.
func (b *body) Close() error { return nil }

// ended notes that all of the body is through, and begins to watch.
func (b *body) ended() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.eof = true
	b.watch.Go(b.waitForEnd)
}

func (b *body) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.eof
}

// waitForEnd cancels the exchange of a client that is gone. Bytes of a next request say
// that it is there, and are left.
func (b *body) waitForEnd() {
	_, err := b.client.in.Peek(1)
	switch {
	case err == nil || timedOut(err):
		return
	case errors.Is(err, io.EOF):
		timer := time.NewTimer(b.client.proxy.options.ended)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-b.over:
			return
		}
	}
	b.cancel()
}

// stop ends what reads from the client, and says whether all of the body came through.
func (b *body) stop() (whole bool) {
	close(b.over)
	_ = b.client.conn.SetReadDeadline(time.Unix(1, 0)) // whoever reads now gives up
	b.reading.Lock()
	b.stopped = true
	b.reading.Unlock()
	b.watch.Wait()
	b.client.unbound()
	return b.whole()
}
