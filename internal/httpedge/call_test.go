package httpedge_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
)

// hiddenListener hands out connections that the kernel cannot be asked about, as those
// from another machine.
type hiddenListener struct{ net.Listener }

func (l hiddenListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return hiddenConn{c}, nil
}

type hiddenConn struct{ net.Conn }

func (c hiddenConn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// A call is a handler that runs until it is told to answer, or until its context ends.
type call struct {
	started chan struct{}
	answer  chan struct{}
	cause   chan error
}

func newCall() *call {
	return &call{make(chan struct{}), make(chan struct{}), make(chan error, 1)}
}

func (c *call) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/stream" {
		_ = http.NewResponseController(w).Flush()
	}
	if r.URL.Path != "/unread" {
		if _, err := httpedge.ReadBody(r, 0); err != nil {
			httpedge.WriteError(w, r, err)
			return
		}
	}
	close(c.started)
	select {
	case <-c.answer:
		_, _ = io.WriteString(w, "the answer")
	case <-r.Context().Done():
		httpedge.WriteError(w, r, context.Cause(r.Context()))
	}
	c.cause <- context.Cause(r.Context())
}

const (
	callHead = "POST / HTTP/1.1\nHost: ADDR\nContent-Length: 2\n\n{}"
	// long is more than the time between two looks at a client, and less than the
	// second within which a client that is gone has to be noticed.
	long = 700 * time.Millisecond
)

// startCall starts a server with one running call, whose client is c.
func startCall(t *testing.T, hidden bool, request string) (s *running, c *net.TCPConn, running *call) {
	t.Helper()
	l, err := httpedge.Listen(t.Context(), httpedge.Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if hidden {
		l = hiddenListener{l}
	}
	running = newCall()
	s = startOn(t, l, running, httpedge.Rules{}, httpedge.Options{})
	c = s.send(request)
	<-running.started
	return s, c, running
}

// stillRuns waits long enough for a wrong cancellation to show.
func (c *call) stillRuns(t *testing.T) {
	t.Helper()
	select {
	case err := <-c.cause:
		t.Fatalf("the call was cancelled: %v", err)
	case <-time.After(long):
	}
}

func TestHalfClosedClientGetsItsAnswer(t *testing.T) {
	requests := map[string]string{
		"1.1": callHead,
		"1.0": "POST / HTTP/1.0\nHost: ADDR\nContent-Length: 2\n\n{}",
		"get": "GET / HTTP/1.1\nHost: ADDR\n\n",
	}
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			s, c, running := startCall(t, false, request)
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			running.stillRuns(t)
			close(running.answer)
			r := bufio.NewReader(c)
			a := s.read(r, "POST")
			for a.StatusCode == http.StatusContinue {
				a = s.read(r, "POST")
			}
			if a.StatusCode != 200 || a.body != "the answer" {
				t.Errorf("got %d %q", a.StatusCode, a.body)
			}
			if err := <-running.cause; err != nil {
				t.Errorf("the context ended: %v", err)
			}
		})
	}
}

func TestHalfClosedClientFromElsewhereIsAskedAndAnswered(t *testing.T) {
	s, c, running := startCall(t, true, callHead)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	if a := s.read(r, "POST"); a.StatusCode != http.StatusContinue {
		t.Fatalf("got %d, want an interim response", a.StatusCode)
	}
	running.stillRuns(t)
	close(running.answer)
	a := s.read(r, "POST")
	for a.StatusCode == http.StatusContinue {
		a = s.read(r, "POST")
	}
	if a.StatusCode != 200 || a.body != "the answer" {
		t.Errorf("got %d %q", a.StatusCode, a.body)
	}
}

// Nothing is put between the bytes of an answer, nor before one to HTTP/1.0.
func TestClientsThatMustNotBeAskedAreNot(t *testing.T) {
	for name, request := range map[string]string{
		"1.0":    "POST / HTTP/1.0\nHost: ADDR\nContent-Length: 2\n\n{}",
		"stream": "GET /stream HTTP/1.1\nHost: ADDR\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, c, running := startCall(t, true, request)
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			running.stillRuns(t)
			close(running.answer)
			if a := s.only(c, "POST"); a.StatusCode != 200 || a.body != "the answer" {
				t.Errorf("got %d %q", a.StatusCode, a.body)
			}
		})
	}
}

