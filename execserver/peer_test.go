package execserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A peer is one connection to a server. It reads all the time and keeps what it hears.
type peer struct {
	t    testing.TB
	conn *websocket.Conn

	mu    sync.Mutex
	heard []message     // guarded by mu
	more  chan struct{} // guarded by mu; closed when more was heard
	ended error         // guarded by mu; why nothing more is heard
	last  int           // guarded by mu; the latest id of our own
}

// A message is one that a server sent.
type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params notice          `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *fault          `json:"error"`
	id     string          // ID as text
	text   string
}

type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// A notice has the members of all notifications.
type notice struct {
	ProcessID string `json:"processId"`
	Seq       int    `json:"seq"`
	Stream    string `json:"stream"`
	Chunk     []byte `json:"chunk"`
	ExitCode  int    `json:"exitCode"`
	Denied    bool   `json:"sandboxDenied"`
	RequestID string `json:"requestId"`
}

// dial opens a connection that says nothing yet.
func dial(t testing.TB, url string) *peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, answer, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("the server wants %q", got)
	}
	conn.SetReadLimit(-1)
	p := &peer{t: t, conn: conn, more: make(chan struct{}), last: 1000}
	done := make(chan struct{})
	go func() { defer close(done); p.listen() }()
	t.Cleanup(func() { p.drop(); <-done })
	return p
}

// greet opens a session of its own.
func greet(t testing.TB, url string) *peer {
	t.Helper()
	p := dial(t, url)
	p.begins(map[string]any{"clientName": "test"})
	return p
}

// begins sends initialize with these params, then initialized, and gives the session's id.
func (p *peer) begins(params any) (session string) {
	p.t.Helper()
	var result struct{ SessionID string }
	p.result(p.ask("initialize", params), &result)
	p.says(`{"method":"initialized","params":{}}`)
	return result.SessionID
}

// drop cuts the connection without a closing frame.
func (p *peer) drop() { _ = p.conn.CloseNow() }

func (p *peer) listen() {
	for {
		kind, text, err := p.conn.Read(context.Background())
		var m message
		if err == nil {
			m, err = parse(kind, text)
		}
		p.mu.Lock()
		if err == nil {
			p.heard = append(p.heard, m)
		} else {
			p.ended = err
		}
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			p.drop()
			return
		}
	}
}

func parse(kind websocket.MessageType, text []byte) (m message, err error) {
	if kind != websocket.MessageText {
		return m, fmt.Errorf("the server sends a frame of kind %v", kind)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("%w in %.300s", err, text)
	}
	m.id, m.text = fmt.Sprint(m.ID), string(text)
	return m, nil
}

// says sends a text frame.
func (p *peer) says(text string) { p.t.Helper(); p.sends(websocket.MessageText, text) }

func (p *peer) sends(kind websocket.MessageType, text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.conn.Write(ctx, kind, []byte(text)); err != nil {
		p.t.Errorf("%.300s is not sent: %v", text, err)
	}
}

// begin sends a request and gives its id.
func (p *peer) begin(method string, params any) (id string) {
	p.t.Helper()
	p.mu.Lock()
	p.last++
	id = fmt.Sprint(p.last)
	p.mu.Unlock()
	p.says(fmt.Sprintf(`{"id":%s,"method":%q,"params":%s}`, id, method, encode(p.t, params)))
	return id
}

// ask sends a request and waits for its answer.
func (p *peer) ask(method string, params any) message {
	p.t.Helper()
	return p.answer(p.begin(method, params))
}

// answer waits for the answer to a request.
func (p *peer) answer(id string) message {
	p.t.Helper()
	return p.first("an answer to "+id, func(m message) bool { return m.Method == "" && m.id == id })
}

// first waits for the first message of some sort, among all that were ever heard.
func (p *peer) first(what string, sort func(message) bool) (found message) {
	p.t.Helper()
	looked := 0
	p.until(what, func(heard []message) bool {
		for ; looked < len(heard); looked++ {
			if found = heard[looked]; sort(found) {
				return true
			}
		}
		return false
	})
	return found
}

// until waits until what was heard has something about it.
func (p *peer) until(what string, ok func(heard []message) bool) {
	p.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		p.mu.Lock()
		heard, more, ended := p.heard, p.more, p.ended
		p.mu.Unlock()
		if ok(heard) {
			return
		}
		if ended != nil {
			p.t.Fatalf("%s: not before the connection ended: %v\n%s", what, ended, tail(heard))
		}
		select {
		case <-more:
		case <-limit.C:
			p.t.Fatalf("%s: not within %s\n%s", what, patience, tail(heard))
		}
	}
}

// tail gives the latest messages, for a test that failed.
func tail(heard []message) string {
	var b strings.Builder
	for _, m := range heard[max(len(heard)-8, 0):] {
		fmt.Fprintf(&b, "heard %.500s\n", m.text)
	}
	return b.String()
}

// closes wants the server to end the connection.
func (p *peer) closes() {
	p.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		p.mu.Lock()
		heard, more, ended := p.heard, p.more, p.ended
		p.mu.Unlock()
		if ended != nil {
			return
		}
		select {
		case <-more:
		case <-limit.C:
			p.t.Fatalf("the connection lives\n%s", tail(heard))
		}
	}
}

// lives wants the connection to be good for another request.
func (p *peer) lives() {
	p.t.Helper()
	p.result(p.ask("process/terminate", map[string]any{"processId": "there is none"}), nil)
}

// result wants an answer to be a result and decodes it.
func (p *peer) result(m message, into any) {
	p.t.Helper()
	if m.Error != nil || m.Result == nil {
		p.t.Fatalf("no result: %.500s", m.text)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(m.Result, into); err != nil {
		p.t.Fatalf("%v in %.500s", err, m.text)
	}
}

// refused wants an answer to be an error of one of these codes.
func (p *peer) refused(m message, codes ...int) {
	p.t.Helper()
	for _, code := range codes {
		if m.Error != nil && m.Error.Code == code && m.Error.Message != "" {
			return
		}
	}
	p.t.Errorf("want an error of code %v: %.500s", codes, m.text)
}

// A start is the params of process/start.
type start struct {
	ProcessID string            `json:"processId"`
	Argv      []string          `json:"argv"`
	Cwd       string            `json:"cwd"`
	Env       map[string]string `json:"env"`
	Tty       bool              `json:"tty"`
	PipeStdin bool              `json:"pipeStdin,omitempty"`
	Sandbox   any               `json:"sandbox,omitempty"`
}

// sh is the start of a shell script.
func sh(id, script string, args ...any) start {
	return start{
		ProcessID: id, Argv: []string{"/bin/sh", "-c", fmt.Sprintf(script, args...)},
		Cwd: "file:///", Env: map[string]string{"PATH": "/usr/bin:/bin"},
	}
}

// starts starts a process.
func (p *peer) starts(s start) {
	p.t.Helper()
	p.result(p.ask("process/start", s), nil)
}

// terminates kills a process and tells whether it was running.
func (p *peer) terminates(id string) (running bool) {
	p.t.Helper()
	var result struct{ Running bool }
	p.result(p.ask("process/terminate", map[string]any{"processId": id}), &result)
	return result.Running
}

// exits waits for the end of a process and gives its exit code.
func (p *peer) exits(id string) int {
	p.t.Helper()
	return p.first(id+" exits", func(m message) bool {
		return m.Method == "process/exited" && m.Params.ProcessID == id
	}).Params.ExitCode
}

// closed waits until a process is closed.
func (p *peer) closed(id string) {
	p.t.Helper()
	p.first(id+" is closed", func(m message) bool { return m.Method == "process/closed" && m.Params.ProcessID == id })
}

// prints waits until the output of a process has a text in it.
func (p *peer) prints(id, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%s prints %q", id, text), func(heard []message) bool {
		return strings.Contains(output(heard, id, ""), text)
	})
}

// all waits until a process is closed and gives what it wrote to a stream.
func (p *peer) all(id, stream string) string {
	p.t.Helper()
	p.closed(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	return output(p.heard, id, stream)
}

// output is what a process wrote to a stream, or to any of them.
func output(heard []message, id, stream string) string {
	var b strings.Builder
	for _, m := range heard {
		if n := m.Params; m.Method == "process/output" && n.ProcessID == id && (stream == "" || n.Stream == stream) {
			b.Write(n.Chunk)
		}
	}
	return b.String()
}

// of gives the notifications about a process, in the order in which they came.
func (p *peer) of(id string) (all []message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.heard {
		if m.Method != "" && m.Params.ProcessID == id {
			all = append(all, m)
		}
	}
	return all
}

func encode(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return string(text)
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
