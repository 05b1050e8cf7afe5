package execclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/durward/durward/execserver/protocol"
)

// A fakeServer speaks the protocol over real connections. Its children are functions,
// its files are in memory, and it loses connections when a test says so.
type fakeServer struct {
	*httptest.Server
	t        *testing.T
	can      protocol.Capabilities
	sessions bool // whether it has any
	serving  sync.WaitGroup

	mu       sync.Mutex
	conns    map[*fakeConn]net.Conn  // guarded by mu
	known    map[string]*fakeSession // guarded by mu
	files    map[string][]byte       // guarded by mu
	away     bool                    // guarded by mu; connections are turned away
	swallow  map[string]int          // guarded by mu; how many answers to a method are lost, with their connection
	counts   map[string]int          // guarded by mu; requests by method
	auth     []string                // guarded by mu; credentials that came
	accepted int                     // guarded by mu; connections
	busy     int                     // guarded by mu; how often a session is said to be attached elsewhere
	token    string                  // what to ask for; empty for nothing
}

type tcpKey struct{}

func newFake(t *testing.T, can protocol.Capabilities) *fakeServer {
	t.Helper()
	f := &fakeServer{
		t: t, can: can, sessions: true, conns: map[*fakeConn]net.Conn{}, known: map[string]*fakeSession{},
		files: map[string][]byte{}, swallow: map[string]int{}, counts: map[string]int{},
	}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	f.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, tcpKey{}, c) }
	f.Start()
	t.Cleanup(f.shut)
	return f
}

// shut ends the server, its connections and its children.
func (f *fakeServer) shut() {
	f.setAway(true)
	f.cut()
	f.mu.Lock()
	for _, s := range f.known {
		s.end()
	}
	f.mu.Unlock()
	f.serving.Wait()
	f.Close()
}

func (f *fakeServer) url() string { return "ws" + strings.TrimPrefix(f.URL, "http") }

// cut resets every connection: what is on its way is lost.
func (f *fakeServer) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

func (f *fakeServer) setAway(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
}

// lose has the answers to the next calls of a method lost, with their connection.
func (f *fakeServer) lose(method string, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.swallow[method] = times
}

func (f *fakeServer) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[method]
}

// forget ends all sessions.
func (f *fakeServer) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, s := range f.known {
		s.end()
		delete(f.known, id)
	}
}