func TestClientThatIsGoneCancelsItsCall(t *testing.T) {
	closed := func(t *testing.T, c *net.TCPConn) { _ = c.Close() }
	reset := func(t *testing.T, c *net.TCPConn) {
		if err := c.SetLinger(0); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	tests := []struct {
		name    string
		hidden  bool
		request string
		leave   func(*testing.T, *net.TCPConn)
	}{
		{"close", false, callHead, closed},
		{"close without a body", false, "GET / HTTP/1.1\nHost: ADDR\n\n", closed},
		{"reset", false, callHead, reset},
		{"close from elsewhere", true, callHead, closed},
		{"reset from elsewhere", true, callHead, reset},
		{"half-close, then close", false, callHead, func(t *testing.T, c *net.TCPConn) {
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		}},
	}
	for _, tt := range append(tests, goneHere...) {
		t.Run(tt.name, func(t *testing.T) {
			_, c, running := startCall(t, tt.hidden, tt.request)
			tt.leave(t, c)
			if err := running.causeWithin(t, time.Second); durward.ReasonOf(err) != durward.CallCancelled {
				t.Errorf("cause is %v, want CallCancelled", err)
			}
		})
	}
}

// A client is looked at in each of its requests, whenever the last one was.
func TestClientThatIsGoneCancelsALaterCall(t *testing.T) {
	for name, rest := range map[string]time.Duration{"at once": 0, "after a rest": long} {
		t.Run(name, func(t *testing.T) {
			last := newCall()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					last.ServeHTTP(w, r)
					return
				}
				select {
				case <-r.Context().Done(): // which has it watched
					t.Error(context.Cause(r.Context()))
				default:
				}
			}), httpedge.Rules{}, httpedge.Options{})
			c := s.dial()
			answers := bufio.NewReader(c)
			for range 3 {
				s.write(c, "GET / HTTP/1.1\nHost: ADDR\n\n")
				s.read(answers, "GET")
			}
			<-time.After(rest)
			s.write(c, callHead)
			<-last.started
			if err := c.CloseWrite(); err != nil { // which is all that net/http notices
				t.Fatal(err)
			}
			last.stillRuns(t)
			_ = c.Close()
			if err := last.causeWithin(t, time.Second); durward.ReasonOf(err) != durward.CallCancelled {
				t.Errorf("cause is %v, want CallCancelled", err)
			}
		})
	}
}

// A handler that now and then asks whether its request has ended, and waits for nothing, hears of a
// client that is gone, too.
func TestClientThatIsGoneCancelsACallThatOnlyAsks(t *testing.T) {
	running := newCall()
	s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(running.started)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for r.Context().Err() == nil {
			<-tick.C
		}
		running.cause <- context.Cause(r.Context())
	}), httpedge.Rules{}, httpedge.Options{})
	c := s.send("GET / HTTP/1.1\nHost: ADDR\n\n")
	<-running.started
	_ = c.Close()
	if err := running.causeWithin(t, time.Second); durward.ReasonOf(err) != durward.CallCancelled {
		t.Errorf("cause is %v, want CallCancelled", err)
	}
}

// causeWithin waits for the end of the call's context, for so much time as this process
// gets to see. A ticker drops what a starved process misses, so a busy machine does not
// count, while a call that blocks does: the ticks go on meanwhile.
func (c *call) causeWithin(t *testing.T, limit time.Duration) error {
	t.Helper()
	const step = 100 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	began := time.Now()
	for range limit / step {
		select {
		case err := <-c.cause:
			return err
		case <-tick.C:
		}
	}
	t.Fatalf("the call still runs after %v, %v by the clock", limit, time.Since(began))
	return nil
}

// After the handler its context is over, as that of net/http is.
func TestContextEndsWithTheHandler(t *testing.T) {
	contexts := make(chan context.Context, 1)
	s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		contexts <- r.Context()
	}), httpedge.Rules{}, httpedge.Options{})
	s.read(bufio.NewReader(s.send(second)), "GET")
	select {
	case <-(<-contexts).Done():
	case <-time.After(patience):
		t.Error("the context lives on")
	}
}

