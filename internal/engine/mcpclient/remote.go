package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
	"github.com/durward/durward/internal/netguard"
)

const (
	// partTime is what a server over HTTP gets to take the end of a session.
	partTime = 2 * time.Second
	// dialTime is what a connection to one may take.
	dialTime = 10 * time.Second
	// mostHeaderBytes bounds the header of an answer, and mostSessionBytes the id of a session.
	mostHeaderBytes  = 1 << 20
	mostSessionBytes = 4096
)

// errSession is of a server that does not know the session any more.
var errSession = errors.New("it has ended the session")

// A remote is a server over HTTP: each message to it is a request of its own, and what it says
// comes in the answers to these, or in a stream that is asked for.
//
//	POST /mcp HTTP/1.1
//	Accept: application/json, text/event-stream
//	Content-Type: application/json
//	MCP-Protocol-Version: 2026-07-28
//	Mcp-Method: tools/call
//	Mcp-Name: read_file
//
// It is reached where an operator's own services live, without a proxy, and redirects are not
// followed. A message is never sent twice.
type remote struct {
	*run
	url     *url.URL
	client  *http.Client
	all     context.Context // of all requests
	over    context.CancelFunc
	posts   sync.WaitGroup
	agreed  atomic.Pointer[greeting]
	session atomic.Pointer[string] // nil while there is none
	follow  sync.Once

	mu     sync.Mutex
	closed bool                          // guarded by mu; nothing is sent any more
	open   map[string]context.CancelFunc // guarded by mu; requests, by their ids
	pause  time.Duration                 // guarded by mu; before the next stream, where the last was short

	heeding sync.Mutex // held while something that the server says is taken in
}

