package execclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/durward/durward/execserver/protocol"
)

const (
	// maxIncoming is the largest message that is read. Files are read in blocks, and the
	// output that is kept of a process fits.
	maxIncoming = 64 << 20
	// writeTimeout is how long a server may take to take one message.
	writeTimeout = 30 * time.Second
)

var (
	errUnsent = errors.New("execclient: the connection was lost before the call was sent")
	errFault  = errors.New("execclient: the server does not keep to the protocol")
)

// A link is one connection. It ends by itself at the first failure, and then has ended
// closed; whoever started it waits for its goroutines with wait.
type link struct {
	ws      *websocket.Conn
	deliver func(method string, params json.RawMessage) error // called in order, by one goroutine

	out     chan []byte
	ended   chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	calls map[int64]chan<- answer // guarded by mu
	last  int64                   // guarded by mu; newest id
	err   error                   // guarded by mu; why it ended
}

type answer struct {
	result json.RawMessage
	err    error
}

// newLink starts to read and to write. It ends when ctx does.
func newLink(ctx context.Context, ws *websocket.Conn, keepAlive time.Duration, deliver func(string, json.RawMessage) error) *link {
	ctx, cancel := context.WithCancel(ctx)
	l := &link{
		ws: ws, deliver: deliver, cancel: cancel,
		out: make(chan []byte), ended: make(chan struct{}), calls: make(map[int64]chan<- answer),
	}
	ws.SetReadLimit(maxIncoming)
	l.running.Go(func() { l.end(l.read(ctx)) })
	l.running.Go(func() { l.end(l.write(ctx)) })
	l.running.Go(func() { l.end(l.keepAlive(ctx, keepAlive)) })
	return l
}

// end gives the connection up; the first reason counts.
func (l *link) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = why
	close(l.ended)
	l.cancel()
}

// wait waits until nothing of the link is left, and tells why it ended.
func (l *link) wait() error {
	<-l.ended
	l.running.Wait()
	l.ws.CloseNow() //nolint:errcheck // it is of no use any more
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *link) read(ctx context.Context) error {
	for {
		_, text, err := l.ws.Read(ctx)
		if err != nil {
			return err
		}
		if err := l.take(text); err != nil {
			return err
		}
	}
}

func (l *link) write(ctx context.Context) error {
	for {
		select {
		case text := <-l.out:
			if err := l.writeOne(ctx, text); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *link) writeOne(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return l.ws.Write(ctx, websocket.MessageText, text)
}

// keepAlive finds out that the other side is gone when nothing else does.
func (l *link) keepAlive(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := l.ping(ctx, every); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *link) ping(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return l.ws.Ping(ctx)
}

// A message is what a server sends: an answer if it has an id, else a notification.
type message struct {
	ID     *int64          `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *protocol.Error `json:"error"`
}

func (l *link) take(text []byte) error {
	m, err := protocol.Decode[message](text)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errFault, err)
	case m.ID == nil && m.Method != nil:
		return l.deliver(*m.Method, m.Params)
	case m.ID == nil || m.Method != nil:
		return fmt.Errorf("%w: neither an answer nor a notification", errFault)
	}
	l.answer(m)
	return nil
}

// answer gives an answer to the call that waits for it. Nobody may: callers go away.
func (l *link) answer(m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting, ok := l.calls[*m.ID]
	if !ok {
		return
	}
	delete(l.calls, *m.ID)
	a := answer{result: m.Result}
	if e := m.Error; e != nil {
		a.err = &Error{Code: e.Code, Message: e.Message, Data: e.Data}
	}
	waiting <- a // has room for it
}

// call sends a request and waits for the answer. It fails with errUnsent when nothing
// was sent, and with ErrInterrupted when no answer will come.
func (l *link) call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	id, answered := l.expect()
	defer l.forget(id)
	if err := l.send(ctx, request(id, method, params)); err != nil {
		return nil, err
	}
	select {
	case a := <-answered:
		return a.result, a.named(method)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.ended:
	}
	select {
	case a := <-answered:
		return a.result, a.named(method)
	default:
		return nil, l.unanswered()
	}
}

// unanswered says why a call of a connection that ended has no answer. One that was too
// large may have been to this call, which would get it again.
func (l *link) unanswered() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.err, websocket.ErrMessageTooBig) {
		return ErrAnswerTooLarge
	}
	return ErrInterrupted
}

// named puts the method into a refusal.
func (a answer) named(method string) error {
	var refused *Error
	if errors.As(a.err, &refused) {
		refused.Method = method
	}
	return a.err
}

func (l *link) expect() (id int64, answered <-chan answer) {
	ch := make(chan answer, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.calls[l.last] = ch
	return l.last, ch
}

func (l *link) forget(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, id)
}

// send hands a message over to be written.
func (l *link) send(ctx context.Context, text []byte) error {
	if len(text) >= protocol.MaxMessage {
		return ErrTooLarge
	}
	select {
	case l.out <- text:
		return nil
	case <-l.ended:
		return errUnsent
	case <-ctx.Done():
		return ctx.Err()
	}
}

func request(id int64, method string, params json.RawMessage) []byte {
	text := make([]byte, 0, len(params)+64)
	text = append(strconv.AppendInt(append(text, `{"id":`...), id, 10), ',')
	return appendCall(text, method, params)
}

func notification(method string, params json.RawMessage) []byte {
	return appendCall([]byte{'{'}, method, params)
}

// appendCall appends a method, which is plain text, and its params.
func appendCall(text []byte, method string, params json.RawMessage) []byte {
	text = append(append(append(text, `"method":"`...), method...), `","params":`...)
	return append(append(text, params...), '}')
}

// isOver reports whether the link has ended.
func (l *link) isOver() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}
