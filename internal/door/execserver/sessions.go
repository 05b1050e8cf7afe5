package execserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

// newSession makes a session that no connection is attached to. Only its owner may be.
func (s *Server) newSession(p protocol.InitializeParams, owner durward.Caller) (*session, error) {
	session := &session{
		server: s, id: newID(), owner: owner, clientName: p.ClientName, processes: make(map[string]*process),
		closed: closedList{all: &s.retained}, grace: s.graceOf(p), limits: limitsOf(p.Durward), most: s.Limits.Processes,
	}
	if asked := processesOf(p.Durward); asked > 0 {
		session.most = min(session.most, asked)
	}
	session.ctx, session.cancel = context.WithCancelCause(context.Background())
	s.makeRoom()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, &durward.Error{Reason: durward.ShuttingDown, Op: Name}
	case len(s.sessions) >= s.Limits.Sessions:
		return nil, &durward.Error{
			Reason: durward.QueueFull, Op: Name, Retry: true, Hint: "end other sessions first",
			Err: fmt.Errorf("%d sessions are more than there may be", s.Limits.Sessions+1),
		}
	}
	s.sessions[session.id] = session
	return session, nil
}

// makeRoom ends a session that nobody would miss much, where there are as many as there may be.
func (s *Server) makeRoom() {
	s.mu.Lock()
	var all []*session
	if len(s.sessions) >= s.Limits.Sessions {
		all = slices.Collect(maps.Values(s.sessions))
	}
	s.mu.Unlock()
	if i := slices.IndexFunc(all, (*session).isIdle); i >= 0 {
		all[i].end(&durward.Error{Reason: durward.QueueFull, Op: Name})
	}
}

// graceOf says how long a session outlives its connection.
func (s *Server) graceOf(p protocol.InitializeParams) time.Duration {
	switch {
	case s.Grace >= 0:
		return s.Grace
	case p.ResumeSessionID.Sent:
		return usualGrace
	}
	return 0
}

// limitsOf is what a session asks less of for each of its processes.
func limitsOf(extras *protocol.InitializeExtras) durward.Limits {
	if extras == nil || extras.Limits == nil {
		return durward.Limits{}
	}
	l := extras.Limits
	return durward.Limits{
		Wall: milliseconds(l.WallMs), CPU: milliseconds(l.CPUMs), Memory: atMost(l.MemoryBytes), Pids: atMost(l.Pids),
	}
}

func processesOf(extras *protocol.InitializeExtras) int {
	if extras == nil || extras.Limits == nil {
		return 0
	}
	return int(min(atMost(extras.Limits.Processes), 1<<30))
}

// find gives the session that a client wants to resume.
func (s *Server) find(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session, ok := s.sessions[id]; ok {
		return session, nil
	}
	return nil, refusal(protocol.InvalidRequest, "unknown session id %s", id)
}

// forget takes a session out of the list. It reports whether it was there.
func (s *Server) forget(session *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, was := s.sessions[session.id]
	delete(s.sessions, session.id)
	return was
}

// newID makes a random UUID (RFC 9562, version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// milliseconds gives a duration, at most what one can hold; nil is zero, which asks for
// nothing.
func milliseconds(n *uint64) time.Duration {
	return time.Duration(min(atMost(n), int64(1<<63-1)/int64(time.Millisecond))) * time.Millisecond
}

func atMost(n *uint64) int64 {
	if n == nil {
		return 0
	}
	return int64(min(*n, 1<<63-1))
}
