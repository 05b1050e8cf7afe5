package mcpserve

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/durward/durward/internal/jsonrpc"
)

// Asks are the requests that a client was sent and has not answered. The zero value has none.
type asks struct {
	mu      sync.Mutex
	last    int64                               // guarded by mu
	waiting map[jsonrpc.ID]chan jsonrpc.Message // guarded by mu; each has room for one
}

// ask sends a request on a stream and waits for the answer.
func (a *asks) ask(ctx context.Context, out *stream, method string, params json.RawMessage) (json.RawMessage, error) {
	id, answer := a.begin()
	defer a.forget(id)
	out.put(jsonrpc.Message{Kind: jsonrpc.Request, ID: id, Method: method, Params: params}, mustArrive)
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		out.put(jsonrpc.Message{
			Kind: jsonrpc.Notification, Method: "notifications/cancelled", Params: json.RawMessage(`{"requestId":` + id.String() + `}`),
		}, mayBeLost)
		return nil, ctx.Err()
	}
}

func (a *asks) begin() (jsonrpc.ID, chan jsonrpc.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[jsonrpc.ID]chan jsonrpc.Message{}
	}
	a.last++
	id, answer := jsonrpc.IntID(a.last), make(chan jsonrpc.Message, 1)
	a.waiting[id] = answer
	return id, answer
}

func (a *asks) forget(id jsonrpc.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// settle hands an answer to who waits for it, the first one only.
func (a *asks) settle(m jsonrpc.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if answer := a.waiting[m.ID]; answer != nil {
		delete(a.waiting, m.ID)
		answer <- m
	}
}
