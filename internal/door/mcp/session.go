package mcp

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

// maxWaiting bounds those who wait for a call.
const maxWaiting = 8

// A session is one stream from its first line to its last answer. One line or change after
// the other is dealt with, by whoever holds loop; what lasts goes on without it.
type session struct {
	Options
	budgets

	loop key
	// What legacy clients have agreed on, guarded by loop; the version is empty before that.
	version string
	client  durward.Client
	level   mcpspec.Level // of messages; silent until the client names one

	subscriptions []subscription // guarded by loop
	tools         []byte         // guarded by loop; as they were listed last

	inFlight jsonrpc.InFlight
	entry    sync.Mutex     // held while stop is closed, and while somebody begins to run
	running  sync.WaitGroup // who deals with lines, and what was started by that
	more     chan func()    // to those who have done a call and wait for another
	waiting  chan struct{}  // taken by each of them
	relay    *relay
	alone    atomic.Int64 // the calls of no batch that are not answered yet
	lining   sync.Mutex   // held while a command gets its place and its turn

	pen   key                              // held by who writes
	to    *jsonrpc.Writer                  // used by who holds the pen
	out   chan func(*jsonrpc.Writer) error // to the writer, with the pen
	over  chan struct{}                    // closed when nobody sends any more, or gone is closed
	stop  chan struct{}                    // closed when nothing more is to be taken
	ended chan struct{}                    // closed when the stream has ended

	readErr error // set before ended is closed

	once sync.Once
	gone chan struct{} // closed when nobody reads what is sent
	err  error         // set before gone is closed
}

// A key is held by one goroutine at a time.
type key chan struct{}

func (k key) take() { k <- struct{}{} }
func (k key) give() { <-k }

func newSession(o Options, out io.Writer) *session {
	return &session{
		Options: o, budgets: newBudgets(), level: mcpspec.Silent, tools: listed(o.Surface()),
		more: make(chan func()), waiting: make(chan struct{}, maxWaiting),
		loop: make(key, 1), relay: newRelay(),
		pen: make(key, 1), to: jsonrpc.NewWriter(out), out: make(chan func(*jsonrpc.Writer) error), over: make(chan struct{}),
		stop: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{}),
	}
}

// giveUp has everything dropped that is still to be sent.
func (s *session) giveUp(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.gone)
	})
}

// send sends a message, or drops it if nobody reads.
func (s *session) send(m jsonrpc.Message) {
	s.post(func(w *jsonrpc.Writer) error { return w.Send(m) })
}

// post has the writer write something, after what was posted before.
func (s *session) post(write func(*jsonrpc.Writer) error) {
	if !s.hold() {
		return
	}
	select {
	case s.out <- write:
	case <-s.gone:
		s.pen.give()
	}
}

// hold takes the pen, unless nobody reads any more.
func (s *session) hold() bool {
	select {
	case s.pen <- struct{}{}:
		return true
	case <-s.gone:
		return false
	}
}

// put writes something, and gives the pen back.
func (s *session) put(write func(*jsonrpc.Writer) error) {
	defer s.pen.give()
	if err := write(s.to); err != nil {
		s.giveUp(err)
	}
}

// write writes what is posted, until nothing is any more, and waits for who writes beside.
func (s *session) write() {
	for {
		select {
		case write := <-s.out:
			s.put(write)
		case <-s.over:
			s.pen.take()
			return
		}
	}
}

// notify sends a notification.
func (s *session) notify(method string, params any) {
	text, err := encode(params)
	if err == nil {
		s.send(jsonrpc.Message{Kind: jsonrpc.Notification, Method: method, Params: text})
	}
}
