package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/durward/durward/internal/netguard"
)

const (
	// continueTime is how long a target that was asked whether it wants a body may think.
	continueTime = time.Second
	// answerHeadBytes bounds the head of a target's answer.
	answerHeadBytes = 256 << 10
)

// forward passes a request for a URL on, and its answer back, over a connection of its own.
// It says whether the client may ask for something else.
func (c *client) forward(h head, headBytes int) (again bool) {
	via := c.viaHTTP()
	asked, err := c.wanted(h)
	if err != nil {
		c.reject(c.proxy.begin(netguard.Target{}, via), h, err)
		return false
	}
	j, err := c.judge(asked, via)
	if err == nil && via == ViaHTTP && !h.isFor(j.target()) {
		j.refuse(RuleHost)
		err = errOtherHost
	}
	if err != nil {
		_, _ = c.in.Discard(headBytes) // they are there
		return c.deny(answerTo(j, err), h)
	}
	request, err := http.ReadRequest(c.in)
	if err != nil {
		c.reject(j, h, errHead)
		return false
	}
	up, err := c.proxy.dial(j)
	if err != nil {
		return c.deny(answerTo(j, err), h)
	}
	defer up.finish()
	j.allow()
	return c.exchange(up, j.target(), h, request)
}

// wanted gives the host and port that a request is for.
func (c *client) wanted(h head) (string, error) {
	if c.named != 0 {
		return h.atPort(c.named)
	}
	return authority(h.target)
}

// deny answers a request that goes nowhere. One with a body is the last: the body is not
// waited for.
func (c *client) deny(a answer, h head) (again bool) {
	if h.close || h.hasBody {
		c.dismiss(a, h)
		return false
	}
	return c.say(a, h.method, true) == nil
}

// exchange sends the request and passes the answer back.
func (c *client) exchange(up *upstream, t netguard.Target, h head, request *http.Request) (again bool) {
	ctx, cancel := context.WithCancel(c.proxy.life)
	defer cancel()
	b := c.watchBody(h, request.Body, cancel)
	answered, err := up.roundTrip(outgoing(ctx, t, request, b))
	if err != nil {
		b.stop()
		c.explain(ctx, t, h, err)
		return false
	}
	defer answered.Body.Close()
	// An answer that comes before all of the body was sent ends the connection.
	again = b.answerBegins() && !h.close
	err = c.passBack(answered, h, again)
	up.finish()
	whole := b.stop()
	if err == nil && !again {
		c.linger()
	}
	return err == nil && again && whole
}

// explain answers a request that the target did not.
func (c *client) explain(ctx context.Context, t netguard.Target, h head, err error) {
	if ctx.Err() != nil {
		return // the client is gone, or the run is over
	}
	a := answer{http.StatusBadGateway, socksFailed, "http_protocol_error", t.String() + " gave no answer that can be passed on"}
	if timedOut(err) {
		a.status, a.proxy = http.StatusGatewayTimeout, "http_response_timeout"
	}
	c.dismiss(a, h)
}

// outgoing is the request as it leaves.
func outgoing(ctx context.Context, t netguard.Target, in *http.Request, b *body) *http.Request {
	u := &url.URL{Scheme: "http", Host: t.String(), Path: in.URL.Path, RawPath: in.URL.RawPath, RawQuery: in.URL.RawQuery, ForceQuery: in.URL.ForceQuery}
	out := &http.Request{
		Method: in.Method, URL: u, Host: strings.TrimSuffix(t.String(), ":80"),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: in.Header, Trailer: endToEnd(in.Trailer), ContentLength: in.ContentLength, Body: http.NoBody,
		Close: true, // an answer that does not want the body then ends it
	}
	if b.content != nil {
		out.Body = b
	}
	trailers := hasItem(strings.Join(in.Header["Te"], ","), "trailers")
	endToEnd(out.Header)
	if trailers {
		out.Header.Set("Te", "trailers")
	}
	if b.expected {
		out.Header.Set("Expect", "100-continue")
	} else {
		out.Header.Del("Expect")
	}
	if len(out.Header["User-Agent"]) == 0 {
		out.Header.Set("User-Agent", "") // none, and not that of net/http
	}
	return out.WithContext(ctx)
}

// endToEnd takes out what is for one hop: what Connection names, what is known to be, and
// what is for a proxy. It gives h back.
func endToEnd(h http.Header) http.Header {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.Trim(name, " \t"))
		}
	}
	maps.DeleteFunc(h, func(name string, _ []string) bool { return netguard.ForOneHop(name) })
	return h
}

// roundTrip sends a request over the connection, which is good for one.
func (u *upstream) roundTrip(request *http.Request) (*http.Response, error) {
	var http1 http.Protocols
	http1.SetHTTP1(true)
	unused := make(chan net.Conn, 1)
	unused <- counted{u.conn, u}
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case conn := <-unused:
				return conn, nil
			default:
				return nil, errors.New("the connection was used")
			}
		},
		Protocols:              &http1,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		ExpectContinueTimeout:  continueTime,
		MaxResponseHeaderBytes: answerHeadBytes,
	}
	answered, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if answered.StatusCode == http.StatusSwitchingProtocols {
		answered.Body.Close()
		return nil, errors.New("the target speaks another protocol, unasked")
	}
	return answered, nil
}

// A counted connection counts the bytes of its upstream.
type counted struct {
	net.Conn
	of *upstream
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.of.down.Add(int64(n))
	return n, err
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.of.up.Add(int64(n))
	return n, err
}

// passBack sends the answer to the client, each piece as it comes.
func (c *client) passBack(a *http.Response, h head, again bool) error {
	endToEnd(a.Header)
	a.Trailer = endToEnd(a.Trailer)
	a.Proto, a.ProtoMajor, a.ProtoMinor = "HTTP/1.1", 1, 1
	a.Close = !again
	a.TransferEncoding = nil
	if a.ContentLength < 0 && !h.old {
		a.TransferEncoding = []string{"chunked"}
	}
	out := bufio.NewWriter(c.conn)
	if a.Body != http.NoBody {
		a.Body = flushing{a.Body, out}
	}
	// Nothing but Write is shown: the body flushes out while it is read from.
	if err := a.Write(struct{ io.Writer }{out}); err != nil {
		return err
	}
	return out.Flush()
}

// A flushing body sends what there is before it waits for more.
type flushing struct {
	io.ReadCloser
	out *bufio.Writer
}

func (f flushing) Read(p []byte) (int, error) {
	if err := f.out.Flush(); err != nil {
		return 0, err
	}
	return f.ReadCloser.Read(p)
}
