package httpreq

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A listener takes chunks one at a time, and holds up who tells it until it is let.
type listener struct {
	chunks chan durward.Chunk
	over   <-chan struct{} // nobody takes anything any more
}

func newListener(ctx context.Context) *listener {
	return &listener{chunks: make(chan durward.Chunk), over: ctx.Done()}
}

func (l *listener) Output(c durward.Chunk) {
	select {
	case l.chunks <- c:
	case <-l.over:
	}
}

func (l *listener) Progress(float64, float64, string) {}

func (l *listener) Log(string, string) {}

func (l *listener) Ended(durward.Result) {}

func (l *listener) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

func open(ctx context.Context, t testing.TB, e *Engine, g durward.Grant, events durward.Events, c durward.Call) durward.Session {
	t.Helper()
	p, err := e.Prepare(ctx, Tools()[0], c, g)
	must(t, err)
	s, err := p.(core.Opener).Open(ctx, events)
	must(t, err)
	must(t, p.Close()) // the session outlives it
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// all reads a session to its end.
func all(t testing.TB, s durward.Session) []durward.Chunk {
	t.Helper()
	var list []durward.Chunk
	for page := (durward.Page{}); !page.Ended; {
		var err error
		page, err = s.Read(t.Context(), page.Next, 1, patience)
		must(t, err)
		if page.Lost > 0 || len(page.Chunks) == 0 && !page.Ended {
			t.Fatalf("%+v", page)
		}
		list = append(list, page.Chunks...)
	}
	return list
}

func bodyOf(t testing.TB, list []durward.Chunk) string {
	t.Helper()
	var body strings.Builder
	for i, c := range list {
		stream := durward.Body
		if i == 0 {
			stream = durward.Head
		} else {
			body.Write(c.Data)
		}
		if c.Seq != uint64(i)+1 || c.Stream != stream || i > 0 && (len(c.Data) == 0 || len(c.Data) > chunkBytes) {
			t.Errorf("chunk %d is number %d of %s, %d bytes", i, c.Seq, c.Stream, len(c.Data))
		}
	}
	return body.String()
}

func TestStream(t *testing.T) {
	step := make(chan struct{})
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"], w.Header()["Content-Type"] = nil, []string{"a/b"}
		for _, part := range []string{"", "one", "two"} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
			<-step
		}
	})
	l := newListener(t.Context())
	session := open(t.Context(), t, engine(t, Options{Allow: []string{s.at()}}), durward.Grant{Keep: durward.KeepStream}, l, get(s.URL))
	const head = `{"status":200,"headers":[{"name":"content-type","value":"a/b"},{"name":"connection","value":"close"},{"name":"transfer-encoding","value":"chunked"}],"bodyBase64":""}`
	for _, want := range []string{head, "one", "two"} { // each as soon as it is there
		if c := <-l.chunks; string(c.Data) != want {
			t.Errorf("%s comes, want %s", c.Data, want)
		}
		step <- struct{}{}
	}
	result, err := session.Wait(t.Context())
	must(t, err)
	sum := sha256.Sum256([]byte("onetwo"))
	if c := result.Content; c == nil || c.Bytes != 6 || c.SHA256 != hex.EncodeToString(sum[:]) || result.Output != nil || result.Network.Connections != 1 {
		t.Errorf("%+v", result)
	}
	list := all(t, session)
	if got := bodyOf(t, list); got != "onetwo" || string(list[0].Data) != head {
		t.Errorf("afterwards there is %v", list)
	}
}

func TestALargeHeadIsOneChunk(t *testing.T) {
	s := speak(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 4*chunkBytes)+"\r\nContent-Length: 3\r\n\r\nabc")
	session := open(t.Context(), t, engine(t, Options{Allow: []string{s.at}}), durward.Grant{Keep: durward.KeepFlow}, nil, get("http://"+s.at))
	list := all(t, session)
	if bodyOf(t, list) != "abc" || len(read(t, list[0].Data).Headers[0].Value) != 4*chunkBytes {
		t.Errorf("%d chunks", len(list))
	}
}

func TestABodyThatIsCutShort(t *testing.T) {
	for name, text := range map[string]string{
		"a length":   "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
		"chunks":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"half chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
	} {
		s := speak(t, text)
		session := open(t.Context(), t, engine(t, Options{Allow: []string{s.at}}), durward.Grant{}, nil, get("http://"+s.at))
		result, err := session.Wait(t.Context())
		if got := bodyOf(t, all(t, session)); got != "abc" || durward.ReasonOf(err) != durward.ConnectFailed || result.Content.Bytes != 3 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestAStreamThatIsRefused(t *testing.T) {
	s := newSite(t, hop)
	e := engine(t, Options{Allow: []string{s.at()}})
	session := open(t.Context(), t, e, durward.Grant{}, nil, get(s.URL+"/hop/302?http://10.0.0.1/"))
	if _, err := session.Wait(t.Context()); durward.ReasonOf(err) != durward.HostDenied || len(all(t, session)) != 0 {
		t.Error(err)
	}
}

func TestAStreamOverTheHardLimit(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, always{}) })
	g := durward.Grant{Limits: durward.Limits{OutputHard: 1 << 20}}
	session := open(t.Context(), t, engine(t, Options{Allow: []string{s.at()}}), g, nil, get(s.URL))
	if r, err := session.Wait(t.Context()); durward.ReasonOf(err) != durward.OutputTooLarge || r.Content.Bytes > 1<<20+chunkBytes {
		t.Errorf("%+v, %v", r, err)
	}
}

