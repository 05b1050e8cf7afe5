package mcpserve

import (
	"context"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// start carries a request out beside the caller, and hands its answer to answered: the zero message
// where the client has cancelled it. It does nothing, and ok is false, where the id is in use.
func (s *Server) start(q *Request, answered func(jsonrpc.Message)) (cancel context.CancelCauseFunc, ok bool) {
	base, id := context.Background(), q.message.ID
	if q.session != nil {
		base = q.session.alive
	}
	ctx, cancel := context.WithCancelCause(base)
	if q.session != nil && !q.session.inFlight.Add(id, func() { cancel(cancelled()) }) {
		cancel(nil)
		return nil, false
	}
	s.running.Add(1) // whoever calls is counted, too
	go func() {
		defer s.leave()
		defer cancel(nil)
		answer := s.answer(ctx, q)
		if q.session != nil && !q.session.inFlight.Done(id) {
			answer = jsonrpc.Message{}
		}
		answered(answer)
	}()
	return cancel, true
}

func cancelled() error { return &durward.Error{Reason: durward.CallCancelled, Op: "mcp"} }

func idInUse() *jsonrpc.Error { return badRequest("the id is in use") }
