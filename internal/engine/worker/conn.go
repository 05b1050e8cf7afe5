package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// headBytes bounds what comes before the body of a reply, interim replies included.
	headBytes = 64 << 10
	// inlineBytes is the size up to which a request is sent before its reply is read: a
	// socket takes so much at once. Of a larger one the worker may want no more than a part.
	inlineBytes = 8 << 10
	// firstBytes is the most that is set aside for a body because its length says so.
	firstBytes = 64 << 10
	// keptBytes is the most memory that a connection keeps for its next request.
	keptBytes = 16 << 10
)

// A reply is an answer of HTTP.
type reply struct {
	status int
	body   []byte
}

// A conn is a connection to a worker. It is used by one call at a time; close alone may
// come from elsewhere.
type conn struct {
	raw, wire net.Conn // wire is raw, or TLS over it
	in        *bufio.Reader
	room      int    // bytes that may be read yet
	lost      error  // what ended reading
	reusable  bool   // the last reply ended where the next one begins
	text      []byte // memory for a request
	since     time.Time

	closing sync.Mutex
}

func newConn(raw, wire net.Conn) *conn {
	c := &conn{raw: raw, wire: wire}
	c.in = bufio.NewReader(inward{c})
	return c
}

// close breaks the connection; it is broken when it returns. It may be called more than
// once and from any goroutine.
func (c *conn) close() {
	c.closing.Lock()
	defer c.closing.Unlock()
	_ = c.raw.Close() // TLS would wait for a worker that does not read
}

var errHead = errors.New("the head of the reply is too large")

// inward is the reading side of a conn.
type inward struct{ *conn }

func (c inward) Read(p []byte) (int, error) {
	if c.room <= 0 {
		return 0, errHead
	}
	n, err := c.wire.Read(p[:min(len(p), c.room)])
	c.room -= n
	if err != nil {
		c.lost = err
	}
	return n, err
}

// write gives the text of a request. It is good until the next one.
func (c *conn) write(ctx context.Context, request writer) []byte {
	text := request(ctx, c.text[:0])
	if cap(text) <= keptBytes {
		c.text = text
	}
	return text
}

// roundTrip sends a request and reads its reply. A request of which no byte was sent is
// unsent.
func (c *conn) roundTrip(request []byte, limit int64) (reply, error) {
	c.reusable = false
	if len(request) > inlineBytes {
		return c.roundTripBoth(request, limit)
	}
	n, err := c.wire.Write(request)
	if err != nil && n == 0 {
		return reply{}, unreachable(unsent(err))
	}
	return c.receive(limit) // a worker may have answered before it stopped to listen
}

// roundTripBoth reads while it sends.
func (c *conn) roundTripBoth(request []byte, limit int64) (reply, error) {
	var n int
	var failed error
	var sending sync.WaitGroup
	sending.Go(func() {
		if n, failed = c.wire.Write(request); n == 0 {
			c.close() // nobody will answer
		}
	})
	answer, err := c.receive(limit)
	_ = c.raw.SetWriteDeadline(time.Now()) // who has answered wants no more
	sending.Wait()
	_ = c.raw.SetWriteDeadline(time.Time{})
	c.reusable = c.reusable && failed == nil
	if err != nil && failed != nil && n == 0 {
		return reply{}, unreachable(unsent(failed))
	}
	return answer, err
}

// receive reads one reply.
func (c *conn) receive(limit int64) (reply, error) {
	c.room, c.lost = headBytes, nil
	head, err := c.head()
	if err != nil {
		return reply{}, c.broken(0, err)
	}
	c.room = math.MaxInt
	body, err := c.body(head, limit)
	if err != nil {
		return reply{}, err
	}
	c.reusable = !head.Close && head.ProtoAtLeast(1, 1) && head.StatusCode >= 200 && c.in.Buffered() == 0 && c.lost == nil
	return reply{head.StatusCode, body}, nil
}

// broken is the error of a reply that cannot be read: the connection was lost, or what it
// says is not HTTP.
func (c *conn) broken(status int, err error) error {
	if c.lost != nil {
		return unreachable(c.lost)
	}
	return nonStandard(status, err)
}

var post = &http.Request{Method: http.MethodPost}

// head reads up to the body of the reply that counts.
func (c *conn) head() (*http.Response, error) {
	for {
		head, err := http.ReadResponse(c.in, post)
		if err != nil || head.StatusCode >= 200 || head.StatusCode == http.StatusSwitchingProtocols {
			return head, err
		}
	}
}

// body reads to the end of a reply.
func (c *conn) body(head *http.Response, limit int64) ([]byte, error) {
	if head.ContentLength > limit {
		return nil, replyTooLarge(limit)
	}
	if coding := head.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, nonStandard(head.StatusCode, errors.New("the body has a content coding, which was not asked for"))
	}
	var body bytes.Buffer
	body.Grow(int(min(max(head.ContentLength, 0), firstBytes)) + bytes.MinRead)
	_, err := body.ReadFrom(&io.LimitedReader{R: head.Body, N: max(limit, limit+1)})
	switch {
	case int64(body.Len()) > limit:
		return nil, replyTooLarge(limit)
	case err != nil:
		return nil, c.broken(head.StatusCode, err)
	}
	return body.Bytes(), nil
}