// A source sends without an end, and tells how much it got rid of when the other side is gone.
func source(t testing.TB) (at string, sent <-chan int) {
	t.Helper()
	total := make(chan int, 1)
	return serve(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		n, piece := 0, bytes.Repeat([]byte("x"), 4096)
		for {
			if _, err := conn.Write(piece); err != nil {
				break
			}
			n += len(piece)
		}
		total <- n
	}), total
}

// Who does not take a chunk keeps more from being read, and a cancelled stream breaks its
// connection though nobody takes it.
func TestBackPressure(t *testing.T) {
	for name, end := range map[string]func(durward.Session, context.CancelFunc){
		"cancelled":          func(s durward.Session, _ context.CancelFunc) { s.Cancel() },
		"its caller is gone": func(_ durward.Session, gone context.CancelFunc) { gone() },
	} {
		at, sent := source(t)
		ctx, gone := context.WithCancel(t.Context())
		taking, enough := context.WithCancel(t.Context())
		l := newListener(taking)
		session := open(ctx, t, engine(t, Options{Allow: []string{at}}), ample, l, get("http://"+at))
		taken := 0
		for taken < 1<<20 {
			taken += len((<-l.chunks).Data)
		}
		// The next chunk has been read or will be, and no other one: room for the buffers of the
		// system on both sides is left.
		end(session, gone)
		if n := <-sent; n > taken+64<<20 {
			t.Errorf("%s: %d bytes were sent, %d taken", name, n, taken)
		}
		enough()
		result, err := session.Wait(t.Context())
		if durward.ReasonOf(err) != durward.CallCancelled || result.Content.Bytes > int64(taken+3*chunkBytes) {
			t.Errorf("%s: %d bytes were read, %d taken, %v", name, result.Content.Bytes, taken, err)
		}
		gone()
	}
}

// With flow a reader holds the stream up, too, and loses nothing.
func TestFlow(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<16)
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, large) })
	g := durward.Grant{Keep: durward.KeepFlow, Limits: durward.Limits{Output: 1}}
	session := open(t.Context(), t, engine(t, Options{Allow: []string{s.at()}}), g, nil, get(s.URL))
	if got := bodyOf(t, all(t, session)); got != large {
		t.Errorf("%d bytes were read", len(got))
	}
	_, err := session.Wait(t.Context())
	must(t, err)
}

func TestCloseWhileTheHeadIsAwaited(t *testing.T) {
	began, gone := make(chan struct{}), make(chan struct{})
	s := newSite(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(gone)
	})
	session := open(t.Context(), t, engine(t, Options{Allow: []string{s.at()}}), durward.Grant{}, nil, get(s.URL))
	<-began
	must(t, session.Close())
	<-gone
	if _, err := session.Wait(t.Context()); durward.ReasonOf(err) != durward.CallCancelled {
		t.Error(err)
	}
	if page, err := session.Read(t.Context(), 0, 1, 0); err != nil || !page.Ended || len(page.Chunks) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestAStreamHasATime(t *testing.T) {
	at, _ := source(t)
	session := open(t.Context(), t, engine(t, Options{Allow: []string{at}}), ample, nil, says(map[string]any{"method": "GET", "url": "http://" + at, "timeoutMs": 100}))
	if _, err := session.Wait(t.Context()); durward.ReasonOf(err) != durward.DeadlineExceeded {
		t.Error(err)
	}
}

func TestAnEndedContextOpensNothing(t *testing.T) {
	at := sentry(t, "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	p, err := engine(t, Options{Allow: []string{at}}).Prepare(ctx, Tools()[0], get("http://"+at), ample)
	must(t, err)
	cancel()
	if s, err := p.(core.Opener).Open(ctx, nil); s != nil || durward.KindOf(err) != durward.Cancelled {
		t.Error(err)
	}
}

// A request is no command: it has no input, no process and no terminal.
func TestNoCommand(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	session := open(t.Context(), t, engine(t, Options{Allow: []string{s.at()}}), durward.Grant{}, nil, get(s.URL))
	if n, err := session.Write(t.Context(), []byte("x")); n != 0 || durward.ReasonOf(err) != durward.InputClosed {
		t.Errorf("%d, %v", n, err)
	}
	must(t, session.CloseInput())
	if err := session.Signal(15); durward.ReasonOf(err) != durward.NotSupported {
		t.Error(err)
	}
	if err := session.Resize(durward.WindowSize{}); durward.ReasonOf(err) != durward.NotSupported {
		t.Error(err)
	}
}
