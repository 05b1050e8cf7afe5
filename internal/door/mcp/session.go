package mcp

import (
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// maxWaiting bounds those who wait for a call.
const maxWaiting = 8

// A session is one stream from its first line to its last answer. What is not said to be
// for others is the loop's own.
type session struct {
	Options
	budgets // for all

	// What legacy clients have agreed on; the version is empty before that.
	version string
	client  durward.Client
	level   level // of messages; silent until the client names one

	subscriptions []subscription
	tools         []byte // as they were listed last

	inFlight jsonrpc.InFlight // for all
	running  sync.WaitGroup   // for all; the loop and what it started
	more     chan func()      // to those who have done a call and wait for another
	waiting  chan struct{}    // for all; taken by each of them

	out   chan func(*jsonrpc.Writer) error // for all
	over  chan struct{}                    // closed when nobody sends any more, or gone is closed
	stop  chan struct{}                    // closed when nothing more is to be taken
	ended chan struct{}                    // closed when the loop is over

	readErr error // set before ended is closed

	once sync.Once
	gone chan struct{} // closed when nobody reads what is sent
	err  error         // set before gone is closed
}

func newSession(o Options) *session {
	return &session{
		Options: o, budgets: newBudgets(), level: silent, tools: listed(o.Surface()),
		more: make(chan func()), waiting: make(chan struct{}, maxWaiting),
		out: make(chan func(*jsonrpc.Writer) error), over: make(chan struct{}),
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

func (s *session) post(write func(*jsonrpc.Writer) error) {
	select {
	case s.out <- write:
	case <-s.gone:
	}
}

// write writes what is sent, until nothing is any more.
func (s *session) write(w *jsonrpc.Writer) {
	for {
		select {
		case write := <-s.out:
			if err := write(w); err != nil {
				s.giveUp(err)
			}
		case <-s.over:
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
