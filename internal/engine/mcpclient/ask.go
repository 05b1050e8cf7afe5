package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// mostAsks is how many questions to callers one server may have open.
const mostAsks = 16

// offers say of what a server may be offered, by its name in the configuration, the method that
// asks a caller for it and what the capability holds.
var offers = map[string]struct{ method, holds string }{
	"elicitation": {"elicitation/create", `{"form":{}}`},
	"sampling":    {"sampling/createMessage", `{}`},
}

// capabilities adds what the server is offered to what all are.
func capabilities(all map[string]any, offered []string) map[string]any {
	for _, offer := range offered {
		all[offer] = json.RawMessage(offers[offer].holds)
	}
	return all
}

// offered lists what a modern server is offered for one call: of what it may be, that which the
// caller answers whom events are of.
func (s *server) offered(events durward.Events) []string {
	asker, picky := events.(durward.Asker)
	return slices.DeleteFunc(slices.Clone(s.config.Offer), func(offer string) bool {
		return events == nil || picky && !asker.Answers(offers[offer].method)
	})
}

// mayAsk reports whether a method is one that was offered.
func mayAsk(offered []string, method string) bool {
	return slices.ContainsFunc(offered, func(offer string) bool { return offers[offer].method == method })
}

// canAsk reports whether a question can be put to the caller that events are of.
func canAsk(events durward.Events, method string) bool {
	if events == nil {
		return false
	}
	asker, picky := events.(durward.Asker)
	return !picky || asker.CanAsk(method)
}

// putTo asks the caller that events are of. Whatever is wrong comes as an error for the server.
func putTo(ctx context.Context, events durward.Events, method string, params json.RawMessage) (json.RawMessage, *jsonrpc.Error) {
	answer, err := events.Ask(ctx, method, params)
	var said *jsonrpc.Error
	switch {
	case errors.As(err, &said):
		return nil, said
	case err != nil || len(answer) == 0:
		return nil, &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "the caller did not answer"}
	}
	return answer, nil
}

// Asks are the questions to callers that a server has open.
type asks struct {
	mu   sync.Mutex
	open map[string]context.CancelFunc // guarded by mu; by the server's ids
}

// begin makes room for a question, unless there are many or one with its id.
func (a *asks) begin(id string, cancel context.CancelFunc) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[id] != nil || len(a.open) >= mostAsks {
		return false
	}
	if a.open == nil {
		a.open = make(map[string]context.CancelFunc)
	}
	a.open[id] = cancel
	return true
}

func (a *asks) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, id)
}

// cancel gives up a question of which the server does not want the answer any more.
func (a *asks) cancel(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.open[id]; cancel != nil {
		cancel()
	}
}

// forward puts a request of a legacy server to the caller whose call it is about: the only one that is
// under way and has somebody listening.
func (p *run) forward(m jsonrpc.Message) {
	refuse := func(why string) { p.reply(m.Refuse(&jsonrpc.Error{Code: jsonrpc.InternalError, Message: why})) }
	q := p.listener(p.about)
	if q == nil {
		refuse("there is not exactly one call whose caller can be asked")
		return
	}
	ctx, events := q.attend()
	if events == nil {
		refuse("the call is over")
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	id := m.ID.String()
	if why := p.unasked(events, m, cancel); why != "" {
		cancel()
		q.asking.Done()
		refuse(why)
		return
	}
	p.later(func() {
		defer q.asking.Done()
		defer cancel()
		defer p.asks.end(id)
		answer, wrong := putTo(ctx, events, m.Method, m.Params)
		if wrong != nil {
			p.reply(m.Refuse(wrong))
			return
		}
		p.reply(m.Answer(answer))
	})
}

// unasked says why a question is not put; when it is empty there is room for it.
func (p *run) unasked(events durward.Events, m jsonrpc.Message, cancel context.CancelFunc) string {
	switch {
	case !canAsk(events, m.Method):
		return "the caller cannot be asked this"
	case !p.asks.begin(m.ID.String(), cancel):
		return "there are too many questions, or one with this id"
	}
	return ""
}
