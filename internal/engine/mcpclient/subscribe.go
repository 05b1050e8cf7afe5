package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonrpc"
)

// listening is the request of which the answer is what changes.
const listening = "subscriptions/listen"

// mostSubscriptions bounds the resources of one server that somebody wants to hear of.
const mostSubscriptions = 10_000

// Subscribers of one server are told of resources that change. Legacy servers are asked for each
// resource, modern ones for all of them in one request, which stays open.

// subscribe has a modern server tell of a resource, or not any more.
func (p *run) subscribe(ctx context.Context, method, uri string) (json.RawMessage, error) {
	if !p.greeting.can["resources.subscribe"] {
		return nil, saidError(&jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "the server tells nobody of changes to its resources"})
	}
	if err := p.wants(method, uri); err != nil {
		return nil, err
	}
	if err := p.listen(ctx); err != nil {
		return nil, err
	}
	return json.RawMessage(`{}`), nil
}

// wants keeps in mind what is to be told, also for the processes to come.
func (s *server) wants(method, uri string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case method == hubconfig.Unsubscribe:
		delete(s.subscribed, uri)
	case len(s.subscribed) >= mostSubscriptions && !s.subscribed[uri]:
		return &durward.Error{
			Reason: durward.BadCall, Op: op, Hint: "give up others first", Err: fmt.Errorf("there are %d subscriptions already", mostSubscriptions),
		}
	default:
		s.subscribed[uri] = true
	}
	return nil
}

// toldOf reports whether somebody wants to hear of a resource of this server.
func (s *server) toldOf(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribed[uri]
}

// subscriptions lists the resources that somebody wants to hear of.
func (s *server) subscriptions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.subscribed))
}

// resubscribe asks a new process for what the ones before it were asked.
func (p *run) resubscribe() {
	switch p.greeting.era {
	case modern:
		_ = p.listen(p.talk) // it fails when the process ends
	case legacy:
		for _, uri := range p.subscriptions() {
			if err := p.request(p.talk, hubconfig.Subscribe, map[string]any{"uri": uri}); err != nil {
				p.log.Debug("an MCP server does not tell of a resource any more", "error", err)
			}
		}
	}
}

// listen asks a modern server to tell of changes, in the place of what it was asked before.
func (p *run) listen(ctx context.Context) error {
	p.hearing.Lock()
	defer p.hearing.Unlock()
	wanted := p.wanted()
	if len(wanted) == 0 && p.heard == nil {
		return nil
	}
	params, _ := json.Marshal(map[string]any{"_meta": p.meta(modern, 0, p.config.Offer, p.engine.levelFor(nil)), "notifications": wanted}) // strings are never refused
	q, _ := p.ask(ctx, listening, func(int64) json.RawMessage { return params })
	switch {
	case q != nil:
	case ctx.Err() != nil:
		return durward.Ended(ctx, op)
	default:
		return stopped(p.config.Name, soon)
	}
	if before := p.heard; before != nil {
		p.forget(before.id)
		p.notify(p.talk, "notifications/cancelled", cancelled(before.id))
	}
	p.heard = q
	return nil
}

// wanted says which changes are of use.
func (p *run) wanted() map[string]any {
	wanted := map[string]any{}
	for _, of := range []struct {
		kind          kind
		ability, name string
	}{{tools, "tools.listChanged", "toolsListChanged"}, {resources, "resources.listChanged", "resourcesListChanged"}, {prompts, "prompts.listChanged", "promptsListChanged"}} {
		if p.greeting.can[of.ability] && p.has(of.kind) {
			wanted[of.name] = true
		}
	}
	if list := p.subscriptions(); len(list) > 0 {
		wanted["resourceSubscriptions"] = list
	}
	return wanted
}