func (f *fakeServer) serve(w http.ResponseWriter, r *http.Request) {
	f.serving.Add(1)
	defer f.serving.Done()
	f.mu.Lock()
	away, token := f.away, f.token
	f.auth = append(f.auth, r.Header.Get("Authorization"))
	f.mu.Unlock()
	if away {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ws.SetReadLimit(protocol.MaxMessage)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &fakeConn{f: f, ws: ws, ctx: ctx, handles: map[string]*fakeHandle{}}
	f.mu.Lock()
	f.accepted++
	f.conns[c] = r.Context().Value(tcpKey{}).(net.Conn)
	f.mu.Unlock()
	c.serve()
	cancel()
	ws.CloseNow()
	f.mu.Lock()
	delete(f.conns, c)
	f.mu.Unlock()
	if c.session != nil {
		c.session.detach(c)
	}
	c.handling.Wait()
}

// A fakeConn is one connection.
type fakeConn struct {
	f        *fakeServer
	ws       *websocket.Conn
	ctx      context.Context
	session  *fakeSession
	handling sync.WaitGroup

	mu      sync.Mutex
	handles map[string]*fakeHandle // guarded by mu
}

type fakeHandle struct {
	path    string
	replace bool
}

func (c *fakeConn) send(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	c.ws.Write(c.ctx, websocket.MessageText, text)
}

func (c *fakeConn) notify(method string, params any) {
	c.send(map[string]any{"method": method, "params": params})
}

type fakeRequest struct {
	ID     *int64          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (c *fakeConn) serve() {
	for {
		_, text, err := c.ws.Read(c.ctx)
		if err != nil {
			return
		}
		var r fakeRequest
		if err := json.Unmarshal(text, &r); err != nil {
			panic(err)
		}
		switch {
		case r.Method == protocol.Initialize, r.Method == protocol.ProcessStart, r.Method == protocol.ProcessWrite, r.ID == nil:
			c.handle(r)
		default:
			c.handling.Go(func() { c.handle(r) })
		}
	}
}

// refused is an answer that is an error.
type refused protocol.Error

func (e refused) Error() string { return e.Message }

func invalid(format string, args ...any) error {
	return refused{Code: protocol.InvalidRequest, Message: fmt.Sprintf(format, args...)}
}

func (c *fakeConn) handle(r fakeRequest) {
	result, err := c.do(r)
	c.f.mu.Lock()
	c.f.counts[r.Method]++
	lost := c.f.swallow[r.Method] > 0
	if lost {
		c.f.swallow[r.Method]--
	}
	c.f.mu.Unlock()
	var e refused
	switch {
	case lost:
		c.f.cut()
	case r.ID == nil:
	case errors.As(err, &e):
		c.send(map[string]any{"id": r.ID, "error": e})
	case err != nil:
		c.send(map[string]any{"id": r.ID, "error": refused{Code: protocol.InvalidParams, Message: err.Error()}})
	default:
		c.send(map[string]any{"id": r.ID, "result": result})
	}
}

// with decodes params strictly and goes on.
func with[P, R any](raw json.RawMessage, do func(P) (R, error)) (any, error) {
	p, err := protocol.Decode[P](raw)
	if err != nil {
		return nil, err
	}
	r, err := do(p)
	if err != nil {
		return nil, err
	}
	return protocol.Encode(r)
}

func (c *fakeConn) do(r fakeRequest) (any, error) {
	switch r.Method {
	case protocol.Initialize:
		return with(r.Params, c.initialize)
	case protocol.ProcessStart:
		return with(r.Params, func(p protocol.StartParams) (protocol.StartResult, error) {
			return c.session.start(p, c.f.can.DurwardFlow)
		})
	case protocol.ProcessRead:
		return with(r.Params, c.session.read)
	case protocol.ProcessWrite:
		return with(r.Params, c.session.write)
	case protocol.ProcessTerminate:
		return with(r.Params, c.session.terminate)
	case protocol.ProcessAck:
		return with(r.Params, c.session.ack)
	case protocol.EnvironmentStatus:
		return protocol.EnvironmentStatusResult{Status: protocol.StatusReady}, nil
	case protocol.FSReadFile:
		return with(r.Params, func(p protocol.PathParams) (protocol.ReadFileResult, error) {
			data, err := c.f.file(p.Path)
			return protocol.ReadFileResult{DataBase64: data}, err
		})
	case protocol.FSWriteFile:
		return with(r.Params, func(p protocol.WriteFileParams) (protocol.Empty, error) {
			c.f.setFile(p.Path, p.DataBase64)
			return protocol.Empty{}, nil
		})
	case protocol.FSOpen:
		return with(r.Params, c.open)
	case protocol.FSReadBlock:
		return with(r.Params, c.readBlock)
	case protocol.FSWriteBlock:
		return with(r.Params, c.writeBlock)
	case protocol.FSClose:
		return with(r.Params, func(p protocol.CloseParams) (protocol.Empty, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.handles, p.HandleID)
			return protocol.Empty{}, nil
		})
	case protocol.FSWatchMissing:
		return with(r.Params, func(p protocol.WatchMissingParams) (protocol.WatchMissingResult, error) {
			if p.Present == "/changes" {
				c.notify(protocol.FSMissingChanged, protocol.MissingChangedParams{WatchID: p.WatchID})
			}
			return protocol.WatchMissingResult{Watching: true}, nil
		})
	case protocol.HTTPRequest:
		return with(r.Params, c.http)
	case protocol.Initialized:
		return nil, nil
	}
	return nil, refused{Code: protocol.MethodNotFound, Message: "unknown method " + r.Method}
}

func (c *fakeConn) initialize(p protocol.InitializeParams) (protocol.InitializeResult, error) {
	info := &protocol.EnvironmentInfo{Shell: protocol.Shell{Name: "sh", Path: "/bin/sh"}, Capabilities: c.f.can}
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if p.ResumeSessionID.ID != nil {
		s := c.f.known[*p.ResumeSessionID.ID]
		if s == nil {
			return protocol.InitializeResult{}, invalid("unknown session id")
		}
		if c.f.busy > 0 || !s.attach(c) {
			c.f.busy--
			return protocol.InitializeResult{}, refused{Code: protocol.SessionAttached, Message: "attached elsewhere"}
		}
		c.session = s
		return protocol.InitializeResult{SessionID: s.id, EnvironmentInfo: info}, nil
	}
	c.session = &fakeSession{f: c.f, id: "s" + strconv.Itoa(len(c.f.known)), processes: map[string]*fakeProcess{}}
	c.session.attach(c)
	c.f.known[c.session.id] = c.session
	if !c.f.sessions {
		return protocol.InitializeResult{}, nil
	}
	return protocol.InitializeResult{SessionID: c.session.id, EnvironmentInfo: info}, nil
}

func (f *fakeServer) file(path string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, there := f.files[path]
	if !there {
		return nil, refused{Code: protocol.NotFound, Message: "No such file or directory"}
	}
	return data, nil
}

func (f *fakeServer) setFile(path string, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[path] = append([]byte(nil), data...)
}

func (c *fakeConn) open(p protocol.OpenParams) (protocol.OpenResult, error) {
	replace := p.Mode == protocol.OpenReplace
	if replace {
		c.f.setFile(p.Path, nil)
	} else if _, err := c.f.file(p.Path); err != nil {
		return protocol.OpenResult{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handles[p.HandleID] != nil {
		return protocol.OpenResult{}, invalid("duplicate handle")
	}
	c.handles[p.HandleID] = &fakeHandle{p.Path, replace}
	return protocol.OpenResult{HandleID: p.HandleID}, nil
}

func (c *fakeConn) handleOf(id string) (*fakeHandle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.handles[id]; h != nil {
		return h, nil
	}
	return nil, refused{Code: protocol.NotFound, Message: "unknown handle"}
}

func (c *fakeConn) readBlock(p protocol.ReadBlockParams) (protocol.ReadBlockResult, error) {
	h, err := c.handleOf(p.HandleID)
	if err != nil {
		return protocol.ReadBlockResult{}, err
	}
	data, err := c.f.file(h.path)
	from := min(p.Offset, uint64(len(data)))
	to := min(from+p.Len, uint64(len(data)))
	return protocol.ReadBlockResult{Chunk: data[from:to], EOF: to == uint64(len(data))}, err
}

func (c *fakeConn) writeBlock(p protocol.WriteBlockParams) (protocol.Empty, error) {
	h, err := c.handleOf(p.HandleID)
	if err != nil {
		return protocol.Empty{}, err
	}
	data, err := c.f.file(h.path)
	if err == nil && uint64(len(data)) != p.Offset {
		err = invalid("the fake takes blocks in order")
	}
	if err == nil {
		c.f.setFile(h.path, append(data[:len(data):len(data)], p.Chunk...))
	}
	return protocol.Empty{}, err
}

// http answers with the path of the URL as the number of MiB to stream.
func (c *fakeConn) http(p protocol.HTTPRequestParams) (protocol.HTTPRequestResult, error) {
	_, path, _ := strings.Cut(strings.TrimPrefix(p.URL, "http://"), "/")
	switch path {
	case "rubbish":
		c.send([]string{"neither answer nor notification"})
	case "huge":
		c.ws.Write(c.ctx, websocket.MessageText, bytes.Repeat([]byte(" "), 64<<20+1))
	}
	size, err := strconv.Atoi(path)
	if err != nil {
		return protocol.HTTPRequestResult{}, refused{Code: protocol.InternalError, Message: "no connection"}
	}
	head := protocol.HTTPRequestResult{Status: 200, Headers: []protocol.HTTPHeader{{Name: "x-method", Value: p.Method}}}
	if !p.StreamResponse {
		head.BodyBase64 = pattern(0, size<<20)
		return head, nil
	}
	c.handling.Go(func() {
		for i := range size * 16 {
			c.notify(protocol.HTTPBodyDelta, protocol.HTTPBodyDeltaParams{RequestID: p.RequestID, Seq: uint64(i + 1), DeltaBase64: pattern(i<<16, 1<<16)})
		}
		c.notify(protocol.HTTPBodyDelta, protocol.HTTPBodyDeltaParams{RequestID: p.RequestID, Seq: uint64(size*16 + 1), Done: true})
	})
	return head, nil
}

// period is a prime, so no number of whole chunks can be lost or doubled unseen.
const period = 1_000_003

var patternText = sync.OnceValue(func() []byte {
	p := make([]byte, period)
	for i := range p {
		at := uint32(i)
		p[i] = byte((at ^ at>>8*7 ^ at>>16*31) * 167)
	}
	return p
})

// pattern is n bytes of a text in which no place looks like another one near by.
func pattern(from, n int) []byte {
	p := make([]byte, 0, n)
	for len(p) < n {
		at := (from + len(p)) % period
		p = append(p, patternText()[at:min(period, at+n-len(p))]...)
	}
	return p
}
