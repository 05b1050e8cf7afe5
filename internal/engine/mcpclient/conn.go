package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strconv"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

const (
	// messageDepth is how deep one may be nested: what reads it behind us often goes no deeper.
	messageDepth = 1000
	// mostAnswers is how many answers may wait for a server that does not read them.
	mostAnswers = 64
	// shownBytes is how much of a line that means nothing is logged.
	shownBytes = 200
)

// A reply is what a server answered, or why it does not.
type reply struct {
	result json.RawMessage
	err    error // a *jsonrpc.Error where the server said so
}

// A question is a request that a server has been sent.
type question struct {
	id     int64
	reply  chan reply      // takes one
	stands bool            // it is open for as long as the run, as a rule, and nobody waits for it
	lists  bool            // its answer is a list, whose items are judged one by one
	caller *durward.Caller // whose call it is; nil for what we ask ourselves

	// ctx ends when nobody waits for the answer any more; nil where there are no events.
	ctx  context.Context
	over context.CancelFunc

	asking sync.WaitGroup // questions to the caller; begun under mu

	mu     sync.Mutex
	events durward.Events // guarded by mu; nil when nobody listens
}

// progress tells of what the server said that it has done.
func (q *question) progress(done, total float64, message string, raw json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	reader, takesRaw := q.events.(durward.ProgressReader)
	switch {
	case takesRaw:
		reader.RawProgress(raw)
	case q.events != nil:
		q.events.Progress(done, total, message)
	}
}

// attend begins a question to the caller, which ends with asking.Done and at the end of the
// context. Without events nobody can be asked, and nothing has begun.
func (q *question) attend() (context.Context, durward.Events) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.events != nil {
		q.asking.Add(1)
	}
	return q.ctx, q.events
}

// listens reports whether somebody hears of what happens.
func (q *question) listens() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.events != nil
}

// hush has nothing be told any more, and nobody be asked, once it returns.
func (q *question) hush() {
	q.mu.Lock()
	q.events = nil
	q.mu.Unlock()
	if q.over != nil {
		q.over()
		q.asking.Wait()
	}
}

// A wire brings messages to a server. What the server says comes to [conn.take].
type wire interface {
	// send gives it a message. When ctx ends before anything of that is on its way nothing will
	// be, and sent is false.
	send(ctx context.Context, m jsonrpc.Message) (sent bool, err error)
	// agree is told once how the server is to be spoken to.
	agree(g greeting)
	// mind makes sure that what the server says is taken in.
	mind()
	// hearOut is mind for who waits for one reply. It may come back before the reply is there or
	// ctx ends, and otherwise does then.
	hearOut(ctx context.Context, q *question)
}

// A conn is a conversation with one run of a server.
type conn struct {
	wire
	of *server
	// notified takes the server's notifications, and forwards the requests that it was offered.
	notified, forwards func(m jsonrpc.Message)

	answers chan jsonrpc.Message // to the server's requests

	// about is the id of the question in whose answer the server says what is being taken in; zero
	// where it says everything in one place. It belongs to whoever calls take.
	about int64

	mu    sync.Mutex
	asked map[int64]*question // guarded by mu
	waits int                 // guarded by mu; how many of those somebody waits for
	heard int                 // guarded by mu; how many had an answer
	late  lateCalls           // guarded by mu
	over  error               // guarded by mu; why nothing can be asked any more
}

func newConn(w wire, r *run) *conn {
	return &conn{
		wire: w, of: r.server, notified: r.hear, forwards: r.forward,
		answers: make(chan jsonrpc.Message, mostAnswers), asked: make(map[int64]*question),
	}
}

// ask sends a request; params may depend on its id. An error without a question means that the
// server has nothing of it. With a question, which then always gets a reply, ctx has ended
// while the request was written.
func (c *conn) ask(ctx context.Context, method string, params func(id int64) json.RawMessage) (*question, error) {
	q, err := c.pose(ctx, method, params, nil, nil)
	if q != nil {
		c.mind()
	}
	return q, err
}