func TestEndOfTheServer(t *testing.T) {
	serve := func(t *testing.T, o httpedge.Options) (*running, net.Conn, *call) {
		t.Helper()
		running := newCall()
		s := start(t, running, httpedge.Rules{}, o)
		c := s.send(callHead)
		<-running.started
		return s, c, running
	}
	t.Run("running requests end, further ones are refused", func(t *testing.T) {
		s, c, running := serve(t, httpedge.Options{Grace: time.Hour})
		waiting := s.dial()
		s.stop()
		<-s.server.Draining()
		late := s.send(second)
		s.write(waiting, second)
		for _, late := range []net.Conn{late, waiting} {
			if a := s.only(late, "GET"); a.StatusCode != 503 || !strings.Contains(a.body, "shutting_down") {
				t.Errorf("got %d %s", a.StatusCode, a.body)
			}
		}
		close(running.answer)
		if a := s.only(c, "POST"); a.StatusCode != 200 || a.body != "the answer" {
			t.Errorf("got %d %q", a.StatusCode, a.body)
		}
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("after the grace they are cancelled and may answer", func(t *testing.T) {
		s, c, running := serve(t, httpedge.Options{Grace: time.Millisecond, AnswerGrace: time.Hour})
		s.stop()
		if err := <-running.cause; durward.ReasonOf(err) != durward.ShuttingDown {
			t.Errorf("cause is %v, want ShuttingDown", err)
		}
		s.only(c, "POST")
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("at once", func(t *testing.T) {
		s, _, running := serve(t, httpedge.Options{Grace: time.Hour})
		s.stop()
		<-s.server.Draining()
		s.server.Close()
		if err := <-running.cause; durward.ReasonOf(err) != durward.ShuttingDown {
			t.Errorf("cause is %v, want ShuttingDown", err)
		}
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("idle connections and the listener are closed", func(t *testing.T) {
		s := start(t, &door{}, httpedge.Rules{}, httpedge.Options{Grace: time.Hour})
		silent, idle := s.dial(), s.send(second)
		r := bufio.NewReader(idle)
		s.read(r, "GET")
		s.stop()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
		for name, c := range map[string]io.Reader{"silent": silent, "idle": r} {
			if rest, _ := io.ReadAll(c); len(rest) > 0 {
				t.Errorf("%s: got %q", name, rest)
			}
		}
		if c, err := net.Dial("tcp", s.addr); err == nil {
			c.Close()
			t.Error("the port is still open")
		}
	})
	t.Run("a connection that a handler took over", func(t *testing.T) {
		s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(c, "yours\n")
			_, _ = c.Read(make([]byte, 1)) // until the server closes it
			<-r.Context().Done()
		}), httpedge.Rules{}, httpedge.Options{Grace: time.Millisecond, AnswerGrace: time.Millisecond})
		r := bufio.NewReader(s.send(second))
		if line, err := r.ReadString('\n'); line != "yours\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		s.stop()
		if rest, _ := io.ReadAll(r); len(rest) > 0 {
			t.Errorf("got %q", rest)
		}
		<-s.ended
	})
	t.Run("the listener fails", func(t *testing.T) {
		l, err := httpedge.Listen(t.Context(), httpedge.Address{Host: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		s := startOn(t, l, &door{}, httpedge.Rules{}, httpedge.Options{})
		if err := <-s.ended; durward.ReasonOf(err) != durward.ListenFailed {
			t.Errorf("got %v, want ListenFailed", err)
		}
	})
}

// A handler that ignores its context is named, not waited for without end.
func TestHandlerThatDoesNotReturnIsAnError(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	s := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(started)
		<-release
	}), httpedge.Rules{}, httpedge.Options{AnswerGrace: time.Millisecond})
	s.send(second)
	<-started
	s.server.Close()
	if err := <-s.ended; durward.ReasonOf(err) != durward.Defect {
		t.Errorf("got %v, want Defect", err)
	}
	close(release)
}
