//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
)

// A web is a server over HTTP of one era that takes nothing that is not as it should be.
type web struct {
	*httptest.Server
	t   testing.TB
	era string

	mu       sync.Mutex
	heard    sync.Cond               // tells of calls
	session  string                  // guarded by mu; the one that is known
	sessions int                     // guarded by mu
	calls    map[string]int          // guarded by mu; by what they ask for
	wrong    []string                // guarded by mu
	streams  map[chan string]bool    // guarded by mu; to who listens
	replies  map[string]chan message // guarded by mu; to our own requests
	gone     chan string             // what was given up
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		Arguments json.RawMessage `json:"arguments"`
		Version   string          `json:"protocolVersion"`
		Can       json.RawMessage `json:"capabilities"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
			Token   int64  `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

func serveWeb(t testing.TB, era string) *web {
	w := &web{
		t: t, era: era, calls: map[string]int{}, streams: map[chan string]bool{}, replies: map[string]chan message{}, gone: make(chan string, 64),
	}
	w.heard.L = &w.mu
	w.Server = httptest.NewServer(w)
	t.Cleanup(func() {
		w.CloseClientConnections()
		w.Close()
		for _, what := range w.wrong {
			t.Error(what)
		}
	})
	return w
}

// entry is the server's in a configuration.
func (w *web) entry() hubconfig.Server {
	return hubconfig.Server{
		Name: "a", Concurrency: 4, Remote: &hubconfig.Remote{Type: "http", URL: w.URL + "/mcp?x=1", Headers: map[string]string{"Authorization": "Bearer s3cret"}},
	}
}

func (w *web) expect(r *http.Request, name, want string) {
	if got := r.Header.Get(name); got != want {
		w.mu.Lock()
		w.wrong = append(w.wrong, fmt.Sprintf("%s %s has %s %q, want %q", r.Method, r.URL, name, got, want))
		w.mu.Unlock()
	}
}

func (w *web) count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[what]
}

// hears waits until it was called so.
func (w *web) hears(ctx context.Context, what string) {
	defer context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.heard.Broadcast()
	})()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.calls[what] == 0 && ctx.Err() == nil {
		w.heard.Wait()
	}
}

func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m message
	_ = json.Unmarshal(body, &m)
	w.mu.Lock()
	w.calls[r.Method+" "+m.Method]++
	w.heard.Broadcast()
	session := w.session
	w.mu.Unlock()
	w.expect(r, "Authorization", "Bearer s3cret")
	if r.URL.RequestURI() != "/mcp?x=1" {
		http.Error(out, "no such page", 404)
		return
	}
	if r.Method == http.MethodPost {
		w.expect(r, "Accept", "application/json, text/event-stream")
		w.expect(r, "Content-Type", "application/json")
	}
	switch {
	case w.era == "modern":
		w.modern(out, r, m)
		return
	case m.Method == "initialize":
		w.expect(r, "Mcp-Session-Id", "")
		w.mu.Lock()
		w.sessions++
		w.session = fmt.Sprint("session ", w.sessions)
		out.Header().Set("Mcp-Session-Id", w.session)
		w.mu.Unlock()
		w.answer(out, m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"can":`+string(m.Params.Can)+`}`)
		return
	case r.Header.Get("Mcp-Session-Id") == "":
		http.Error(out, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}`, 400)
		return
	case r.Header.Get("Mcp-Session-Id") != session:
		http.Error(out, "session not found", 404)
		return
	}
	w.expect(r, "Mcp-Protocol-Version", "2025-06-18")
	w.expect(r, "Mcp-Method", "")
	switch r.Method {
	case http.MethodGet:
		w.expect(r, "Accept", "text/event-stream")
		w.stream(out, r)
	case http.MethodDelete:
		w.mu.Lock()
		w.session = ""
		w.mu.Unlock()
	default:
		w.do(out, r, m)
	}
}