// connect makes the body of a run of a server over HTTP. Nothing is sent yet.
func (r *run) connect() (*remote, error) {
	at, err := netguard.ParseURL(r.config.Remote.URL)
	if err != nil {
		return nil, err
	}
	target, err := netguard.TargetOf(at)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTime)
		defer cancel()
		raw, err := netguard.DialService(ctx, target, nil)
		if err == nil && at.Scheme == "https" {
			raw, err = netguard.Secure(ctx, raw, target.Host, nil)
		}
		if err != nil {
			return nil, unreachable{err}
		}
		return raw, nil
	}
	m := &remote{run: r, url: at, open: make(map[string]context.CancelFunc)}
	m.all, m.over = context.WithCancel(context.Background())
	m.client = &http.Client{
		Transport: &http.Transport{
			DialContext: dial, DialTLSContext: dial, DisableCompression: true, MaxResponseHeaderBytes: mostHeaderBytes,
			MaxIdleConnsPerHost: r.config.Concurrency + 1, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r.conn = newConn(m, r)
	return m, nil
}

// unreachable is an error of a dial: nothing was sent.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

func (m *remote) pid() int { return 0 }

// mind has nothing to do: each answer has a goroutine that takes it in.
func (m *remote) mind() {}

func (m *remote) hearOut(context.Context, *question) {}

func (m *remote) report() *durward.Report { return nil }

func (m *remote) await(r *run) {
	select {
	case <-r.severed:
	case <-r.doomed:
	}
}

// bury ends all requests.
func (m *remote) bury(r *run) (clean bool, err error) {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.over()
	m.posts.Wait()
	m.client.CloseIdleConnections()
	if isClosed(r.doomed) {
		return false, r.why
	}
	return false, errors.New("it does not take requests any more")
}

func (m *remote) free() error { return nil }

// agree has later messages say what was agreed on.
func (m *remote) agree(g greeting) { m.agreed.Store(&g) }

// era is that of a message: of what was agreed on, and before that of the greeting that it is.
func (m *remote) era(method string) string {
	if g := m.agreed.Load(); g != nil {
		return g.era
	}
	if method == "server/discover" {
		return modern
	}
	return ""
}

// send posts a message in the background. What gives a request up, for a modern server, is the
// end of its stream.
func (m *remote) send(ctx context.Context, message jsonrpc.Message) (sent bool, err error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	era := m.era(message.Method)
	if message.Method == "notifications/cancelled" {
		m.abort(idOf(message.Params))
		if era != legacy {
			return true, nil
		}
	}
	own, cancel := context.WithCancel(m.all)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		cancel()
		return false, errGone
	}
	if message.Kind == jsonrpc.Request {
		m.open[message.ID.String()] = cancel
	}
	done := make(chan struct{})
	m.posts.Go(func() {
		defer close(done)
		defer cancel()
		m.post(own, message, era)
		m.mu.Lock()
		delete(m.open, message.ID.String())
		m.mu.Unlock()
	})
	if message.Method == initialized { // what comes next must not overtake it
		m.mu.Unlock()
		defer m.mu.Lock()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	return true, nil
}

// initialized is what a legacy server hears when the handshake is done.
const initialized = "notifications/initialized"

// abort ends the stream of a request.
func (m *remote) abort(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cancel := m.open[id]; cancel != nil {
		cancel()
	}
}

// header gives the fields that a request has: those of the configuration, and ours.
func (m *remote) header(era string) http.Header {
	h := http.Header{}
	for name, value := range m.config.Remote.Headers {
		h.Set(name, value)
	}
	h.Set("User-Agent", strings.TrimSpace("durward "+m.engine.options.Version))
	h.Set("Accept", "application/json, text/event-stream")
	switch g := m.agreed.Load(); {
	case era == modern:
		h.Set("Mcp-Protocol-Version", mcpspec.Modern)
	case g != nil && era == legacy:
		h.Set("Mcp-Protocol-Version", g.version)
	}
	if id := m.session.Load(); id != nil {
		h.Set("Mcp-Session-Id", *id)
	}
	return h
}

// depart tells a legacy server that the session is over, if it has one.
func (m *remote) depart(*run) {
	if m.session.Load() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(m.all, partTime)
	defer cancel()
	go func() {
		select {
		case <-m.engine.hurry:
			cancel()
		case <-ctx.Done():
		}
	}()
	answer, err := m.do(ctx, http.MethodDelete, m.header(legacy), nil)
	if err == nil {
		answer.Body.Close()
	}
}

// listenAlong takes what a legacy server says beside its answers, if it does.
func (m *remote) listenAlong() {
	last := ""
	for {
		began := m.engine.options.clock.now()
		h := m.header(legacy)
		h.Set("Accept", "text/event-stream")
		if last != "" {
			h.Set("Last-Event-Id", last)
		}
		answer, err := m.do(m.all, http.MethodGet, h, nil)
		switch {
		case m.all.Err() != nil:
			return
		case err != nil:
			m.end(fmt.Errorf("it cannot be reached: %w", err))
			return
		case answer.StatusCode == http.StatusOK && isStream(answer):
			last = m.events(answer.Body, 0)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK || !isStream(answer) {
			m.noted(answer.StatusCode)
			return // it has nothing to say
		}
		if !m.rest(m.all, began) {
			return
		}
	}
}

// rest waits before a stream is asked for again, the longer the shorter the last ones were. It
// reports whether to do so.
func (m *remote) rest(ctx context.Context, began time.Time) bool {
	clock := m.engine.options.clock
	m.mu.Lock()
	if m.pause = min(max(2*m.pause, firstPause), longestPause); clock.now().Sub(began) >= wellAfter {
		m.pause = firstPause
	}
	timer, stop := clock.timer(m.pause)
	m.mu.Unlock()
	defer stop()
	select {
	case <-timer:
		return true
	case <-ctx.Done():
		return false
	}
}

// events takes in the messages of a stream until it ends, and gives the id of the last event. The
// stream answers the question of an id; zero is none.
func (m *remote) events(stream io.Reader, about int64) (last string) {
	events := newEventReader(stream, m.engine.options.lineBytes)
	for {
		data, whole, err := events.next()
		switch {
		case err != nil:
			return events.last
		case !whole:
			m.overlong(data, nil)
		default:
			m.heed(data, about)
		}
	}
}

// heed takes in what the server says, one thing at a time.
func (m *remote) heed(text []byte, about int64) {
	m.heeding.Lock()
	defer m.heeding.Unlock()
	m.about = about
	defer func() { m.about = 0 }()
	m.take(text)
}

// noted ends the run where a status says that the session is no more.
func (m *remote) noted(status int) bool {
	if status != http.StatusNotFound || m.session.Load() == nil {
		return false
	}
	m.end(errSession)
	return true
}
