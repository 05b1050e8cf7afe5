package mcpserve

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

const (
	// maxLine bounds a message on a byte stream.
	maxLine = 16 << 20
	// maxBehind is how much a client may not have read for more to be taken from it.
	maxBehind = 16 << 20
	// maxOpen bounds the requests of one client that are not answered yet.
	maxOpen = 256
	// farewell is how long requests get to be answered, and answers to be read, at the end.
	farewell = 5 * time.Second
	// parting is how long those that did not have then to say so.
	parting = time.Second
)

// A talk is one byte stream.
type talk struct {
	*session
	server *Server
	slots  chan struct{}
	// winding is set once no more is taken.
	winding atomic.Bool
	open    map[jsonrpc.ID]*listener // the reader's own
}

// ServeStream answers what comes in, a message a line, until there is no more, ctx ends or nobody
// reads the answers. Requests that run then have 5 seconds to end by themselves. A read that goes on
// when ctx ends is left behind. The error is that of the streams.
func (s *Server) ServeStream(ctx context.Context, caller durward.Caller, in io.Reader, out io.Writer) error {
	if !s.enter() {
		return errors.New("mcpserve: the server is closed")
	}
	defer s.leave()
	t := &talk{session: newSession("", caller), server: s, slots: make(chan struct{}, maxOpen), open: map[jsonrpc.ID]*listener{}}
	s.sessions.add(t.session)
	defer s.endSession(t.session)
	written := make(chan error, 1)
	go func() { written <- t.write(out) }()
	read := make(chan error, 1)
	go func() { read <- t.read(in) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
	case <-s.done:
	case err = <-written:
		return err
	}
	t.wind(written)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// wind waits for answers that are under way, within bounds: what has none by then is ended, and
// answered that it was.
func (t *talk) wind(written <-chan error) {
	t.winding.Store(true)
	timer, quit := time.NewTimer(farewell), false
	defer timer.Stop()
	for open := maxOpen; open > 0; {
		select {
		case t.slots <- struct{}{}:
			open--
		case <-timer.C:
			if quit {
				t.end()
				return
			}
			quit = true
			t.quit(&durward.Error{Reason: durward.ShuttingDown, Op: "mcp"})
			timer.Reset(parting)
		case <-written:
			return
		}
	}
	t.general.finish(jsonrpc.Message{})
	select {
	case <-written:
	case <-timer.C:
	}
}

// write writes what is to be sent, until nothing is any more.
func (t *talk) write(out io.Writer) error {
	var text []byte
	for reader := t.general.attach(0); ; {
		select {
		case <-t.general.more:
		case <-t.alive.Done():
			return nil
		}
		b := t.general.take(reader)
		for _, e := range b.events {
			text = append(append(text, e.text...), '\n')
		}
		if len(text) > 0 { // to write nothing fails, too, once the client's end of a socket is closed
			if _, err := out.Write(text); err != nil {
				return err
			}
		}
		text = text[:0]
		if b.ended {
			return nil
		}
	}
}

// read takes lines until there are no more.
func (t *talk) read(in io.Reader) error {
	defer t.closeListeners()
	lines := jsonrpc.NewReader(in, maxLine)
	for {
		line, err := lines.ReadLine()
		if err == jsonrpc.ErrTooLong {
			t.send(jsonrpc.Message{}.Refuse(jsonrpc.ErrTooLong))
			continue
		}
		if err != nil {
			return err
		}
		if version, _ := t.agreed(); version == mcpspec.Batches && jsonrpc.IsBatch(line) {
			t.batch(line)
		} else {
			t.take(line)
		}
		t.general.room(t.alive.Done(), maxBehind)
	}
}

func (t *talk) send(m jsonrpc.Message) { t.general.put(m, mustArrive) }

// take takes one message in.
func (t *talk) take(line []byte) {
	m, bad := parse(line)
	switch {
	case m.Kind == jsonrpc.Response || m.Kind == jsonrpc.Notification:
		t.hear(m)
		t.unlisten(m)
		return
	case bad != nil:
		t.send(m.Refuse(bad))
		return
	}
	meta, bad := mcpspec.MetaOf(jsonx.Member(m.Params, "_meta"))
	if bad == nil && (meta.Modern || m.Method == "server/discover" || m.Method == "subscriptions/listen") {
		meta.Modern = true
		bad = meta.Complete()
	}
	version, _ := t.agreed()
	switch {
	case bad != nil:
		t.send(m.Refuse(bad))
	case meta.Modern && m.Method == "subscriptions/listen":
		t.listen(m, meta)
	case !meta.Modern && m.Method == "initialize" && version == "":
		t.initialize(m)
	case !meta.Modern && version == "" && m.Method != "ping":
		t.send(m.Refuse(badRequest("initialize comes first, or the _meta of " + mcpspec.Modern)))
	default:
		t.start(m, meta)
	}
}

// request makes a request of either era.
func (t *talk) request(m jsonrpc.Message, meta mcpspec.Meta) *Request {
	q := t.server.requestIn(t.session, m, meta, t.general)
	q.Surface = "stdio"
	if meta.Modern {
		q.Modern, q.Version, q.Client = true, meta.Version, meta.Client
	}
	return q
}

// start has a request carried out, once there is a slot for it.
func (t *talk) start(m jsonrpc.Message, meta mcpspec.Meta) {
	if !t.enter(1) {
		t.send(m.Refuse(t.full()))
		return
	}
	_, ok := t.server.start(t.request(m, meta), func(answer jsonrpc.Message) {
		if answer.Kind != 0 {
			t.send(answer)
		}
		t.leave(1)
	})
	if !ok {
		t.leave(1)
		t.send(m.Refuse(idInUse()))
	}
}

func (t *talk) initialize(m jsonrpc.Message) {
	h, bad := helloOf(m.Params)
	if bad != nil {
		t.send(m.Refuse(bad))
		return
	}
	t.begin(h)
	t.send(m.Answer(t.server.welcome(h.version)))
}

// batch takes the messages of an array in. Their answers are one array.
func (t *talk) batch(line []byte) {
	list, bad := batchOf(line)
	if bad != nil {
		t.send(jsonrpc.Message{}.Refuse(bad))
		return
	}
	if !t.enter(len(list)) {
		t.send(jsonrpc.Message{}.Refuse(t.full()))
		return
	}
	requests := t.server.startBatch(list, "stdio", t.session, t.general, func(answers []jsonrpc.Message) {
		if len(answers) > 0 {
			t.general.putText(textOf(answers), mustArrive)
		}
		t.leave(len(list))
	})
	if requests == 0 {
		t.leave(len(list))
	}
}

// enter takes slots for so many requests, or none.
func (t *talk) enter(n int) bool {
	for taken := range n {
		select {
		case t.slots <- struct{}{}:
		default:
			t.leave(taken)
			return false
		}
	}
	return true
}

func (t *talk) leave(n int) {
	for range n {
		<-t.slots
	}
}

// full says why there is no slot.
func (t *talk) full() *jsonrpc.Error {
	if t.winding.Load() {
		return closing()
	}
	return tooManyOpen()
}

func tooManyOpen() *jsonrpc.Error {
	return &jsonrpc.Error{Code: codeClosing, Message: "too many requests are open: wait for answers"}
}

// listen opens a subscription.
func (t *talk) listen(m jsonrpc.Message, meta mcpspec.Meta) {
	if !t.inFlight.Add(m.ID, func() {}) {
		t.send(m.Refuse(idInUse()))
		return
	}
	q := t.request(m, meta)
	l, bad := t.server.listen(q)
	if bad != nil {
		t.inFlight.Done(m.ID)
		t.send(m.Refuse(bad))
		return
	}
	t.open[m.ID] = l
	if len(l.uris) == 0 {
		t.server.confirm(q, l)
		return
	}
	t.server.running.Add(1) // the stream itself is counted, too
	go func() {
		defer t.server.leave()
		t.server.confirm(q, l)
	}()
}

// unlisten ends the subscription that a notification cancels.
func (t *talk) unlisten(m jsonrpc.Message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	var id jsonrpc.ID
	if id.UnmarshalJSON(jsonx.Member(m.Params, "requestId")) != nil || t.open[id] == nil {
		return
	}
	t.server.listeners.remove(t.open[id])
	t.inFlight.Done(id)
	delete(t.open, id)
}

// closeListeners answers all subscriptions: they are over.
func (t *talk) closeListeners() {
	for id, l := range t.open {
		t.server.listeners.remove(l)
		t.inFlight.Done(id)
		t.send(l.over())
	}
}