func (w *web) modern(out http.ResponseWriter, r *http.Request, m message) {
	w.expect(r, "Mcp-Protocol-Version", "2026-07-28")
	w.expect(r, "Mcp-Method", m.Method)
	name := m.Params.Name + m.Params.URI
	if name == "größe" {
		name = "=?base64?Z3LDtsOfZQ==?="
	}
	w.expect(r, "Mcp-Name", name)
	w.expect(r, "Mcp-Session-Id", "")
	if m.Params.Meta.Version != "2026-07-28" || r.Method != http.MethodPost {
		w.expect(r, "a", "request that says what it must")
	}
	switch m.Method {
	case "server/discover":
		w.answer(out, m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)
	case "subscriptions/listen":
		w.stream(out, r)
	default:
		w.do(out, r, m)
	}
}

// stream says what there is to say until the client leaves.
func (w *web) stream(out http.ResponseWriter, r *http.Request) {
	c := make(chan string)
	out.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	fmt.Fprint(out, ": here it begins\r\n\r\nid: 1\r\ndata:\r\n\r\n")
	out.(http.Flusher).Flush()
	w.mu.Lock()
	w.streams[c] = true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.streams, c)
		w.mu.Unlock()
	}()
	for {
		select {
		case text := <-c:
			if text == "" {
				return
			}
			event(out, text)
		case <-r.Context().Done():
			return
		}
	}
}

func event(out http.ResponseWriter, text string) {
	half := strings.Index(text, ",") + 1
	fmt.Fprintf(out, "event: message\r\ndata: %s\r\ndata:%s\r\n\r\n", text[:half], text[half:])
	out.(http.Flusher).Flush()
}

// say tells whoever listens; an empty text ends the stream.
func (w *web) say(text string) {
	w.t.Helper()
	for ctx := patient(w.t); ; {
		w.mu.Lock()
		for c := range w.streams {
			if text == "" {
				delete(w.streams, c)
			}
			w.mu.Unlock()
			c <- text
			return
		}
		w.mu.Unlock()
		if ctx.Err() != nil {
			w.t.Fatal("nobody listens")
		}
	}
}

func (w *web) answer(out http.ResponseWriter, m message, result string) {
	out.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (w *web) do(out http.ResponseWriter, r *http.Request, m message) {
	switch {
	case m.Method == "" && m.ID != nil:
		w.mu.Lock()
		c := w.replies[string(m.ID)]
		w.mu.Unlock()
		c <- m
		out.WriteHeader(202)
	case m.ID == nil:
		out.WriteHeader(202)
	case m.Method == "tools/list":
		list := `{"name":"echo"}`
		if n := w.count("POST tools/list"); n > 1 {
			list += fmt.Sprintf(`,{"name":"t%d"}`, n)
		}
		w.answer(out, m, `{"tools":[`+list+`]}`)
	case m.Method == "tools/call":
		w.call(out, r, m)
	default:
		out.WriteHeader(404)
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
	}
}

// answers takes what the client answers to our own request of an id.
func (w *web) answers(id string) <-chan message {
	c := make(chan message, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replies[id] = c
	return c
}

func (w *web) call(out http.ResponseWriter, r *http.Request, m message) {
	result := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[],"structuredContent":` + string(m.Params.Arguments) + `}}`
	streams := func() {
		out.Header().Set("Content-Type", "text/event-stream")
		out.WriteHeader(200)
		out.(http.Flusher).Flush()
	}
	switch m.Params.Name {
	case "echo", "größe":
		out.Header().Set("Content-Type", "application/json")
		fmt.Fprint(out, result)
	case "progress":
		streams()
		event(out, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, m.Params.Meta.Token))
		event(out, result)
	case "ask":
		c := w.answers(`"q"`)
		streams()
		event(out, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}`)
		said := <-c
		event(out, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}`, m.ID, said.Result))
	case "ask when over":
		c := w.answers(`"o"`)
		streams()
		event(out, result)
		event(out, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
		event(out, `{"jsonrpc":"2.0","id":"o","method":"elicitation/create","params":{}}`)
		w.gone <- string((<-c).Result)
	case "hang", "mute":
		if m.Params.Name == "mute" {
			streams()
		}
		w.gone <- "began"
		<-r.Context().Done()
		w.gone <- "gone"
	case "short":
		streams()
	case "break":
		streams()
		panic(http.ErrAbortHandler)
	case "reset":
		panic(http.ErrAbortHandler)
	case "large":
		out.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":["%s"]}}`, m.ID, strings.Repeat("x", 2*limit))
	case "large stream":
		streams()
		event(out, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":["%s"]}}`, m.ID, strings.Repeat("x", 2*limit)))
		<-r.Context().Done()
	case "page":
		out.Header().Set("Content-Type", "text/html")
		fmt.Fprint(out, "<html>")
	case "redirect":
		http.Redirect(out, r, "/elsewhere", http.StatusTemporaryRedirect)
	case "fails":
		http.Error(out, "oh", 500)
	default:
		out.WriteHeader(400)
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such tool"}}`, m.ID)
	}
}

