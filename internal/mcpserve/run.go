package mcpserve

import (
	"context"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// start carries a request out beside the caller, and hands its answer to answered, as carryOut
// gives it. It does nothing, and ok is false, where the id is in use.
func (s *Server) start(q *Request, answered func(jsonrpc.Message)) (cancel context.CancelCauseFunc, ok bool) {
	ctx, cancel, ok := q.begin()
	if !ok {
		return nil, false
	}
	s.running.Add(1) // whoever calls is counted, too
	go func() {
		defer s.leave()
		defer cancel(nil)
		answered(s.carryOut(ctx, q))
	}()
	return cancel, true
}

// begin gives the context of a request, unless its id is in use.
func (q *Request) begin() (ctx context.Context, cancel context.CancelCauseFunc, ok bool) {
	base := context.Background()
	if q.session != nil {
		base = q.session.work
	}
	ctx, cancel = context.WithCancelCause(base)
	if q.session != nil && !q.session.inFlight.Add(q.message.ID, func() { cancel(cancelled()) }) {
		cancel(nil)
		return nil, nil, false
	}
	return ctx, cancel, true
}

// carryOut carries a request out that was begun, and gives its answer: the zero message where the
// client has cancelled it.
func (s *Server) carryOut(ctx context.Context, q *Request) jsonrpc.Message {
	answer := s.answer(ctx, q)
	if q.session != nil && !q.session.inFlight.Done(q.message.ID) {
		return jsonrpc.Message{}
	}
	return answer
}

func cancelled() error { return &durward.Error{Reason: durward.CallCancelled, Op: "mcp"} }

func idInUse() *jsonrpc.Error { return badRequest("the id is in use") }
