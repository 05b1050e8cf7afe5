package egress

import (
	"errors"
	"net"
	"net/http"

	"github.com/durward/durward/internal/netguard"
)

var (
	errLarge = errors.New("the head of the request is too large")
	errGone  = errors.New("the client is gone")
	errSlow  = errors.New("the request took too long to arrive")
)

// serveHTTP answers requests until the client has no more, or one cannot be followed by
// another.
func (c *client) serveHTTP() {
	for c.serveRequest() {
		c.within(idleTime)
		if _, err := c.in.Peek(1); err != nil {
			return
		}
	}
}

// serveRequest answers one request; it says whether there may be another.
func (c *client) serveRequest() bool {
	c.within(c.proxy.options.intake)
	raw, err := c.readHead()
	if errors.Is(err, errGone) {
		return false
	}
	c.unbound()
	var h head
	if err == nil {
		h, err = parseHead(raw)
	}
	if err != nil {
		c.reject(c.proxy.begin(netguard.Target{}, c.viaHTTP()), h, err)
		return false
	}
	if h.method == http.MethodConnect && c.named == 0 {
		c.connect(h, len(raw))
		return false
	}
	return c.forward(h, len(raw))
}

// readHead gives the head and leaves it unread.
func (c *client) readHead() (string, error) {
	for seen := 0; ; {
		_, err := c.in.Peek(seen + 1)
		b, _ := c.in.Peek(c.in.Buffered())
		end, bad := headEnd(b, seen)
		switch {
		case bad:
			return "", errHead
		case end > 0:
			return string(b[:end]), nil
		case err != nil || len(b) == intakeBytes:
			return "", headError(err)
		}
		seen = len(b)
	}
}

// headEnd looks for the end of a head in b, all but the first seen bytes of which are new.
// What does not begin like a request or ends a line by a line feed alone is bad.
func headEnd(b []byte, seen int) (end int, bad bool) {
	if len(b) > 0 && !isToken(string(b[:1])) {
		return 0, true
	}
	for i := seen; i < len(b); i++ {
		switch {
		case b[i] != '\n':
		case i == 0 || b[i-1] != '\r':
			return 0, true
		case i >= 3 && b[i-2] == '\n' && b[i-3] == '\r':
			return i + 1, false
		}
	}
	return 0, false
}

func headError(err error) error {
	var slow net.Error
	switch {
	case err == nil:
		return errLarge
	case errors.As(err, &slow) && slow.Timeout():
		return errSlow
	}
	return errGone
}

// reject answers what is no request that the proxy could follow.
func (c *client) reject(j *judgement, h head, why error) {
	j.refuse(RuleRequest)
	a := answer{http.StatusBadRequest, socksFailed, "http_request_error", why.Error()}
	switch {
	case errors.Is(why, errLarge):
		a.status = http.StatusRequestHeaderFieldsTooLarge
	case errors.Is(why, errSlow):
		a.status = http.StatusRequestTimeout
	case errors.Is(why, errExpect):
		a.status = http.StatusExpectationFailed
	}
	c.dismiss(a, h)
}

// dismiss gives a last answer.
func (c *client) dismiss(a answer, h head) {
	if c.say(a, h.method, false) == nil {
		c.linger()
	}
}

// judge begins the judgement of what a request asks for. A host without a canonical form is
// refused here.
func (c *client) judge(asked string, via Via) (*judgement, error) {
	t, err := netguard.ParseTarget(asked)
	j := c.proxy.begin(t, via)
	if err != nil {
		j.asked(asked).fail(err)
	}
	return j, err
}

// connect opens a tunnel. Its Host field goes nowhere, so it is not asked what it says.
func (c *client) connect(h head, headBytes int) {
	_, _ = c.in.Discard(headBytes) // they are there
	j, err := c.judge(h.target, ViaConnect)
	if err != nil {
		c.dismiss(answerTo(j, err), h)
		return
	}
	up, err := c.proxy.dial(j)
	if err != nil {
		c.dismiss(answerTo(j, err), h)
		return
	}
	defer up.finish()
	if _, err := c.conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		j.allow()
		return
	}
	c.tunnel(up, j)
}