var eras = []string{"legacy", "modern"}

// A server over HTTP is called as one that is a process, by JSON and by streams.
func TestRemote(t *testing.T) {
	for _, era := range eras {
		w := serveWeb(t, era)
		h := newHub(t, Options{lineBytes: limit}, w.entry())
		h.Start(patient(t))
		if s := h.of("a"); !running(s) || s.Era != era || s.PID != 0 || s.Tools != 1 {
			t.Fatalf("it is %+v", s)
		}
		for tool, want := range map[string]string{
			"echo": "ok", "größe": "ok", "progress": "ok", "short": "server_disconnected", "break": "server_disconnected", "reset": "server_disconnected", "large": "output_too_large",
			"large stream": "output_too_large", "page": "malformed_result", "redirect": "server_error", "fails": "server_error", "other": "server_error",
		} {
			r, err := h.call(patient(t), "a", tool, `{"n":1.0}`)
			if got := reason(r, err); got != want || want == "ok" && string(r.Output) != `{"content":[],"structuredContent":{"n":1.0}}` {
				t.Errorf("%s, %s: %s %s %v", era, tool, got, r.Output, err)
			}
			if want == "server_disconnected" && !strings.Contains(err.Error(), "the tool may have run") {
				t.Errorf("%s: %v", tool, err)
			}
			if tool == "redirect" && !strings.Contains(err.Error(), "307 Temporary Redirect: redirects are not followed") {
				t.Errorf("a redirect is %v", err)
			}
			if tool == "other" && durward.DetailOf(err).Members["code"] != int64(-32602) {
				t.Errorf("the error is %v", err)
			}
		}
		if n := w.count("POST tools/call"); n != 12 {
			t.Errorf("%d calls were sent", n)
		}
		c := newCaller("", "")
		_, err := h.open(t, patient(t), c, "progress", `{}`).Wait(patient(t))
		must(t, err)
		if got := <-c.raw; !strings.Contains(got, `"progress":1`) {
			t.Error(got)
		}
		if s := h.of("a"); !running(s) || s.Restarts != 0 {
			t.Errorf("it is %+v", s)
		}
		must(t, h.Close())
		if n := w.count("DELETE "); (n == 1) != (era == "legacy") {
			t.Errorf("%s: %d sessions were ended", era, n)
		}
	}
}

// A call that is given up ends at the server, too.
func TestRemoteCancel(t *testing.T) {
	for _, era := range eras {
		for _, tool := range []string{"hang", "mute"} {
			w := serveWeb(t, era)
			h := started(t, w.entry())
			ctx, cancel := context.WithCancel(patient(t))
			go func() { <-w.gone; cancel() }()
			if got := reason(h.call(ctx, "a", tool, `{}`)); got != "cancelled" {
				t.Errorf("it ended with %s", got)
			}
			if got := <-w.gone; got != "gone" {
				t.Error(got)
			}
			h.works(t, "a")
			if era == "legacy" {
				w.hears(patient(t), "POST notifications/cancelled") // Close would end the telling
			}
			must(t, h.Close())
			if n := w.count("POST notifications/cancelled"); (n == 1) != (era == "legacy") {
				t.Errorf("%s: it was told %d times", era, n)
			}
		}
	}
}

// What the server says by itself is heard, also when the stream has ended once.
func TestRemoteChanges(t *testing.T) {
	for _, era := range eras {
		w := serveWeb(t, era)
		h := started(t, w.entry())
		w.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		has := func(n int) {
			h.until(t, "a", func(Status) bool {
				h.clock.end(listPause)
				h.clock.end(firstPause)
				return slices.ContainsFunc(h.Tools("a"), func(one Tool) bool { return one.Name >= fmt.Sprint("t", n) })
			})
		}
		has(2)
		w.say("")
		n := w.count("POST tools/list") + 1
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}()
		has(n)
		<-done
		must(t, h.Close())
	}
}