// pose is ask for who calls hearOut next, and for the calls of others.
func (c *conn) pose(ctx context.Context, method string, params func(id int64) json.RawMessage, caller *durward.Caller, events durward.Events) (*question, error) {
	q := &question{id: c.of.ids.Add(1), reply: make(chan reply, 1), stands: method == listening, lists: isList(method), caller: caller, events: events}
	if events != nil {
		q.ctx, q.over = context.WithCancel(ctx)
	}
	if err := c.expect(q); err != nil {
		q.hush()
		return nil, err
	}
	m := jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(q.id), Method: method, Params: params(q.id)}
	sent, err := c.send(ctx, m)
	if !sent {
		q.hush()
		c.forget(q.id)
		return nil, err
	}
	return q, nil // what breaks later the end of the conversation tells
}

func line(m jsonrpc.Message) []byte {
	return append(m.Append(make([]byte, 0, len(m.Params)+len(m.Result)+128)), '\n')
}

func (c *conn) expect(q *question) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return c.over
	}
	c.asked[q.id] = q
	if !q.stands {
		c.waits++
	}
	return nil
}

// forget gives the question of an id, whose answer then means nothing any more; nil where there
// is none.
func (c *conn) forget(id int64) *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drop(id)
}

// drop needs mu.
func (c *conn) drop(id int64) *question {
	q := c.asked[id]
	delete(c.asked, id)
	if q != nil && !q.stands {
		c.waits--
	}
	return q
}

// waiting tells for how many questions somebody waits, and how many had an answer so far.
func (c *conn) waiting() (now, heard int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waits, c.heard
}

func (c *conn) find(id int64) *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[id]
}

// only gives the one question that waits for its answer, nil where there are others.
func (c *conn) only() *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) == 1 {
		for _, q := range c.asked {
			return q
		}
	}
	return nil
}

// finish answers all questions, and those to come.
func (c *conn) finish(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	c.over = why
	for _, q := range c.asked {
		q.reply <- reply{err: why}
	}
	c.asked, c.waits = nil, 0
}

// isOver reports whether nothing can be asked any more.
func (c *conn) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over != nil
}

// notify sends a notification.
func (c *conn) notify(ctx context.Context, method string, params json.RawMessage) {
	_, _ = c.send(ctx, jsonrpc.Message{Kind: jsonrpc.Notification, Method: method, Params: params})
}

// take reads one line. Whatever is wrong with it, the next one may be better.
func (c *conn) take(text []byte) {
	if jsonrpc.IsBatch(text) {
		text = jsonx.WholeCharacters(text)
		list, bad := jsonrpc.Batch(text) // servers of 2025-03-26 may answer so
		if bad != nil {
			c.skip("a line that is no message", text)
		}
		for _, one := range list {
			c.takeOne(one)
		}
		return
	}
	c.takeOne(text)
}

func (c *conn) takeOne(text []byte) {
	// A value takes a byte at least: the size bounds how many there are.
	m, bad := jsonrpc.ParseWithin(text, jsonx.Limits{Bytes: int64(len(text)), Depth: messageDepth, Values: len(text)})
	switch {
	case bad != nil && bad.Code == jsonrpc.ParseError:
		if whole := jsonx.WholeCharacters(text); !bytes.Equal(whole, text) {
			c.takeOne(whole)
			return
		}
		c.garbled(text)
	case bad != nil && m.Kind == jsonrpc.Response:
		c.settle(m.ID, reply{err: malformed(bad.Message)}, text)
	case bad != nil:
		c.skip("a line that is no message", text)
	case m.Kind == jsonrpc.Response && m.Error != nil:
		c.settle(m.ID, reply{err: m.Error}, text)
	case m.Kind == jsonrpc.Response:
		c.settle(m.ID, reply{result: m.Result}, text)
	case m.Kind == jsonrpc.Request:
		c.answer(m)
	default:
		c.notified(m)
	}
}

