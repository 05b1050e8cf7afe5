package worker

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
)

const ok = "HTTP/1.1 200 OK\r\n"

// What a worker says over the wire, before it hangs up, and what comes of it.
func TestReplies(t *testing.T) {
	const good = `failed=false {"n":1}`
	chunked := ok + "Transfer-Encoding: chunked\r\n\r\n"
	e := engine(t, Options{})
	for _, tt := range []struct{ name, text, want string }{
		{"a length", whole(200, done), good},
		{"chunks", chunked + "5\r\n" + done[:5] + "\r\n17;x=y\r\n" + done[5:] + "\r\n0\r\n\r\n", good},
		{"chunks and trailers", chunked + "1c\r\n" + done + "\r\n0\r\nX-Late: 1\r\nContent-Length: 2\r\n\r\n", good},
		{"to the end", ok + "\r\n" + done, good},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\n" + done, good},
		{"lines without carriage returns", "HTTP/1.1 200 OK\nContent-Length: 28\n\n" + done, good},
		{"interim replies", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + whole(200, done), good},
		{"more than was announced", whole(200, done) + "HTTP/1.1 500 x\r\n\r\n", good},
		{"no coding", ok + "Content-Encoding: Identity\r\n\r\n" + done, good},

		{"an announced length that is less", ok + "Content-Length: 27\r\n\r\n" + done, nonStandardSays(200)},
		{"packed", ok + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8bx", nonStandardSays(200)},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", nonStandardSays(101)},
		{"no HTTP", "SSH-2.0-x\r\n\r\n", nonStandardSays(0)},
		{"HTTP/0.9", "<html>\n\n", nonStandardSays(0)},
		{"a status that is none", "HTTP/1.1 20x OK\r\n\r\n", nonStandardSays(0)},
		{"a header without a colon", ok + "Conte\r\n\r\n" + done, nonStandardSays(0)},
		{"two lengths", ok + "Content-Length: 28\r\nContent-Length: 29\r\n\r\n" + done, nonStandardSays(0)},
		{"a length below zero", ok + "Content-Length: -1\r\n\r\n" + done, nonStandardSays(0)},
		{"a coding of its way nobody knows", ok + "Transfer-Encoding: gzip\r\n\r\n" + done, nonStandardSays(0)},
		{"a chunk without a length", chunked + "x\r\n" + done + "\r\n0\r\n\r\n", nonStandardSays(200)},
		{"a chunk without its end", chunked + "1c\r\n" + done + "x\r\n0\r\n\r\n", nonStandardSays(200)},
		{"a chunk larger than numbers are", chunked + "fffffffffffffffff\r\n" + done, nonStandardSays(200)},
		{"a header that is too large", ok + "A: " + strings.Repeat("x", headBytes) + "\r\n\r\n" + done, nonStandardSays(0)},
		{"headers that are too many", ok + strings.Repeat("A: b\r\n", headBytes/6) + "\r\n" + done, nonStandardSays(0)},
		{"interim replies that are too many", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", headBytes/25+1) + whole(200, done), nonStandardSays(0)},
		{"trailers that are too large", chunked + "1c\r\n" + done + "\r\n0\r\nA: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", nonStandardSays(200)},

		{"nothing", "", unreachableSays},
		{"half a status", "HTTP/1.1 200 O", unreachableSays},
		{"half a head", ok + "Content-Le", unreachableSays},
		{"no end of the head", ok + "A: b\r\n", unreachableSays},
		{"only an interim reply", "HTTP/1.1 100 Continue\r\n\r\n", unreachableSays},
		{"half a body", ok + "Content-Length: 29\r\n\r\n" + done, unreachableSays},
		{"half a chunk", chunked + "1d\r\n" + done, unreachableSays},
		{"no last chunk", chunked + "1c\r\n" + done + "\r\n", unreachableSays},

		{"a length beyond the limit", ok + "Content-Length: 1048577\r\n\r\n", tooLargeSays},
		{"a body beyond the limit", ok + "\r\n" + strings.Repeat(" ", limit) + done, tooLargeSays},
		{"chunks beyond the limit", chunked + strings.Repeat("10\r\n                \r\n", limit/16+1) + "0\r\n\r\n", tooLargeSays},
		{"as much as the limit", ok + "\r\n" + strings.Repeat(" ", limit-len(done)) + done, good},
	} {
		p := hangsUp(t, tt.text)
		if got := says(do(patient(t), e, tool(p.url()), call(`{}`))); got != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
		if n := p.requests.Load(); n != 1 {
			t.Errorf("%s: the worker was called %d times", tt.name, n)
		}
	}
}

const tooLargeSays = `response_too_large retry=false {"reason":"response_too_large"}`

// A worker that never stops is dropped: its writes fail.
func TestEndlessReplies(t *testing.T) {
	e := engine(t, Options{})
	for name, tt := range map[string]struct{ head, again, want string }{
		"headers":         {ok, "A: b\r\n", nonStandardSays(0)},
		"one header":      {ok + "A: ", "bbbbbbbb", nonStandardSays(0)},
		"a status":        {"HTTP/1.1 200 ", "OK", nonStandardSays(0)},
		"interim replies": {"", "HTTP/1.1 100 Continue\r\n\r\n", nonStandardSays(0)},
		"a body":          {ok + "\r\n", "xxxxxxxx", tooLargeSays},
		"chunks":          {ok + "Transfer-Encoding: chunked\r\n\r\n", "8\r\nxxxxxxxx\r\n", tooLargeSays},
		"a chunk's name":  {ok + "Transfer-Encoding: chunked\r\n\r\n8;", "xxxxxxxx", nonStandardSays(200)},
		"trailers":        {ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n", nonStandardSays(200)},
	} {
		dropped := make(chan struct{})
		p := serve(t, func(p *peer, c net.Conn) {
			defer close(dropped)
			p.hear(bufio.NewReader(c))
			_, err := io.WriteString(c, tt.head)
			for more := strings.Repeat(tt.again, 100); err == nil; {
				_, err = io.WriteString(c, more)
			}
		})
		if got := says(do(patient(t), e, tool(p.url()), call(`{}`))); got != tt.want {
			t.Errorf("%s: %s; want %s", name, got, tt.want)
		}
		await(t, dropped, name)
	}
}

func await(t testing.TB, happened <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(patience):
		t.Fatalf("%s: the worker does not see its connection close", what)
	}
}

// A stuck worker holds a request and says so much of a reply.
func stuck(t testing.TB, text string) (p *peer, holds, dropped chan struct{}) {
	holds, dropped = make(chan struct{}), make(chan struct{})
	return serve(t, func(p *peer, c net.Conn) {
		defer close(dropped)
		in := bufio.NewReader(c)
		if text != "nothing is read" {
			p.hear(in)
			_, _ = io.WriteString(c, text)
		}
		close(holds)
		_, _ = io.Copy(io.Discard, in)
	}), holds, dropped
}

var slow = map[string]string{
	"nothing": "", "half a head": ok + "Content-Le", "no body": ok + "Content-Length: 28\r\n\r\n", "half a body": ok + "Content-Length: 28\r\n\r\n" + done[:9],
	"half a chunk": ok + "Transfer-Encoding: chunked\r\n\r\n1c\r\n" + done[:9], "no last chunk": ok + "Transfer-Encoding: chunked\r\n\r\n1c\r\n" + done + "\r\n",
	"an interim reply": "HTTP/1.1 102 Processing\r\n\r\n", "no end": ok + "\r\n" + done,
}

// At the end of its time a call is over, and its worker sees the connection close.
func TestTimeEnds(t *testing.T) {
	e := engine(t, Options{})
	for name, text := range slow {
		p, _, dropped := stuck(t, text)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		r, err := do(ctx, e, tool(p.url()), call(`{}`))
		cancel()
		if durward.ReasonOf(err) != durward.DeadlineExceeded || durward.KindOf(err) != durward.Timeout || r.Output != nil {
			t.Errorf("%s: %s", name, says(r, err))
		}
		await(t, dropped, name)
	}
}

// A caller that goes away takes the connection along, whatever the worker was about.
func TestCallerGoesAway(t *testing.T) {
	e := engine(t, Options{})
	for name, text := range slow {
		p, holds, dropped := stuck(t, text)
		ctx, cancel := context.WithCancel(patient(t))
		ended := make(chan error, 1)
		go func() { _, err := do(ctx, e, tool(p.url()), call(`{}`)); ended <- err }()
		await(t, holds, name)
		cancel()
		await(t, dropped, name)
		if err := <-ended; durward.ReasonOf(err) != durward.CallCancelled {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A worker that takes in nothing of a large request does not hold the call beyond its time.
func TestWorkerThatDoesNotRead(t *testing.T) {
	read := make(chan struct{})
	p := serve(t, func(_ *peer, c net.Conn) { <-read })
	defer close(read)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := do(ctx, engine(t, Options{}), tool(p.url()), call(`"`+strings.Repeat("x", 16<<20)+`"`))
	if durward.ReasonOf(err) != durward.DeadlineExceeded {
		t.Error(err)
	}
}

// A reply that drips is not waited for beyond the call's time.
func TestDrippingReply(t *testing.T) {
	dropped := make(chan struct{})
	p := serve(t, func(p *peer, c net.Conn) {
		defer close(dropped)
		p.hear(bufio.NewReader(c))
		_, err := io.WriteString(c, ok+"\r\n")
		for drop := time.NewTicker(time.Millisecond); err == nil; <-drop.C {
			_, err = io.WriteString(c, " ")
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := do(ctx, engine(t, Options{}), tool(p.url()), call(`{}`)); durward.ReasonOf(err) != durward.DeadlineExceeded {
		t.Error(err)
	}
	await(t, dropped, "a reply that drips")
}

// With less than a moment left nothing is sent, and nobody is connected to.
func TestNoTimeLeft(t *testing.T) {
	p := speaks(t, whole(200, done))
	e := engine(t, Options{})
	for _, left := range []time.Duration{leastTime - time.Millisecond, time.Nanosecond, -time.Hour} {
		ctx, cancel := context.WithTimeout(t.Context(), left)
		if _, err := do(ctx, e, tool(p.url()), call(`{}`)); durward.ReasonOf(err) != durward.DeadlineExceeded {
			t.Errorf("%s: %v", left, err)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := do(ctx, e, tool(p.url()), call(`{}`)); durward.ReasonOf(err) != durward.CallCancelled {
		t.Error(err)
	}
	if _, err := do(patient(t), e, tool(p.url()), call(`{}`)); err != nil || p.conns.Load() != 1 {
		t.Errorf("%d connections, %v", p.conns.Load(), err)
	}
}

func TestNobodyListens(t *testing.T) {
	p := speaks(t, "")
	p.Close()
	e := engine(t, Options{Resolver: names{"nowhere": nil}})
	for _, base := range []string{p.url(), "http://nowhere:80"} {
		if got := says(do(patient(t), e, tool(base), call(`{}`))); got != unreachableSays {
			t.Errorf("%s: %s", base, got)
		}
	}
}

// Where no worker lives nobody is connected to, whatever name leads there.
func TestRefusedAddresses(t *testing.T) {
	p := speaks(t, whole(200, done))
	_, port, err := net.SplitHostPort(p.Addr().String())
	must(t, err)
	e := engine(t, Options{Resolver: names{
		"meta": {"169.254.169.254"}, "mapped": {"::ffff:169.254.169.254"}, "both": {"127.0.0.1", "169.254.169.254"}, "any": {"0.0.0.0"}, "ec2": {"fd00:ec2::254"},
		"link": {"fe80::1"}, "group": {"224.0.0.1"}, "all": {"255.255.255.255"}, "nat": {"64:ff9b::a9fe:a9fe"}, "worker": {"127.0.0.1"},
	}})
	for _, host := range []string{"meta", "mapped", "both", "any", "ec2", "link", "group", "all", "nat", "169.254.169.254", "[fe80::1]", "0.0.0.0", "[::ffff:169.254.169.254]"} {
		r, err := do(patient(t), e, tool("http://"+host+":"+port), call(`{}`))
		if got := says(r, err); got != `address_refused retry=false {"reason":"address_refused"}` {
			t.Errorf("%s: %s", host, got)
		}
	}
	if n := p.conns.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
	if got := says(do(patient(t), e, tool("http://worker:"+port), call(`{}`))); got != `failed=false {"n":1}` {
		t.Error(got)
	}
}

// said is a connection on which everything has been said.
type said struct {
	net.Conn
	*strings.Reader
}

func (s said) Read(p []byte) (int, error) { return s.Reader.Read(p) }

// FuzzReply asks of whatever a worker says over the wire that it is a reply within its
// bounds, or an error of one of three kinds; and that nothing is behind a reply whose
// connection is used again.
func FuzzReply(f *testing.F) {
	for _, text := range []string{
		whole(200, done), "HTTP/1.1 100 \r\n\r\n" + whole(404, ""), ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: b\r\n\r\n", "HTTP/1.0 200 x\n\n{}",
		"HTTP/1.1 101 x\r\n\r\n", "HTTP/1.1 204 x\r\nContent-Length: 2\r\n\r\n{}", ok + "Content-Encoding: gzip\r\n\r\n", ok + "Content-Length: 99999\r\n\r\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const most = 1 << 10
		all := said{Reader: strings.NewReader(text)}
		c := newConn(nil, all)
		answer, err := c.receive(most)
		switch reason := durward.ReasonOf(err); {
		case err == nil && (answer.status < 200 && answer.status != 101 || answer.status > 999 || len(answer.body) > min(most, len(text))):
			t.Fatalf("%q gives status %d and %d bytes", text, answer.status, len(answer.body))
		case err != nil && reason != durward.WorkerUnreachable && reason != durward.NonStandardReply && reason != durward.ReplyTooLarge:
			t.Fatalf("%q: %v", text, err)
		case err != nil && (c.reusable || isUnsent(err)):
			t.Fatalf("%q is an error, and the connection is used again", text)
		case c.reusable && all.Len()+c.in.Buffered() > 0 && len(text) < 4096:
			t.Fatalf("something is left of %q", text)
		}
	})
}
