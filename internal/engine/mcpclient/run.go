package mcpclient

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
)

// A body is what a run of a server consists of: a process, or connections to a server over HTTP.
type body interface {
	wire
	// pid is that of its process, or zero.
	pid() int
	// report says what its sandbox holds, or is nil.
	report() *durward.Report
	// await comes back when it has ended, or the run is doomed or severed.
	await(r *run)
	// bury ends what is left. What the server said before its end is read first. It tells how
	// the run ended, and whether the server ended by itself and said that all was well.
	bury(r *run) (clean bool, err error)
	// free frees what nobody waits for.
	free() error
	// depart lets it end in order, if it can, and comes back when the run has ended or is to be
	// ended.
	depart(r *run)
}

// A run is one run of a server, from its start until nothing of it is left.
type run struct {
	*server
	*conn
	body body

	greeting greeting
	offer    offer                     // that of the start
	fresh    [len(kinds)]time.Duration // how long a modern server says that its lists are; zero for nothing
	listed   [len(kinds)]time.Time     // when they were last asked for
	untold   [len(kinds)]bool          // which the server did not tell when it was last asked
	stale    atomic.Uint32             // the kinds of which it says that they are others, a bit each
	changed  chan struct{}             // has an element when there are any

	level   atomic.Pointer[string] // that it was told to log at
	asks    asks
	hearing sync.Mutex // held while a modern server is asked to tell of changes
	heard   *question  // guarded by hearing; that was asked last

	// talk ends when nothing is to be asked any more.
	talk  context.Context
	tasks sync.WaitGroup

	sever   sync.Once
	severed chan struct{} // closed when it does not take what it is sent

	doom   sync.Once
	doomed chan struct{} // closed when it is to end at once, once why is set
	why    error

	ended chan struct{} // closed when nothing is left of it
	clean bool          // it ended by itself and said that all was well
	err   error         // how it ended; with clean set before ended is closed
}

// begin starts a run of the server.
func (s *server) begin(ctx context.Context) (*run, error) {
	talk, quiet := context.WithCancel(context.Background())
	r := &run{
		server: s, changed: make(chan struct{}, 1), talk: talk,
		severed: make(chan struct{}), doomed: make(chan struct{}), ended: make(chan struct{}),
	}
	if err := r.embody(ctx); err != nil {
		quiet()
		return nil, err
	}
	r.tasks.Go(func() { r.respond(talk) })
	go func() {
		defer close(r.ended)
		r.body.await(r)
		s.leave(r)
		r.clean, r.err = r.body.bury(r)
		r.finish(disconnected(s.config.Name, r.err))
		if err := r.body.free(); err != nil {
			r.log.Warn("something of an MCP server is left", "error", err)
		}
		quiet() // now that questions have their answers
		r.tasks.Wait()
	}()
	return r, nil
}

// embody starts what the run consists of.
func (r *run) embody(ctx context.Context) (err error) {
	if r.config.Remote != nil {
		r.body, err = r.connect()
		return err
	}
	r.body, err = r.spawn(ctx)
	return err
}

// later does something in the background, of which nothing is left when the process has ended.
// It must end when talk does and no question is open.
func (p *run) later(f func()) {
	p.conn.mu.Lock()
	over := p.over != nil
	if !over {
		p.tasks.Add(1)
	}
	p.conn.mu.Unlock()
	if over {
		f()
		return
	}
	go func() {
		defer p.tasks.Done()
		f()
	}()
}

// end has the process end at once, for a reason.
func (p *run) end(why error) {
	p.doom.Do(func() {
		p.why = why
		close(p.doomed)
	})
}

// breakOff gives up a process that does not take what it is sent any more. If it is about to
// exit it may, so that it is known how.
func (p *run) breakOff() { p.sever.Do(func() { close(p.severed) }) }

// stop ends a run in order. It comes back when nothing is left.
func (p *run) stop() {
	p.body.depart(p)
	p.end(errors.New("it was stopped"))
	<-p.ended
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