// settle hands a reply to who waits for it. An id that nobody waits for, or waits for no more,
// means nothing.
func (c *conn) settle(id jsonrpc.ID, r reply, text []byte) {
	q := c.heardOf(numberOf(id))
	if q == nil {
		c.skip("an answer that nobody waits for", text)
		return
	}
	q.reply <- r
}

// heardOf is forget for what has its answer.
func (c *conn) heardOf(id int64) *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.drop(id)
	if q == nil {
		c.late.answered(id)
	} else {
		c.heard++
	}
	return q
}

// numberOf reads an id as one of ours; zero is none.
func numberOf(id jsonrpc.ID) int64 {
	n, _ := strconv.ParseInt(id.String(), 10, 64)
	return n
}

// garbled is for what is not strict JSON, or nested too deeply. Where it is the answer to something,
// who asked hears that at once.
func (c *conn) garbled(text []byte) {
	if id, ok := laxID(text); ok {
		c.settle(jsonrpc.IntID(id), c.deepList(id, text), text)
		return
	}
	c.skip("a line that is no message", text)
}

// laxID reads the id of an answer that is lax JSON, too deep to be read at all, or none: some programs
// write NaN.
func laxID(text []byte) (int64, bool) {
	var m struct {
		ID     *int64          `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	if json.Unmarshal(text, &m) == nil {
		if m.ID == nil || m.Method != nil {
			return 0, false
		}
		return *m.ID, true
	}
	if !bytes.Contains(text, []byte(`"result"`)) && !bytes.Contains(text, []byte(`"error"`)) {
		return 0, false
	}
	return idAtEnd(text, text)
}

// deepList takes a list all the same in which something is nested too deeply: that alone is left out.
func (c *conn) deepList(id int64, text []byte) reply {
	if q := c.find(id); q != nil && q.lists {
		m, bad := jsonrpc.ParseWithin(text, jsonx.Limits{Bytes: int64(len(text)), Depth: math.MaxInt, Values: len(text)})
		if bad == nil && m.Kind == jsonrpc.Response && m.Error == nil {
			return reply{result: m.Result}
		}
	}
	return reply{err: malformed("it is not strict JSON, or nested too deeply")}
}

// overlong is for a line that was passed over. Its ends may tell what it would have answered;
// else it belongs to what is asked, if that is one thing only.
func (c *conn) overlong(head, tail []byte) {
	q := (*question)(nil)
	if id, ok := idAtEnd(head, tail); ok {
		q = c.find(id)
	} else {
		q = c.only()
	}
	if q == nil {
		c.of.log.Debug("an MCP server printed a line that is too long")
		return
	}
	c.settle(jsonrpc.IntID(q.id), reply{err: tooLarge(int64(c.of.engine.options.lineBytes))}, nil)
}

func (c *conn) skip(what string, text []byte) {
	if c.of.log.Enabled(context.Background(), slog.LevelDebug) {
		c.of.log.Debug("an MCP server printed "+what, "bytes", len(text), "begin", c.of.beginOf(text))
	}
}

// answer answers a request of the server. One that asks without reading the answers gets no more
// than what it has room for.
func (c *conn) answer(m jsonrpc.Message) {
	switch {
	case m.Method == "ping":
		c.reply(m.Answer(json.RawMessage(`{}`)))
	case m.Method == rootsList && c.of.rooted():
		c.reply(m.Answer(c.of.engine.roots()))
	case mayAsk(c.of.config.Offer, m.Method):
		c.forwards(m)
	default:
		c.reply(m.Refuse(&jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "this client has no such method"}))
	}
}

const rootsList = "roots/list"

func (c *conn) reply(answer jsonrpc.Message) {
	select {
	case c.answers <- answer:
	default:
		c.of.log.Debug("an MCP server does not read what it is answered")
	}
}

// respond sends the answers until ctx ends.
func (c *conn) respond(ctx context.Context) {
	for {
		select {
		case m := <-c.answers:
			_, _ = c.send(ctx, m)
		case <-ctx.Done():
			return
		}
	}
}