// A session that has ended is begun anew, and the call that found it ended is not sent again.
func TestRemoteSession(t *testing.T) {
	w := serveWeb(t, "legacy")
	h := started(t, w.entry())
	h.clock.pass(wellAfter)
	w.say(`{"jsonrpc":"2.0","method":"notifications/other"}`) // the stream stands, and finds nothing out
	w.mu.Lock()
	w.session = "another"
	w.mu.Unlock()
	if got := reason(h.call(patient(t), "a", "echo", `{}`)); got != "server_stopped" {
		t.Errorf("it ended with %s", got)
	}
	h.until(t, "a", func(s Status) bool { return running(s) && s.Restarts == 1 })
	h.works(t, "a")
	if n := w.count("POST tools/call"); n != 2 {
		t.Errorf("%d calls were sent", n)
	}
}

// A server that cannot be reached is one that is stopped, and is tried again.
func TestRemoteThatIsNotThere(t *testing.T) {
	for _, era := range eras {
		w := serveWeb(t, era)
		e := w.entry()
		e.Remote.URL += "&token=s3cret"
		w.Close()
		h := started(t, e)
		if s := h.of("a"); !notRunning(s) || !strings.Contains(s.LastError, "cannot be reached") || s.RetryAfter == 0 || strings.Contains(s.LastError, "s3cret") {
			t.Errorf("it is %+v", s)
		}
		must(t, h.Close())
	}
	for url, want := range map[string]string{"http://169.254.169.254/": "cannot be reached", "http://0.0.0.0:1/": "cannot be reached"} {
		h := started(t, hubconfig.Server{Name: "a", Concurrency: 1, Remote: &hubconfig.Remote{Type: "http", URL: url}})
		if s := h.of("a"); !notRunning(s) || !strings.Contains(s.LastError, want) {
			t.Errorf("%s is %+v", url, s)
		}
	}
	h := started(t, hubconfig.Server{Name: "a", Concurrency: 1, Remote: &hubconfig.Remote{Type: "sse", URL: "http://localhost/"}})
	if s := h.of("a"); !strings.Contains(s.LastError, "not offered") || s.RetryAfter != 0 {
		t.Errorf("it is %+v", s)
	}
}

// One that goes away is noticed, and found again.
func TestRemoteThatGoesAway(t *testing.T) {
	w := serveWeb(t, "legacy")
	h := started(t, w.entry())
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		w.Close()
	}()
	for !isClosed(closed) { // we may connect once more until then
		w.CloseClientConnections()
	}
	h.until(t, "a", func(s Status) bool {
		h.clock.end(firstPause)
		return notRunning(s)
	})
	if _, err := h.call(patient(t), "a", "echo", `{}`); durward.ReasonOf(err) != durward.ServerStopped {
		t.Errorf("it is %v", err)
	}
}

// The callers of a server over HTTP may be asked, and it is told of no path.
func TestRemoteAsks(t *testing.T) {
	w := serveWeb(t, "legacy")
	e := w.entry()
	e.Offer = []string{"elicitation"}
	h := started(t, e)
	r, err := h.open(t, patient(t), newCaller(elicit, `{"action":"decline"}`), "ask", `{}`).Wait(patient(t))
	if err != nil || string(r.Output) != `{"content":[],"structuredContent":{"action":"decline"}}` {
		t.Errorf("%s, %v", r.Output, err)
	}
}

// Names that no field can hold are coded, and so are those that look as if they were.
func TestAsField(t *testing.T) {
	for text, want := range map[string]string{
		"read_file": "read_file", "a b": "a b", " a": "=?base64?IGE=?=", "größe": "=?base64?Z3LDtsOfZQ==?=", "a\r\nb": "=?base64?YQ0KYg==?=",
		"=?base64?YQ==?=": "=?base64?PT9iYXNlNjQ/WVE9PT89?=", "": "",
	} {
		if got := asField(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
