package execserver

import (
	"context"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

// A session is what a client keeps over several connections: its processes, by the names
// it gave them.
type session struct {
	server     *Server
	id         string
	owner      durward.Caller
	clientName string
	grace      time.Duration
	limits     durward.Limits // of each process
	most       int            // processes at once

	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	conn      *conn               // guarded by mu; nil while none is attached
	hears     bool                // guarded by mu; conn has the answer to its initialize
	ended     bool                // guarded by mu
	expiry    *time.Timer         // guarded by mu; runs while no connection is attached
	times     int                 // guarded by mu; how often it was set
	processes map[string]*process // guarded by mu
	alive     int                 // guarded by mu; those that are not closed
	closed    closedList          // guarded by mu; those that can still be read
}

// attach makes c the connection of the session.
func (s *session) attach(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended, s.owner != c.peer.Caller():
		return refusal(protocol.InvalidRequest, "unknown session id %s", s.id)
	case s.conn != nil:
		return refusal(protocol.SessionAttached, "session %s is already attached to another connection", s.id)
	}
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
	s.conn, s.hears = c, false
	return nil
}

// listen has the connection hear what happens from now on.
func (s *session) listen(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hears = s.conn == c
}

// detach lets go of the connection; the session goes on for its grace.
func (s *session) detach() {
	s.mu.Lock()
	s.conn = nil
	wait := s.grace > 0 && !s.ended
	if wait {
		s.times++
		times := s.times
		s.expiry = time.AfterFunc(s.grace, func() { s.expire(times) })
	}
	s.mu.Unlock()
	if !wait {
		s.end(&durward.Error{Reason: durward.CallCancelled, Op: Name, Hint: "keep the connection open"})
	}
}

// expire ends the session, unless a connection was attached since the timer was set.
func (s *session) expire(times int) {
	s.mu.Lock()
	current := s.expiry != nil && s.times == times
	s.ended = s.ended || current // nobody comes back from here on
	s.mu.Unlock()
	if current {
		s.end(&durward.Error{Reason: durward.CallCancelled, Op: Name, Hint: "come back sooner, or raise --session-grace"})
	}
}

// end kills the processes of the session, which is known to nobody any more.
func (s *session) end(why error) {
	s.server.forget(s)
	s.mu.Lock()
	s.ended, s.conn = true, nil
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.closed.clear()
	all := s.processes
	s.processes = make(map[string]*process)
	s.mu.Unlock()
	for _, p := range all {
		p.kill()
	}
	s.cancel(why)
}

// hearer gives the connection that hears what happens, nil where there is none.
func (s *session) hearer() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hears {
		return nil
	}
	return s.conn
}

// notify sends what is not answered to whoever hears it, or to nobody.
func (s *session) notify(messages ...func(text []byte) []byte) {
	if c := s.hearer(); c != nil {
		c.send(messages...)
	}
}

// isIdle reports whether nobody is attached and no process is alive.
func (s *session) isIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn == nil && s.alive == 0
}

// reserve takes a name for a process that is to start.
func (s *session) reserve(p *process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return &durward.Error{Reason: durward.ShuttingDown, Op: Name}
	case s.processes[p.id] != nil:
		return refusal(protocol.InvalidRequest, "process %s already exists", p.id)
	case s.alive >= s.most:
		return refusal(protocol.InvalidRequest, "%d processes are more than the session may have", s.alive+1)
	case !s.server.enter():
		return refusal(protocol.InvalidRequest, "there are as many processes as the server may have")
	}
	s.processes[p.id] = p
	s.alive++
	return nil
}

// release gives up the name of a process that did not start.
func (s *session) release(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLocked()
	if s.processes[p.id] == p {
		delete(s.processes, p.id)
	}
}

// retain keeps a process that is closed for whoever still reads it.
func (s *session) retain(p *process, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLocked()
	if s.ended {
		return
	}
	for _, old := range s.closed.add(p, bytes, time.AfterFunc(retention, func() { s.drop(p) })) {
		delete(s.processes, old.id)
	}
}

// drop forgets a closed process.
func (s *session) drop(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.processes[p.id] == p {
		delete(s.processes, p.id)
	}
	s.closed.remove(p)
}

// leaveLocked counts a process that is not alive any more.
func (s *session) leaveLocked() {
	s.alive--
	s.server.leave()
}

// process gives a process by its name, nil for none.
func (s *session) process(id string) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processes[id]
}

// list gives all processes that are known.
func (s *session) list() []*process {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*process, 0, len(s.processes))
	for _, p := range s.processes {
		all = append(all, p)
	}
	return all
}

// enter counts a process that is to start, unless there are too many.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.processes >= s.Limits.AllProcesses {
		return false
	}
	s.processes++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes--
}
